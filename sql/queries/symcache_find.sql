-- The look-up tables of a debug id, or of its other writing if nothing has it as it stands.
SELECT symcache_id AS id, debug_id, arch, name, sha256, size
FROM symcache
WHERE app_id = $1::integer AND kind = 'native' AND version = $3::integer
  AND (debug_id = $2::text
       OR (guid = $2::text AND NOT EXISTS (
           SELECT FROM symcache e
           WHERE e.app_id = $1::integer AND e.kind = 'native' AND e.debug_id = $2::text)))
ORDER BY arch
LIMIT 2
