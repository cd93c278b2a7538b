-- Locks the rows in the order given and hands out their sketches, n = place in the arrays, from 1.
SELECT k.n, f.sketch
FROM unnest($2::integer[], $3::smallint[], $4::text[], $5::integer[])
     WITH ORDINALITY AS k (build_id, tier, scene, day, n)
JOIN frame_rollup f ON f.shard = $1::integer AND f.build_id = k.build_id AND f.tier = k.tier
                   AND f.scene = k.scene AND f.day = DATE '2000-01-01' + k.day
ORDER BY k.n
FOR UPDATE OF f
