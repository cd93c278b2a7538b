-- Rows without sums where there are none yet, in key order; of their own statement, as for
-- frame_rollup.
INSERT INTO metric_rollup (shard, build_id, arm, tier, scene, installs, sums)
SELECT $1::integer, k.build_id, k.arm, k.tier, k.scene, 0, ''
FROM unnest($2::integer[], $3::smallint[], $4::smallint[], $5::text[])
     AS k (build_id, arm, tier, scene)
ON CONFLICT DO NOTHING
