-- Crashes of one session, in time order, those of unknown time last; with how their stacks read with
-- symbols.
SELECT c.crash_id AS id, c.source, c.t_us IS NOT NULL AS has_t, c.t_us,
       c.signal IS NOT NULL AS has_signal, c.signal, c.reason, c.stack::text AS stack_json,
       coalesce(s.state, 'raw') AS stack_state, coalesce(s.symbols, '[]')::text AS symbols_json,
       to_char(c.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS received_at
FROM crash c
LEFT JOIN stack s ON s.app_id = c.app_id AND s.hash = c.stack_hash
WHERE c.shard = $1::integer AND c.session_id = $2::uuid AND c.app_id = $3::integer
ORDER BY c.t_us NULLS LAST, c.crash_id
LIMIT $4::bigint
