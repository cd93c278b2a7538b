-- Filed families that the last look at a pair of builds calls fixed count as gone on that platform, as
-- of the build that was judged. Where it came back only a later build's verdict says so again.
INSERT INTO family_ticket_platform AS p (app_id, family, platform, resolved_build, resolved_how)
SELECT DISTINCT ON (x.family, b.platform) $1::integer, x.family, b.platform, b.build_id, 'fixed'
FROM family_tickets($1::integer) x
JOIN verdict v ON v.app_id = $1::integer AND v.family = x.at
JOIN build b ON b.build_id = v.build_id
LEFT JOIN family_ticket_platform g ON g.app_id = $1::integer AND g.family = x.family
     AND g.platform = b.platform
LEFT JOIN build back ON back.build_id = g.came_back_in
WHERE x.carries AND v.label = 'fixed' AND g.resolved_build IS NULL
  AND (back.build_id IS NULL OR back.version_code < b.version_code)
  AND NOT EXISTS (SELECT FROM verdict n
                  WHERE n.app_id = v.app_id AND n.family = v.family AND n.build_id = v.build_id
                    AND n.baseline_id = v.baseline_id AND n.look > v.look)
ORDER BY x.family, b.platform, b.version_code DESC, b.build_id DESC
ON CONFLICT (app_id, family, platform) DO UPDATE
SET resolved_build = excluded.resolved_build, resolved_how = excluded.resolved_how
