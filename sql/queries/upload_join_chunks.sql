-- The bytes of one partial upload, moved to where they stand in the whole.
INSERT INTO upload_chunk (day, shard, upload_id, at, crc32c, bytes)
SELECT whole.day, whole.shard, whole.upload_id, c.at + $5::bigint, c.crc32c, c.bytes
FROM upload whole, upload part
JOIN upload_chunk c ON c.shard = part.shard AND c.upload_id = part.upload_id AND c.day = part.day
WHERE whole.shard = $1::integer AND whole.upload_id = $2::uuid
  AND part.shard = $3::integer AND part.upload_id = $4::uuid
