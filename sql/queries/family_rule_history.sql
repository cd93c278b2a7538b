-- Every version of the rules, newest first.
SELECT version, actor, note, body::text AS rules_json,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
FROM family_rule
WHERE app_id = $1::integer AND ($2::bigint IS NULL OR version < $2::bigint)
ORDER BY version DESC
LIMIT $3::bigint
