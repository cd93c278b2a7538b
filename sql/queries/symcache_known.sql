SELECT symcache_id AS id, source_sha256, version, name, revealed, dwarf
FROM symcache
WHERE app_id = $1::integer AND kind = $2::text AND debug_id = $3::text AND arch = $4::text
