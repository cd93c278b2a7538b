-- Keeps what the installs of baseline $2 of app $3 have shown so far, for build $1: at most $4 of each
-- group. Hashes are in no order of anything, so the first ones are a fair sample.
INSERT INTO expectation_past (build_id, shard, install_hash, tier, sums)
SELECT $1::integer, i.shard, i.install_hash, i.tier, i.sums
FROM generate_series($3::integer * 64, $3::integer * 64 + 63) AS s (shard)
CROSS JOIN generate_series(0, 9) AS t (tier)
CROSS JOIN LATERAL (
    SELECT shard, install_hash, tier, sums FROM install_build
    WHERE shard = s.shard AND build_id = $2::integer AND tier = t.tier::smallint
    ORDER BY install_hash
    LIMIT $4::bigint) i
