-- Squares of a scene of build $2 of app $1 at level $5, finer ones summed; $4: one tier. Visited $6
-- times at least, the most janky time first.
SELECT c.x >> (($5::bigint - c.level)::integer) AS x, c.y >> (($5::bigint - c.level)::integer) AS y,
       sum(c.visits)::bigint AS visits, sum(c.janky_visits)::bigint AS janky_visits,
       sum(c.jank_ms)::bigint AS jank_ms, sum(c.dwell_ms)::bigint AS dwell_ms
FROM generate_series($1::integer * 64, $1::integer * 64 + 63) AS s (shard)
JOIN scene_cell c ON c.shard = s.shard AND c.build_id = $2::integer AND c.scene = $3::text
                 AND ($4::bigint IS NULL OR c.tier = $4::bigint) AND c.level <= $5::bigint
GROUP BY 1, 2
HAVING sum(c.visits) >= $6::bigint
ORDER BY sum(c.jank_ms) DESC, 1, 2
LIMIT $7::bigint
