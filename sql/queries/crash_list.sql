-- Crashes of one session, in time order, those of unknown time last.
SELECT crash_id AS id, source, t_us IS NOT NULL AS has_t, t_us, signal IS NOT NULL AS has_signal,
       signal, reason, stack::text AS stack_json,
       to_char(received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS received_at
FROM crash
WHERE shard = $1::integer AND session_id = $2::uuid AND app_id = $3::integer
ORDER BY t_us NULLS LAST, crash_id
LIMIT $4::bigint
