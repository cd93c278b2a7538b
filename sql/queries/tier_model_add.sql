-- Another version of cuts of app $1 in $2 tiers, with the fit they come from.
INSERT INTO tier_model (app_id, version, tiers, fit)
SELECT $1::integer, coalesce(max(version), 0) + 1, $2::smallint, $3::jsonb
FROM tier_model WHERE app_id = $1::integer
RETURNING version::bigint AS version, 0::float8 AS ms
