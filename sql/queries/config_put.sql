-- Replaces version $2 (0: there is none yet) by the next one; no row if it is not $2 any more.
INSERT INTO sdk_config AS c (app_id, version, body)
SELECT $1::integer, $2::bigint + 1, $3::jsonb
WHERE $2::bigint = 0 OR EXISTS (SELECT FROM sdk_config WHERE app_id = $1::integer)
ON CONFLICT (app_id) DO UPDATE
    SET version = c.version + 1, body = excluded.body, updated_at = now()
    WHERE c.version = $2::bigint
RETURNING version
