-- Filed families that count as gone from now on: a later verdict says fixed, or the ticket was closed
-- since it was last opened; then gone as of the last build that shows it.
WITH open AS (
    SELECT t.family, x.at, coalesce(c.version_code, -1) AS since, c.platform AS since_platform, t.episode
    FROM family_tickets($1::integer) x
    JOIN family_ticket t ON t.app_id = $1::integer AND t.family = x.family
    LEFT JOIN build c ON c.build_id = t.came_back_in
    WHERE x.carries AND t.resolved_build IS NULL),
fixed AS (
    SELECT DISTINCT ON (o.family) o.family, b.build_id
    FROM open o
    JOIN verdict v ON v.app_id = $1::integer AND v.family = o.at
    JOIN build b ON b.build_id = v.build_id
    WHERE v.label = 'fixed'
      AND NOT EXISTS (SELECT FROM verdict n
                      WHERE n.app_id = v.app_id AND n.family = v.family
                        AND n.build_id = v.build_id AND n.baseline_id = v.baseline_id
                        AND n.look > v.look)
      AND (o.since < b.version_code OR o.since_platform <> b.platform)
    ORDER BY o.family, b.version_code DESC, b.build_id DESC),
closed AS (
    SELECT o.family, l.build_id
    FROM open o
    CROSS JOIN LATERAL (
        SELECT b.build_id FROM family_count c JOIN build b ON b.build_id = c.build_id
        WHERE c.app_id = $1::integer AND c.family = o.at AND c.dim = 'all' AND c.build_id <> 0
        ORDER BY b.version_code DESC, b.build_id DESC
        LIMIT 1) l
    WHERE EXISTS (SELECT FROM ticket k
                  WHERE k.app_id = $1::integer AND k.key = encode(o.family, 'hex')
                    AND k.state = 'closed' AND k.filed_episode >= o.episode))
UPDATE family_ticket t
SET resolved_build = coalesce(f.build_id, c.build_id),
    resolved_how = CASE WHEN f.build_id IS NOT NULL THEN 'fixed' ELSE 'closed' END
FROM open o
LEFT JOIN fixed f ON f.family = o.family
LEFT JOIN closed c ON c.family = o.family
WHERE t.app_id = $1::integer AND t.family = o.family
  AND coalesce(f.build_id, c.build_id) IS NOT NULL
