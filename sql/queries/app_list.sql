-- All apps with their keys in force.
SELECT a.app_id AS id, a.name, count(k.key_hash) AS keys,
       to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at
FROM app a
LEFT JOIN api_key k ON k.app_id = a.app_id AND k.revoked_at IS NULL
GROUP BY a.app_id
ORDER BY a.name
