SELECT app_id AS id FROM app WHERE name = $1::text
