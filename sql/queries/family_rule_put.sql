-- The version after $2; nothing if somebody else was faster.
INSERT INTO family_rule (app_id, version, body, actor, note)
SELECT $1::integer, $2::bigint + 1, $3::jsonb, $4::text, $5::text
WHERE NOT EXISTS (SELECT FROM family_rule WHERE app_id = $1::integer AND version > $2::bigint)
ON CONFLICT (app_id, version) DO NOTHING
