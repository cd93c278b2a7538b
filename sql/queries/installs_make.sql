-- Rows without sums where there are none yet, in key order; of their own statement, as for
-- frame_rollup.
INSERT INTO install_build (shard, build_id, tier, install_hash, sums)
SELECT $1::integer, k.build_id, k.tier, k.install_hash, ''
FROM unnest($2::integer[], $3::smallint[], $4::bytea[]) AS k (build_id, tier, install_hash)
ON CONFLICT DO NOTHING
