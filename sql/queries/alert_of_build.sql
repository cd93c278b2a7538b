-- What is remembered of the slices of build $1, locked.
SELECT alert_id, tier::bigint AS tier, scene, metric, state, version, ln_e_worse, ln_e_better,
       ln_e_pairs, coalesce(told_change, 0) AS told_change,
       coalesce((extract(epoch FROM opened_at) * 1000000)::bigint, 0) AS opened_us,
       coalesce(silenced_until > now() + $2::bigint * interval '1 ms', false) AS silent
FROM alert
WHERE build_id = $1::integer
ORDER BY tier, scene, metric
FOR UPDATE
