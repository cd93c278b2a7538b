-- How many tiers app $1 has; 0: no cuts yet.
SELECT coalesce((SELECT tiers FROM tier_model WHERE app_id = $1::integer
                 ORDER BY version DESC LIMIT 1), 0)::bigint AS tiers
