-- The past of installs ($3) of shard $2 as the expectations of builds ($1) know it; n = place in the
-- arrays, from 1.
SELECT k.n, p.sums
FROM unnest($1::integer[], $3::bytea[]) WITH ORDINALITY AS k (build_id, install_hash, n)
JOIN expectation_past p ON p.build_id = k.build_id AND p.shard = $2::integer
                       AND p.install_hash = k.install_hash
