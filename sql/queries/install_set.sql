-- The new sums of a locked row.
UPDATE install_build SET sums = $5::bytea
WHERE shard = $1::integer AND build_id = $2::integer AND tier = $3::smallint
  AND install_hash = $4::bytea
