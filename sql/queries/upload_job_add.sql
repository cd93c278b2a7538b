-- One job an upload: analyse the session part in it.
INSERT INTO job (kind, shard, ref, app_id, day)
SELECT 'part', n.shard, n.ref, n.app_id, date '2000-01-01' + n.day
FROM unnest($1::integer[], $2::uuid[], $3::integer[], $4::integer[])
     AS n (shard, ref, app_id, day)
ON CONFLICT DO NOTHING
