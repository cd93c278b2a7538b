INSERT INTO job (kind, shard, ref, app_id, day)
SELECT 'part', shard, upload_id, app_id, day
FROM upload
WHERE shard = $1::integer
  AND upload_id = $2::uuid
  AND kind = 'session'
ON CONFLICT DO NOTHING
