-- Sessions of build $2 of app $1 received in the $4 days from day $3 on, and those kept out of
-- statistics.
SELECT coalesce(sum(f.sessions), 0)::bigint AS sessions,
       coalesce(sum(f.excluded_sessions), 0)::bigint AS excluded
FROM generate_series($1::integer * 64, $1::integer * 64 + 63) AS s (shard)
CROSS JOIN generate_series(0, 9) AS t (tier)
CROSS JOIN LATERAL (
    SELECT sessions, excluded_sessions FROM frame_rollup
    WHERE shard = s.shard AND build_id = $2::integer AND tier = t.tier::smallint AND scene = ''
      AND day >= DATE '2000-01-01' + $3::integer
      AND day < DATE '2000-01-01' + $3::integer + $4::integer
    OFFSET 0) f
