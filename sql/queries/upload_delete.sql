UPDATE upload
SET state = 'deleted', at = 0, length = NULL, completed_at = NULL
WHERE shard = $1::integer
  AND upload_id = $2::uuid
