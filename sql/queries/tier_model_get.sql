-- The tier model of app $1 in force, and how many device models have no tier.
SELECT m.version::bigint AS version, m.fit::text AS fit_json,
       to_char(m.placed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS placed_at,
       to_char(m.fitted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS fitted_at,
       (SELECT count(*) FROM device_model d WHERE d.app_id = $1::integer AND d.tier = 0) AS untiered
FROM tier_model m
WHERE m.app_id = $1::integer
ORDER BY m.version DESC
LIMIT 1
