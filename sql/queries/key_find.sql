-- The key with this SHA-256, unless it was revoked.
SELECT app_id, role, hint
FROM api_key
WHERE key_hash = $1::bytea
  AND revoked_at IS NULL
