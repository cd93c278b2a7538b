-- Builds of app $1 that are watched: their expectation is frozen for less than $2 days ($3: ms added to
-- the clock) and all sessions counted before are measured against it.
SELECT e.build_id, e.baseline_id,
       b.version_name || ' (' || b.version_code || ')' AS build,
       o.version_name || ' (' || o.version_code || ')' AS baseline
FROM expectation e
JOIN build b ON b.build_id = e.build_id
JOIN build o ON o.build_id = e.baseline_id
WHERE e.app_id = $1::integer AND e.phase = 'done'
  AND e.frozen_at > now() + $3::bigint * interval '1 ms' - $2::bigint * interval '1 day'
ORDER BY e.build_id
