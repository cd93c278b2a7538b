SELECT state, concat, day::text AS day
FROM upload
WHERE shard = $1::integer
  AND upload_id = $2::uuid
FOR UPDATE
