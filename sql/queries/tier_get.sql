-- The tiers of app $1 in force, the fastest first: their bounds, models and counted sessions of those.
SELECT t.tier::bigint AS tier, lo.ms AS from_ms, hi.ms AS to_ms,
       (SELECT count(*) FROM tier_score s WHERE s.app_id = m.app_id AND s.tier = t.tier) AS models,
       (SELECT coalesce(sum(s.sessions), 0)::bigint FROM tier_score s
        WHERE s.app_id = m.app_id AND s.tier = t.tier) AS sessions
FROM (SELECT * FROM tier_model WHERE app_id = $1::integer ORDER BY version DESC LIMIT 1) m
CROSS JOIN LATERAL generate_series(1, m.tiers) AS t (tier)
LEFT JOIN tier_cut lo ON lo.app_id = m.app_id AND lo.version = m.version AND lo.tier = t.tier - 1
LEFT JOIN tier_cut hi ON hi.app_id = m.app_id AND hi.version = m.version AND hi.tier = t.tier
ORDER BY t.tier
