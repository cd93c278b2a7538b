SELECT bytes FROM symcache_piece WHERE symcache_id = $1::uuid AND n = $2::integer
