-- Levels that squares of a scene are kept at, and the visits that each has.
SELECT c.level::bigint AS level, sum(c.visits)::bigint AS visits, count(*) AS cells
FROM generate_series($1::integer * 64, $1::integer * 64 + 63) AS s (shard)
JOIN scene_cell c ON c.shard = s.shard AND c.build_id = $2::integer AND c.scene = $3::text
                 AND ($4::bigint IS NULL OR c.tier = $4::bigint)
GROUP BY c.level
HAVING sum(c.visits) > 0
ORDER BY c.level
