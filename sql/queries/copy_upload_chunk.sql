COPY upload_chunk (day, shard, upload_id, at, crc32c, bytes) FROM STDIN (FORMAT binary)
