-- Filed families with what their tickets tell: of the family they are in now. verdict: the newest build's last look.
SELECT x.at AS family, t.family AS filed, f.kind::bigint AS kind, f.title, f.owner, f.stacks, f.first_day::text AS first_day,
       f.last_day::text AS last_day, c.events, c.jank_us / 1000 AS jank_ms, c.n_sessions AS sessions,
       c.n_installs AS installs, a.events AS of_sessions, t.episode,
       back.version_name || ' (' || back.version_code || ')' AS came_back_in,
       v.label AS verdict, v.build || ' against ' || v.baseline AS verdict_of,
       v.ratio, v.low, v.high, v.events_new, v.expected
FROM family_tickets($1::integer) x
JOIN family_ticket t ON t.app_id = $1::integer AND t.family = x.family
JOIN family f ON f.app_id = t.app_id AND f.family = x.at
JOIN family_count c ON c.app_id = t.app_id AND c.build_id = 0 AND c.dim = 'all' AND c.value = ''
     AND c.family = x.at
JOIN family_count a ON a.app_id = t.app_id AND a.build_id = 0 AND a.dim = 'all' AND a.value = ''
     AND a.family = '\x00000000000000000000000000000000'
LEFT JOIN build back ON back.build_id = t.came_back_in
LEFT JOIN LATERAL (
    SELECT v.label, b.version_name || ' (' || b.version_code || ')' AS build,
           o.version_name || ' (' || o.version_code || ')' AS baseline,
           coalesce(round(v.ratio::numeric, 3)::text, 'infinite') AS ratio,
           round(v.low::numeric, 3)::text AS low,
           coalesce(round(v.high::numeric, 3)::text, 'infinite') AS high, v.events_new,
           round(v.expected::numeric, 1)::text AS expected
    FROM verdict v
    JOIN build b ON b.build_id = v.build_id
    JOIN build o ON o.build_id = v.baseline_id
    WHERE v.app_id = t.app_id AND v.family = x.at
    ORDER BY b.version_code DESC, v.build_id DESC, v.judged_at DESC, v.look DESC
    LIMIT 1) v ON true
WHERE x.carries
ORDER BY t.family
