-- The stored files of one session.
SELECT part, sha256, size, truncated, damaged,
       to_char(received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS received_at
FROM session_part
WHERE shard = $1::integer AND session_id = $2::uuid AND app_id = $3::integer
ORDER BY part, sha256
