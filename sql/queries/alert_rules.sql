-- Thresholds of app $1.
SELECT tier::bigint AS tier, metric, theta, enabled FROM alert_rule WHERE app_id = $1::integer
