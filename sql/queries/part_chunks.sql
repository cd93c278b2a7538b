-- The bytes of several uploads of one day: n = place in the arrays, from 1.
SELECT k.n, c.at, c.crc32c, c.bytes
FROM unnest($2::integer[], $3::uuid[]) WITH ORDINALITY AS k (shard, upload_id, n)
JOIN upload_chunk c ON c.day = DATE '2000-01-01' + $1::integer
                   AND c.shard = k.shard AND c.upload_id = k.upload_id
ORDER BY k.n, c.at
