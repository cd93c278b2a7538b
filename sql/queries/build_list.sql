-- A page of an app's builds, last made known first.
SELECT build_id AS id, platform, version_name, version_code, build_uid, registered, package,
       git_commit, to_json(debug_ids)::text AS debug_ids_json, mapping_id,
       to_char(released_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS released_at,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
FROM build
WHERE app_id = $1::integer
  AND ($2::text IS NULL OR platform = $2::text)
  AND ($3::text IS NULL OR version_name = $3::text)
  AND ($4::bigint IS NULL OR version_code = $4::bigint)
  AND ($5::boolean IS NULL OR registered = $5::boolean)
  AND ($6::bigint IS NULL OR build_id < $6::bigint)
ORDER BY build_id DESC
LIMIT $7::bigint
