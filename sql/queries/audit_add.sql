INSERT INTO audit (app_id, actor, action, detail)
VALUES ($1::integer, $2::text, $3::text, $4::jsonb)
