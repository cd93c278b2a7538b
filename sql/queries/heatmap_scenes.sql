-- Scenes of build $2 of app $1 that have positions.
SELECT c.scene, sum(c.visits)::bigint AS visits, sum(c.jank_ms)::bigint AS jank_ms
FROM generate_series($1::integer * 64, $1::integer * 64 + 63) AS s (shard)
JOIN scene_cell c ON c.shard = s.shard AND c.build_id = $2::integer
GROUP BY c.scene
HAVING sum(c.visits) > 0
ORDER BY sum(c.jank_ms) DESC, c.scene
LIMIT 200
