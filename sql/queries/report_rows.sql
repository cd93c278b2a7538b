-- Rows of metrics of a build in some shards, for merging: one look into the index for each shard and
-- arm, as many rows as there are tiers and scenes, whatever sessions there are. $4, $5: one tier, one
-- scene alone. $3: arms.
SELECT r.*
FROM unnest($1::integer[]) AS s (shard)
CROSS JOIN unnest($3::smallint[]) AS a (arm)
CROSS JOIN LATERAL (
    SELECT m.shard % 64::bigint AS g, m.arm::bigint AS arm, m.tier::bigint AS tier, m.scene,
           m.installs, m.sums
    FROM metric_rollup m
    WHERE m.shard = s.shard AND m.build_id = $2::integer AND m.arm = a.arm
      AND ($4::smallint IS NULL OR m.tier = $4::smallint)
      AND ($5::text IS NULL OR m.scene = $5::text)
    OFFSET 0) r
LIMIT $6::bigint
