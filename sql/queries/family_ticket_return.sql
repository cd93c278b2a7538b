-- Families that counted as gone and are seen in a later build of the platform: in a share of its
-- sessions above the threshold ($2 per million), and, if a verdict had said fixed, in twice the share
-- of the build that was judged. The next episode begins.
WITH gone AS (
    SELECT t.family, x.at, t.resolved_how, r.build_id, r.platform, r.version_code
    FROM family_tickets($1::integer) x
    JOIN family_ticket t ON t.app_id = $1::integer AND t.family = x.family
    JOIN build r ON r.build_id = t.resolved_build
    WHERE x.carries),
shares AS (
    SELECT g.family, g.resolved_how, b.build_id, b.version_code,
           c.n_sessions::float8 / a.events AS share,
           coalesce((SELECT x.n_sessions::float8 / y.events
                     FROM family_count x
                     JOIN family_count y ON y.app_id = x.app_id AND y.build_id = x.build_id
                          AND y.dim = 'all' AND y.value = ''
                          AND y.family = '\x00000000000000000000000000000000'
                     WHERE x.app_id = $1::integer AND x.build_id = g.build_id AND x.dim = 'all'
                       AND x.value = '' AND x.family = g.at), 0) AS before
    FROM gone g
    JOIN build b ON b.app_id = $1::integer AND b.platform = g.platform
         AND b.version_code > g.version_code
    JOIN family_count c ON c.app_id = $1::integer AND c.build_id = b.build_id AND c.dim = 'all'
         AND c.value = '' AND c.family = g.at
    JOIN family_count a ON a.app_id = $1::integer AND a.build_id = b.build_id AND a.dim = 'all'
         AND a.value = '' AND a.family = '\x00000000000000000000000000000000'),
back AS (
    SELECT DISTINCT ON (family) family, build_id FROM shares
    WHERE share * 1000000 >= $2::bigint AND (resolved_how = 'closed' OR share >= 2 * before)
    ORDER BY family, version_code, build_id)
UPDATE family_ticket t
SET episode = t.episode + 1, came_back_in = b.build_id, resolved_build = NULL, resolved_how = ''
FROM back b
WHERE t.app_id = $1::integer AND t.family = b.family
