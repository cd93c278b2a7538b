-- Installs of tier $4 seen on build $1 and on its baseline $2 of app $3: what they showed on each. At
-- most $5 of each group; hashes are in no order of anything, so the first ones are a fair sample.
SELECT n.shard % 64::bigint AS g, n.sums AS now, o.sums AS base
FROM generate_series($3::integer * 64, $3::integer * 64 + 63) AS s (shard)
CROSS JOIN LATERAL (
    SELECT i.shard, i.install_hash, i.sums FROM install_build i
    WHERE i.shard = s.shard AND i.build_id = $1::integer AND i.tier = $4::smallint
    ORDER BY i.install_hash
    LIMIT $5::bigint) n
JOIN install_build o ON o.shard = n.shard AND o.build_id = $2::integer AND o.tier = $4::smallint
                    AND o.install_hash = n.install_hash
