-- Managed stacks of the builds whose mapping a look-up table is, those after hash $3.
SELECT s.hash, s.frames::text AS frames_json, coalesce(s.build_id, 0) AS build_id
FROM stack s
WHERE s.app_id = $1::integer AND s.hash IN (
    SELECT m.hash FROM symcache c
    JOIN build b ON b.app_id = c.app_id AND b.mapping_id = c.debug_id
    JOIN stack m ON m.build_id = b.build_id
    WHERE c.symcache_id = $2::uuid AND c.kind = 'mapping' AND m.app_id = $1::integer
      AND m.hash > $3::bytea
    ORDER BY m.hash
    LIMIT $4::bigint)
ORDER BY s.hash
FOR UPDATE
