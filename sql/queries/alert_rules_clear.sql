-- Thresholds of app $1 go, to be written anew.
DELETE FROM alert_rule WHERE app_id = $1::integer
