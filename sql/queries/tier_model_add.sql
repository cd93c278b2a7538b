-- Another version of cuts of app $1 in $2 tiers, with the fit they come from ($3; null: the one of the
-- version in force); $4 asked for it, because of $5.
INSERT INTO tier_model (app_id, version, tiers, fit, fitted_at, placed_by, note)
SELECT $1::integer, coalesce(m.version, 0) + 1, $2::smallint, coalesce($3::jsonb, m.fit),
       CASE WHEN $3::jsonb IS NULL THEN m.fitted_at ELSE now() END, $4::text, $5::text
FROM (SELECT) AS one
LEFT JOIN LATERAL (SELECT version, fit, fitted_at FROM tier_model
                   WHERE app_id = $1::integer ORDER BY version DESC LIMIT 1) m ON true
RETURNING version::bigint AS version, 0::float8 AS ms
