-- Locks the rows in the order given and hands out their sums, n = place in the arrays, from 1.
SELECT k.n, m.sums
FROM unnest($2::integer[], $3::smallint[], $4::smallint[], $5::text[])
     WITH ORDINALITY AS k (build_id, arm, tier, scene, n)
JOIN metric_rollup m ON m.shard = $1::integer AND m.build_id = k.build_id AND m.arm = k.arm
                    AND m.tier = k.tier AND m.scene = k.scene
ORDER BY k.n
FOR UPDATE OF m
