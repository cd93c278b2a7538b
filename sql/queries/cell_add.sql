-- Adds differences to cells, in key order.
INSERT INTO scene_cell AS c (shard, build_id, tier, scene, level, x, y, visits, janky_visits, jank_ms,
                             dwell_ms)
SELECT $1::integer, d.*
FROM unnest($2::integer[], $3::smallint[], $4::text[], $5::smallint[], $6::bigint[], $7::bigint[],
            $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
     AS d (build_id, tier, scene, level, x, y, visits, janky_visits, jank_ms, dwell_ms)
ON CONFLICT (shard, build_id, tier, scene, level, x, y) DO UPDATE
SET visits = c.visits + excluded.visits, janky_visits = c.janky_visits + excluded.janky_visits,
    jank_ms = c.jank_ms + excluded.jank_ms, dwell_ms = c.dwell_ms + excluded.dwell_ms
