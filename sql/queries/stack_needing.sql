-- Stacks that name the debug id of a look-up table, those after hash $3.
SELECT s.hash, s.frames::text AS frames_json, coalesce(s.build_id, 0) AS build_id
FROM stack s
WHERE s.app_id = $1::integer AND s.hash IN (
    SELECT n.hash FROM symcache c
    JOIN stack_need n ON n.app_id = c.app_id AND n.debug_id IN (c.debug_id, c.guid)
    WHERE c.symcache_id = $2::uuid AND n.hash > $3::bytea
    ORDER BY n.hash
    LIMIT $4::bigint)
ORDER BY s.hash
FOR UPDATE
