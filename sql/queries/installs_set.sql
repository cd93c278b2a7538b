-- The new sums of locked rows, made by the caller.
UPDATE install_build i SET sums = d.sums
FROM unnest($2::integer[], $3::smallint[], $4::bytea[], $5::bytea[])
     AS d (build_id, tier, install_hash, sums)
WHERE i.shard = $1::integer AND i.build_id = d.build_id AND i.tier = d.tier
  AND i.install_hash = d.install_hash
