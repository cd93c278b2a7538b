INSERT INTO api_key (key_hash, app_id, role, hint, label)
VALUES ($1::bytea, $2::integer, $3::text, $4::text, $5::text)
