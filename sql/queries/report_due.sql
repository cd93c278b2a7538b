-- Builds of app $1 that reports may be due for: their age in whole days at the time plus $2 ms, health
-- checks that were made (bits: 1 day 3, 2 day 7, 4 day 14), the step of the last comparison.
SELECT b.build_id, coalesce(e.baseline_id, 0)::bigint AS baseline_id, b.registered,
       b.version_name || ' (' || b.version_code || ')' AS build,
       coalesce(o.version_name || ' (' || o.version_code || ')', '') AS baseline,
       greatest(floor(extract(epoch FROM now() + $2::bigint * interval '1 ms'
                                         - coalesce(b.released_at, b.created_at)) / 86400),
                0)::bigint AS days,
       coalesce((SELECT sum(CASE r.step WHEN 3 THEN 1 WHEN 7 THEN 2 ELSE 4 END) FROM report r
                 WHERE r.build_id = b.build_id AND r.kind = 'health'), 0)::bigint AS checked,
       coalesce((SELECT max(r.step) FROM report r
                 WHERE r.build_id = b.build_id AND r.kind = 'comparison'), -1)::bigint AS step
FROM build b
LEFT JOIN expectation e ON e.build_id = b.build_id AND e.phase = 'done'
LEFT JOIN build o ON o.build_id = e.baseline_id
WHERE b.app_id = $1::integer
  AND coalesce(b.released_at, b.created_at) > now() + $2::bigint * interval '1 ms'
                                              - interval '30 days'
  AND EXISTS (SELECT FROM session s WHERE s.build_id = b.build_id)
ORDER BY b.build_id
LIMIT 200
