-- A request to delete what is kept of an install; asked again it stands longer.
INSERT INTO erasure (app_id, install_hash) VALUES ($1::integer, $2::bytea)
ON CONFLICT (app_id, install_hash) DO UPDATE SET asked_at = now()
