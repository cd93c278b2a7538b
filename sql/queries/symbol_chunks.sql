-- The next bytes of an upload, from offset $4 on, at most $5 rows.
SELECT at, crc32c, bytes
FROM upload_chunk
WHERE day = DATE '2000-01-01' + $3::integer AND shard = $1::integer AND upload_id = $2::uuid
  AND at >= $4::bigint
ORDER BY at
LIMIT $5::bigint
