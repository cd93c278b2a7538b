-- How many tiers app $1 has, in which version; and the time.
SELECT coalesce((SELECT tiers FROM tier_model WHERE app_id = $1::integer
                 ORDER BY version DESC LIMIT 1), 0)::bigint AS tiers,
       coalesce((SELECT max(version) FROM tier_model WHERE app_id = $1::integer), 0)::bigint AS version,
       to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS now
