-- What an install showed on a build so far, locked.
SELECT 1::bigint AS n, sums FROM install_build
WHERE shard = $1::integer AND build_id = $2::integer AND tier = $3::smallint
  AND install_hash = $4::bytea
FOR UPDATE
