-- Look-up tables of an earlier layout ($1: of images today, $2: of mappings) are made again, from
-- uploads whose bytes are still kept ($3 days).
INSERT INTO job (kind, shard, ref, app_id, day)
SELECT DISTINCT u.kind, u.shard, u.upload_id, u.app_id, u.day
FROM symcache s
JOIN upload u ON u.shard = s.app_id * 64 + (get_byte(uuid_send(s.upload_id), 15) & 63)
             AND u.upload_id = s.upload_id
WHERE s.version < CASE s.kind WHEN 'native' THEN $1::integer ELSE $2::integer END
  AND u.state = 'complete'
  AND u.day >= (now() AT TIME ZONE 'UTC')::date - $3::integer
ON CONFLICT DO NOTHING
