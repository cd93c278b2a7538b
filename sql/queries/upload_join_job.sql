INSERT INTO job (kind, shard, ref, app_id, day)
SELECT CASE kind WHEN 'session' THEN 'part' ELSE kind END, shard, upload_id, app_id, day
FROM upload
WHERE shard = $1::integer
  AND upload_id = $2::uuid
ON CONFLICT DO NOTHING
