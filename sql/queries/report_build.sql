-- A build of app $1 as reports name it; with its baseline's id, if one is frozen or can be told.
SELECT b.build_id AS id, b.platform, b.version_name, b.version_code, b.registered,
       to_char(b.released_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS released_at,
       coalesce(e.baseline_id, (
           SELECT o.build_id FROM build o
           WHERE o.app_id = b.app_id AND o.platform = b.platform AND o.registered
             AND o.version_code < b.version_code
           ORDER BY o.version_code DESC, o.build_id DESC
           LIMIT 1)) AS baseline_id,
       to_char(e.frozen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS frozen_at,
       e.sessions AS expected_from
FROM build b LEFT JOIN expectation e USING (build_id)
WHERE b.app_id = $1::integer AND b.build_id = $2::bigint
