-- Builds of app $1 that sessions have come of and that have a baseline, but no expectation yet: the
-- baseline is the registered build before it, once it has $2 counted sessions. A build nobody
-- registered must have as many itself: one developer's build is no release.
SELECT b.build_id, base.build_id AS baseline_id
FROM build b
CROSS JOIN LATERAL (
    SELECT o.build_id FROM build o
    WHERE o.app_id = b.app_id AND o.platform = b.platform AND o.registered
      AND o.version_code < b.version_code
    ORDER BY o.version_code DESC, o.build_id DESC
    LIMIT 1) base
WHERE b.app_id = $1::integer
  AND NOT EXISTS (SELECT FROM expectation e WHERE e.build_id = b.build_id)
  AND (SELECT count(*) FROM (SELECT FROM session s
                             WHERE s.build_id = b.build_id AND s.state = 'final'
                             LIMIT CASE WHEN b.registered THEN 1 ELSE $2::bigint END) own)
      >= CASE WHEN b.registered THEN 1 ELSE $2::bigint END
  AND (SELECT count(*) FROM (SELECT FROM session s
                             WHERE s.build_id = base.build_id AND s.state = 'final'
                               AND NOT s.excluded
                             LIMIT $2::bigint) old) >= $2::bigint
ORDER BY b.build_id
