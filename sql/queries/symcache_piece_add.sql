INSERT INTO symcache_piece (symcache_id, n, bytes) VALUES ($1::uuid, $2::integer, $3::bytea)
