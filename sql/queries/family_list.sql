-- Families ranked within one slice of the counts: build $2 (0: all), dimension $3, value $4. Reads a
-- row a family of the app, whatever sessions there are. $5 kind, $6 class, $7 owner ('' nobody's),
-- $8 ignored ones too, $9 least sessions; $10 'sessions', 'installs', 'jank_ms' or 'events';
-- $11, $12: where the page before ended; $14 of these families alone.
WITH page AS MATERIALIZED (
    SELECT * FROM (
        SELECT f.*, c.events, c.jank_us, c.n_sessions, c.n_installs,
               CASE $10::text WHEN 'sessions' THEN c.n_sessions WHEN 'installs' THEN c.n_installs
                    WHEN 'jank_ms' THEN c.jank_us ELSE c.events END AS rank
        FROM family_count c
        JOIN family f ON f.app_id = c.app_id AND f.family = c.family
        WHERE c.app_id = $1::integer AND c.build_id = $2::integer AND c.dim = $3::text
          AND c.value = $4::text
          AND ($5::smallint IS NULL OR f.kind = $5::smallint)
          AND ($6::text IS NULL OR f.class = $6::text)
          AND ($7::text IS NULL OR f.owner = $7::text)
          AND ($8::boolean OR NOT f.ignored)
          AND c.n_sessions >= $9::bigint
          AND ($14::bytea[] IS NULL OR c.family = ANY ($14::bytea[]))) AS ranked
    WHERE $11::bigint IS NULL OR rank < $11::bigint OR (rank = $11::bigint AND family > $12::bytea)
    ORDER BY rank DESC, family
    LIMIT $13::bigint)
SELECT p.family AS id, CASE p.kind WHEN 0 THEN 'jank' ELSE 'crash' END AS kind, p.class, p.title,
       nullif(p.owner, '') AS owner, p.ignored, p.provisional, p.stacks, p.events,
       p.n_sessions AS sessions, p.n_installs AS installs, p.jank_us / 1000 AS jank_ms,
       p.first_day::text AS first_day, p.last_day::text AS last_day, p.hash AS stack,
       b.first_build::text AS first_build_json, b.last_build::text AS last_build_json,
       coalesce((SELECT json_build_object('id', t.external_id, 'url', t.url, 'state', t.state)
                 FROM ticket t
                 WHERE t.app_id = $1::integer AND t.key = encode(p.family, 'hex')
                 ORDER BY t.external_id = '', t.ticket_id LIMIT 1), 'null')::text AS ticket_json,
       p.rank
FROM page p
CROSS JOIN LATERAL (
    SELECT (array_agg(o ORDER BY code, id))[1] AS first_build,
           (array_agg(o ORDER BY code DESC, id DESC))[1] AS last_build
    FROM (SELECT b.version_code AS code, b.build_id AS id,
                 json_build_object('id', b.build_id, 'platform', b.platform,
                                   'version_name', b.version_name,
                                   'version_code', b.version_code) AS o
          FROM family_count c JOIN build b ON b.build_id = c.build_id
          WHERE c.app_id = $1::integer AND c.family = p.family AND c.dim = 'all'
            AND c.build_id <> 0) AS builds) b
ORDER BY p.rank DESC, p.family
