-- No row if the name is taken.
INSERT INTO app (name) VALUES ($1::text) ON CONFLICT (name) DO NOTHING RETURNING app_id AS id
