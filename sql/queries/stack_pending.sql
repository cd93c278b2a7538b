-- Stacks nobody has read with symbols yet, in the order of their hashes. Who waits here for another
-- worker's lock finds them done afterwards.
SELECT hash, frames::text AS frames_json, coalesce(build_id, 0) AS build_id
FROM stack
WHERE app_id = $1::integer AND symbols IS NULL
ORDER BY hash
LIMIT $2::bigint
FOR UPDATE
