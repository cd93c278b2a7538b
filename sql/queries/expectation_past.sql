-- The past of an install as the expectation of build $1 knows it.
SELECT 1::bigint AS n, sums FROM expectation_past
WHERE build_id = $1::integer AND shard = $2::integer AND install_hash = $3::bytea
