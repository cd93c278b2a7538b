-- Keys of an app, oldest first, revoked ones as well.
SELECT key_hash, role, hint, label,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at,
       to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS revoked_at
FROM api_key
WHERE app_id = $1::integer
ORDER BY created_at, key_hash
