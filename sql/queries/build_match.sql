-- Ids of the builds a session filter names by version; newest first.
SELECT build_id AS id
FROM build
WHERE app_id = $1::integer
  AND ($2::text IS NULL OR platform = $2::text)
  AND ($3::text IS NULL OR version_name = $3::text)
  AND ($4::bigint IS NULL OR version_code = $4::bigint)
ORDER BY build_id DESC
LIMIT $5::bigint
