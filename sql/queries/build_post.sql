-- Registers a build, or tells more of one that a session or an earlier call named. What is NULL
-- stays as it is. `changed` is false if all was known.
WITH before AS (
    SELECT build_id, registered, package, git_commit, debug_ids, mapping_id, released_at
    FROM build
    WHERE app_id = $1::integer AND platform = $2::text AND version_name = $3::text
      AND version_code = $4::bigint AND build_uid = $5::text
), now_is AS (
    INSERT INTO build AS b (app_id, platform, version_name, version_code, build_uid, registered,
                            package, git_commit, debug_ids, mapping_id, released_at)
    VALUES ($1::integer, $2::text, $3::text, $4::bigint, $5::text, true, coalesce($6::text, ''),
            coalesce($7::text, ''), coalesce($8::text[], '{}'), coalesce($10::text, ''),
            timestamptz 'epoch' + $9::bigint * interval '1 microsecond')
    ON CONFLICT (app_id, platform, version_code, version_name, build_uid) DO UPDATE
        SET registered = true,
            package = coalesce($6::text, b.package),
            git_commit = coalesce($7::text, b.git_commit),
            debug_ids = coalesce($8::text[], b.debug_ids),
            mapping_id = coalesce($10::text, b.mapping_id),
            released_at = coalesce(excluded.released_at, b.released_at)
    RETURNING build_id, registered, package, git_commit, debug_ids, mapping_id, released_at
)
SELECT now_is.build_id AS id, before.build_id IS NULL AS created,
       before IS DISTINCT FROM now_is AS changed
FROM now_is LEFT JOIN before USING (build_id)
