-- The families to file: the $2 that most sessions of the last $3 days show, above the rate threshold
-- (per million, $4). Those that were chosen before stay. What the ticket of a family merged into it
-- tells of already is not filed again. Nothing without a bug tracker.
WITH recent AS (
    SELECT family, sum(n_sessions) AS sessions FROM family_count
    WHERE app_id = $1::integer AND build_id = 0 AND dim = 'day'
      AND value >= ((now() AT TIME ZONE 'UTC')::date - $3::integer)::text
    GROUP BY family),
base AS (
    SELECT sessions FROM recent WHERE family = '\x00000000000000000000000000000000'),
top AS (
    SELECT r.family
    FROM recent r
    CROSS JOIN base
    JOIN family f ON f.app_id = $1::integer AND f.family = r.family
    WHERE f.class = 'in_app' AND NOT f.ignored
      AND r.sessions * 1000000 >= base.sessions * $4::bigint
      AND EXISTS (SELECT FROM channel WHERE app_id = $1::integer AND takes = 'ticket' AND enabled
                  AND deleted_at IS NULL)
    ORDER BY r.sessions DESC, r.family
    LIMIT $2::bigint)
INSERT INTO family_ticket (app_id, family)
SELECT $1::integer, t.family FROM top t
WHERE NOT EXISTS (SELECT FROM family_tickets($1::integer) x WHERE x.at = t.family)
ORDER BY t.family
ON CONFLICT DO NOTHING
