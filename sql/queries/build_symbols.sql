-- What the stacks of a build need. The first row (debug_id '') sums up; then one a debug id that its
-- stacks name or that the build says is its own, and its mapping. Events are janks and crashes, each
-- counted under its stack; an event waits if that stack has a frame whose symbols are missing. Of janks
-- and of crashes the $3 stacks with most events.
WITH b AS (
    SELECT build_id, debug_ids, mapping_id FROM build
    WHERE app_id = $1::integer AND build_id = $2::bigint),
counted AS MATERIALIZED (
    SELECT t.hash, sum(t.events)::bigint AS events
    FROM b
    CROSS JOIN generate_series(0, 1) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT hash, events FROM stack_total x
        WHERE x.app_id = $1::integer AND x.build_id = b.build_id AND x.kind = k.kind::smallint
        ORDER BY x.events DESC, x.hash
        LIMIT $3::bigint) t
    GROUP BY t.hash
    HAVING sum(t.events) > 0),
waits AS MATERIALIZED (
    SELECT DISTINCT c.hash, c.events, f ->> 'debug_id' AS debug_id
    FROM counted c
    JOIN stack s ON s.app_id = $1::integer AND s.hash = c.hash AND s.state <> 'symbolicated',
    LATERAL jsonb_array_elements(s.symbols) AS f
    WHERE f ->> 'status' = 'missing'),
waiting AS (
    SELECT debug_id, sum(events)::bigint AS events, count(*) AS stacks FROM waits GROUP BY debug_id),
summed AS (
    SELECT coalesce(sum(events), 0)::bigint AS events, count(*) AS stacks
    FROM (SELECT DISTINCT hash, events FROM waits) w),
need AS (
    SELECT n.debug_id, n.module, n.system, n.debug_id = ANY (b.debug_ids) AS declared, 'native' AS kind
    FROM b JOIN build_need n USING (build_id)
    UNION ALL
    SELECT d.debug_id, '', false, true, 'native'
    FROM b, unnest(b.debug_ids) AS d (debug_id)
    WHERE NOT EXISTS (SELECT FROM build_need n
                      WHERE n.build_id = b.build_id AND n.debug_id = d.debug_id)
    UNION ALL
    SELECT b.mapping_id, '', false, true, 'mapping' FROM b WHERE b.mapping_id <> '')
SELECT 0 AS n, '' AS kind, '' AS debug_id, '' AS module, '' AS state, false AS declared,
       summed.events AS events_waiting, summed.stacks AS stacks_waiting,
       (SELECT coalesce(sum(events), 0)::bigint FROM counted) AS events
FROM b, summed
UNION ALL
SELECT 1, need.kind, need.debug_id, need.module,
       CASE WHEN EXISTS (SELECT FROM symcache c
                         WHERE c.app_id = $1::integer AND c.kind = need.kind
                           AND (c.debug_id = need.debug_id OR c.guid = need.debug_id))
                THEN 'present'
            WHEN need.system AND NOT need.declared THEN 'system'
            ELSE 'missing' END,
       need.declared, coalesce(w.events, 0), coalesce(w.stacks, 0), 0
FROM need LEFT JOIN waiting w ON w.debug_id = need.debug_id
ORDER BY n, events_waiting DESC, debug_id
