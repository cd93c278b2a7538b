-- The fit behind the cuts was renewed.
UPDATE tier_model SET fitted_at = now(), fit = $3::jsonb
WHERE app_id = $1::integer AND version = $2::integer
