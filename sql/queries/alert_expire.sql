-- Live alerts of app $1 whose build is watched no longer ($2 days, $3 ms added to the clock) are over.
UPDATE alert a
SET state = 'resolved', version = version + 1, looked_at = c.at, resolved_at = c.at
FROM (SELECT now() + $3::bigint * interval '1 ms' AS at) c
WHERE a.app_id = $1::integer AND a.state IN ('open', 'updated', 'acknowledged', 'silenced')
  AND NOT EXISTS (SELECT FROM expectation e
                  WHERE e.build_id = a.build_id
                    AND e.frozen_at > c.at - $2::bigint * interval '1 day')
RETURNING a.alert_id
