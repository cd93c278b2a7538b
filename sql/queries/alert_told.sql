-- An alert as it is told.
SELECT a.alert_id, a.version, a.state, a.tier::bigint AS tier, a.scene, a.metric,
       coalesce(a.change, 'NaN') AS change, coalesce(a.low, 'NaN') AS low,
       coalesce(a.high, 'NaN') AS high,
       coalesce((a.evidence ->> 'sessions')::bigint, a.sessions) AS sessions, -- that entered the change
       b.version_name || ' (' || b.version_code || ')' AS build,
       o.version_name || ' (' || o.version_code || ')' AS baseline,
       coalesce(a.evidence ->> 'summary', '') AS summary,
       coalesce(a.evidence ->> 'detail', '') AS detail,
       coalesce((extract(epoch FROM a.opened_at) * 1000000)::bigint, 0) AS opened_us,
       coalesce((extract(epoch FROM a.resolved_at) * 1000000)::bigint, 0) AS resolved_us,
       coalesce((SELECT tiers FROM tier_model t WHERE t.app_id = a.app_id
                 ORDER BY version DESC LIMIT 1), 0)::bigint AS tiers
FROM alert a
JOIN build b ON b.build_id = a.build_id
JOIN build o ON o.build_id = a.baseline_id
WHERE a.app_id = $1::integer AND a.alert_id = $2::bigint
