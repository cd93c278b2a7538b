-- The same of those files alone that the session's row was made of.
SELECT p.part, p.sha256, p.upload_shard, p.upload_id, p.upload_day - DATE '2000-01-01' AS upload_day,
       p.size, (extract(epoch FROM p.received_at) * 1000000)::bigint AS received_us,
       coalesce(u.state, 'deleted') <> 'deleted' AS kept, u.install_hash
FROM session_part p
LEFT JOIN upload u ON u.shard = p.upload_shard AND u.upload_id = p.upload_id
WHERE p.shard = $1::integer AND p.session_id = $2::uuid
ORDER BY p.part, p.sha256
LIMIT (SELECT files FROM session WHERE shard = $1::integer AND session_id = $2::uuid)
