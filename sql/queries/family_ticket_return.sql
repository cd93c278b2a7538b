-- Families that counted as gone on a platform and are seen in a later build of it: in a share of its
-- sessions above the threshold ($2 per million), and, if a verdict had said fixed, in twice the share
-- of the build that was judged. The next episode begins, one for all platforms that show it now; its
-- ticket is closed on none of them any more.
WITH shares AS (
    SELECT x.family, g.resolved_how, b.build_id, b.platform, b.version_code,
           c.n_sessions::float8 / a.events AS share,
           coalesce((SELECT n.n_sessions::float8 / y.events
                     FROM family_count n
                     JOIN family_count y ON y.app_id = n.app_id AND y.build_id = n.build_id
                          AND y.dim = 'all' AND y.value = ''
                          AND y.family = '\x00000000000000000000000000000000'
                     WHERE n.app_id = $1::integer AND n.build_id = g.resolved_build AND n.dim = 'all'
                       AND n.value = '' AND n.family = x.at), 0) AS before
    FROM family_tickets($1::integer) x
    JOIN family_ticket t ON t.app_id = $1::integer AND t.family = x.family
    JOIN family_count c ON c.app_id = $1::integer AND c.family = x.at AND c.dim = 'all'
         AND c.value = '' AND c.build_id <> 0
    JOIN build b ON b.build_id = c.build_id
    JOIN family_count a ON a.app_id = $1::integer AND a.build_id = b.build_id AND a.dim = 'all'
         AND a.value = '' AND a.family = '\x00000000000000000000000000000000'
    LEFT JOIN family_ticket_platform g ON g.app_id = $1::integer AND g.family = x.family
         AND g.platform = b.platform
    LEFT JOIN build r ON r.build_id = g.resolved_build
    WHERE x.carries
      AND (b.version_code > r.version_code OR t.closed AND g.platform IS NULL)),
back AS (
    SELECT DISTINCT ON (s.family, s.platform) s.family, s.platform, s.build_id, t.episode + 1 AS episode
    FROM shares s
    JOIN family_ticket t ON t.app_id = $1::integer AND t.family = s.family
    WHERE s.share * 1000000 >= $2::bigint
      AND (s.resolved_how IS DISTINCT FROM 'fixed' OR s.share >= 2 * s.before)
    ORDER BY s.family, s.platform, s.version_code, s.build_id),
there AS (
    INSERT INTO family_ticket_platform AS p (app_id, family, platform, came_back_in, back_episode)
    SELECT $1::integer, family, platform, build_id, episode FROM back
    ON CONFLICT (app_id, family, platform) DO UPDATE
    SET came_back_in = excluded.came_back_in, back_episode = excluded.back_episode,
        resolved_build = NULL, resolved_how = ''),
elsewhere AS (
    UPDATE family_ticket_platform p SET resolved_build = NULL, resolved_how = ''
    WHERE p.app_id = $1::integer AND p.resolved_how = 'closed'
      AND EXISTS (SELECT FROM back WHERE back.family = p.family)
      AND NOT EXISTS (SELECT FROM back WHERE back.family = p.family AND back.platform = p.platform))
UPDATE family_ticket t SET episode = b.episode, closed = false
FROM (SELECT DISTINCT family, episode FROM back) b
WHERE t.app_id = $1::integer AND t.family = b.family
