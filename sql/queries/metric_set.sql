-- The new sums of locked rows, made by the caller; installs are added.
UPDATE metric_rollup m
SET sums = d.sums, installs = m.installs + d.installs
FROM unnest($2::integer[], $3::smallint[], $4::smallint[], $5::text[], $6::bigint[], $7::bytea[])
     AS d (build_id, arm, tier, scene, installs, sums)
WHERE m.shard = $1::integer AND m.build_id = d.build_id AND m.arm = d.arm AND m.tier = d.tier
  AND m.scene = d.scene
