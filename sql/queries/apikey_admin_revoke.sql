UPDATE api_key SET revoked_at = now()
WHERE app_id = $1::integer AND key_hash = $2::bytea AND revoked_at IS NULL
