SELECT version, body::text AS body FROM family_rule
WHERE app_id = $1::integer AND version = $2::bigint
