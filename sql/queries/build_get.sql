SELECT build_id AS id, platform, version_name, version_code, build_uid, registered, package,
       git_commit, to_json(debug_ids)::text AS debug_ids_json, mapping_id,
       to_char(released_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS released_at,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
FROM build
WHERE app_id = $1::integer AND build_id = $2::bigint
