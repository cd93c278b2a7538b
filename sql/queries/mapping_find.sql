-- The mapping that a build says is its own: '' if it says none; no table: not uploaded yet.
SELECT b.mapping_id, s.name, s.symcache_id AS id, s.sha256, coalesce(s.size, 0) AS size
FROM build b
LEFT JOIN symcache s ON s.app_id = b.app_id AND s.kind = 'mapping' AND s.debug_id = b.mapping_id
                    AND s.version = $3::integer
WHERE b.app_id = $1::integer AND b.build_id = $2::integer
