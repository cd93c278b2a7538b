-- What the stacks of a build need. The first row (debug_id '') sums up; then one a debug id that its
-- stacks name or that the build says is its own, and its mapping. Events are counted in the newest
-- $3 sessions of the build; an event waits if a stack of it has a frame whose symbols are missing.
WITH b AS (
    SELECT build_id, debug_ids, mapping_id FROM build
    WHERE app_id = $1::integer AND build_id = $2::bigint),
recent AS MATERIALIZED (
    SELECT s.shard, s.session_id, s.day FROM session s JOIN b USING (build_id)
    WHERE s.app_id = $1::integer
    ORDER BY s.received_at DESC, s.session_id
    LIMIT $3::bigint),
event AS MATERIALIZED (
    SELECT r.shard, r.session_id, 'j' || j.start_us AS event, h.hash
    FROM recent r
    JOIN jank_event j ON j.shard = r.shard AND j.session_id = r.session_id AND j.day = r.day,
    LATERAL unnest(j.stacks) AS h (hash)
    UNION
    SELECT r.shard, r.session_id, 'c' || c.crash_id, c.stack_hash
    FROM recent r
    JOIN crash c ON c.shard = r.shard AND c.session_id = r.session_id AND c.day = r.day
    WHERE c.stack_hash IS NOT NULL),
waits AS MATERIALIZED (
    SELECT DISTINCT s.hash, f ->> 'debug_id' AS debug_id
    FROM (SELECT DISTINCT hash FROM event) e
    JOIN stack s ON s.app_id = $1::integer AND s.hash = e.hash AND s.state <> 'symbolicated',
    LATERAL jsonb_array_elements(s.symbols) AS f
    WHERE f ->> 'status' = 'missing'),
waiting AS (
    SELECT w.debug_id, count(DISTINCT (e.shard, e.session_id, e.event)) AS events,
           count(DISTINCT e.hash) AS stacks
    FROM waits w JOIN event e USING (hash)
    GROUP BY w.debug_id),
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
       (SELECT count(DISTINCT (e.shard, e.session_id, e.event)) FROM event e
        WHERE e.hash IN (SELECT hash FROM waits)) AS events_waiting,
       (SELECT count(DISTINCT hash) FROM waits) AS stacks_waiting,
       (SELECT count(DISTINCT (e.shard, e.session_id, e.event)) FROM event e) AS events,
       (SELECT count(*) FROM recent) AS sessions
FROM b
UNION ALL
SELECT 1, need.kind, need.debug_id, need.module,
       CASE WHEN EXISTS (SELECT FROM symcache c
                         WHERE c.app_id = $1::integer AND c.kind = need.kind
                           AND (c.debug_id = need.debug_id OR c.guid = need.debug_id))
                THEN 'present'
            WHEN need.system AND NOT need.declared THEN 'system'
            ELSE 'missing' END,
       need.declared, coalesce(w.events, 0), coalesce(w.stacks, 0), 0, 0
FROM need LEFT JOIN waiting w ON w.debug_id = need.debug_id
ORDER BY n, events_waiting DESC, debug_id
