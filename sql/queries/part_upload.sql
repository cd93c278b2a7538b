-- An upload with its bytes, one row a chunk (one without, if it has none). $3: its day; $4: every
-- reason to refuse it; refused: there is such a row from an earlier look at it.
SELECT u.app_id, u.kind, u.state, u.day - DATE '2000-01-01' AS day, u.install_hash, u.at AS size,
       u.length IS NOT DISTINCT FROM u.at AS whole,
       (extract(epoch FROM coalesce(u.completed_at, u.created_at)) * 1000000)::bigint AS received_us,
       EXISTS (SELECT FROM quarantine q
               WHERE q.app_id = u.app_id AND q.source = 'upload' AND q.reason = ANY ($4::text[])
                 AND q.ref = u.upload_id) AS refused,
       c.at, c.crc32c, c.bytes
FROM upload u
LEFT JOIN upload_chunk c ON c.day = DATE '2000-01-01' + $3::integer
                        AND c.shard = u.shard AND c.upload_id = u.upload_id
WHERE u.shard = $1::integer AND u.upload_id = $2::uuid
ORDER BY c.at
