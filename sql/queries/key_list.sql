-- Keys of an app, newest first, revoked ones as well; at most 500.
SELECT hint, role, label,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
       to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS revoked_at
FROM api_key
WHERE app_id = $1::bigint
ORDER BY api_key.created_at DESC, key_hash
LIMIT 500
