-- Managed stacks of a build, those after hash $3.
SELECT hash, frames::text AS frames_json, coalesce(build_id, 0) AS build_id
FROM stack
WHERE app_id = $1::integer AND build_id = $2::integer AND hash > $3::bytea
ORDER BY hash
LIMIT $4::bigint
FOR UPDATE
