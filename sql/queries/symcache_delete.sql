DELETE FROM symcache WHERE symcache_id = $1::uuid AND app_id = $2::integer
