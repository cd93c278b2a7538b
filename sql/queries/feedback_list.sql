-- What players said in one session, in time order, unknown times last.
SELECT feedback_id AS id, source, t_us IS NOT NULL AS has_t, t_us, category, body AS text,
       to_char(received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS received_at
FROM feedback
WHERE shard = $1::integer AND session_id = $2::uuid AND app_id = $3::integer
ORDER BY t_us NULLS LAST, feedback_id
LIMIT $4::bigint
