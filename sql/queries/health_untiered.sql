-- Device models of app $1 without a tier.
SELECT count(*) AS models
FROM device_model d
WHERE d.app_id = $1::integer AND d.tier = 0
