-- A row without sums if there is none yet.
INSERT INTO install_build (shard, build_id, tier, install_hash, sums)
VALUES ($1::integer, $2::integer, $3::smallint, $4::bytea, '')
ON CONFLICT DO NOTHING
