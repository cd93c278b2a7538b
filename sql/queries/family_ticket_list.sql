-- Filed families with what their tickets tell: of the family they are in now. came_back_in: the builds
-- that began this episode, one a platform.
SELECT x.at AS family, t.family AS filed, f.kind::bigint AS kind, f.title, f.owner, f.stacks, f.first_day::text AS first_day,
       f.last_day::text AS last_day, c.events, c.jank_us / 1000 AS jank_ms, c.n_sessions AS sessions,
       c.n_installs AS installs, a.events AS of_sessions, t.episode,
       (SELECT string_agg(b.version_name || ' (' || b.version_code || ') ' || b.platform, ', '
                          ORDER BY b.platform)
        FROM family_ticket_platform p JOIN build b ON b.build_id = p.came_back_in
        WHERE p.app_id = t.app_id AND p.family = t.family AND p.back_episode = t.episode) AS came_back_in
FROM family_tickets($1::integer) x
JOIN family_ticket t ON t.app_id = $1::integer AND t.family = x.family
JOIN family f ON f.app_id = t.app_id AND f.family = x.at
JOIN family_count c ON c.app_id = t.app_id AND c.build_id = 0 AND c.dim = 'all' AND c.value = ''
     AND c.family = x.at
JOIN family_count a ON a.app_id = t.app_id AND a.build_id = 0 AND a.dim = 'all' AND a.value = ''
     AND a.family = '\x00000000000000000000000000000000'
WHERE x.carries
ORDER BY t.family
