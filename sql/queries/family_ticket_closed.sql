-- Filed families whose ticket was closed since it was last opened count as gone on every platform, as of
-- the platform's last build that shows it, or else of its last one with sessions. A verdict that said
-- fixed stands. Done once: what is seen later does not move it.
WITH closed AS (
    UPDATE family_ticket t SET closed = true
    FROM family_tickets($1::integer) x
    WHERE t.app_id = $1::integer AND t.family = x.family AND x.carries AND NOT t.closed
      AND EXISTS (SELECT FROM ticket k
                  WHERE k.app_id = $1::integer AND k.key = encode(t.family, 'hex')
                    AND k.state = 'closed' AND k.filed_episode >= t.episode)
    RETURNING t.family, x.at)
INSERT INTO family_ticket_platform AS p (app_id, family, platform, resolved_build, resolved_how)
SELECT DISTINCT ON (c.family, b.platform) $1::integer, c.family, b.platform, b.build_id, 'closed'
FROM closed c
JOIN family_count n ON n.app_id = $1::integer AND n.build_id <> 0 AND n.dim = 'all' AND n.value = ''
     AND n.family IN (c.at, '\x00000000000000000000000000000000')
JOIN build b ON b.build_id = n.build_id
ORDER BY c.family, b.platform, n.family = c.at DESC, b.version_code DESC, b.build_id DESC
ON CONFLICT (app_id, family, platform) DO UPDATE
SET resolved_build = excluded.resolved_build, resolved_how = excluded.resolved_how
WHERE p.resolved_how <> 'fixed'
