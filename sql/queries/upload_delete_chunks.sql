DELETE FROM upload_chunk
WHERE shard = $1::integer
  AND upload_id = $2::uuid
  AND day = $3::text::date
