-- Thresholds of app $1, all of them; of two for one tier and metric one is left.
INSERT INTO alert_rule (app_id, tier, metric, theta, enabled)
SELECT $1::integer, r.tier, r.metric, r.theta::float8, r.enabled <> 0
FROM unnest($2::smallint[], $3::text[], $4::text[], $5::bigint[]) AS r (tier, metric, theta, enabled)
ON CONFLICT DO NOTHING
