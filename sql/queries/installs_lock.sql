-- Locks the rows in the order given and hands out what the installs showed on the builds so far, n = place
-- in the arrays, from 1.
SELECT k.n, i.sums
FROM unnest($2::integer[], $3::smallint[], $4::bytea[])
     WITH ORDINALITY AS k (build_id, tier, install_hash, n)
JOIN install_build i ON i.shard = $1::integer AND i.build_id = k.build_id AND i.tier = k.tier
                    AND i.install_hash = k.install_hash
ORDER BY k.n
FOR UPDATE OF i
