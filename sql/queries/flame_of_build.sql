-- Stacks of a build with most events first, as a flame graph shows them (names with chr(30) between
-- them); of family $4 alone if it is given, then of its largest stacks in all builds, four times as
-- many as are wanted. Each stack is looked up by itself: for a join of the tables the planner, which
-- does not know $4, may compare each stack of one with each of the other.
WITH picked AS (
    (SELECT t.hash, t.kind, t.events, t.jank_us FROM stack_total t
     WHERE $4::bytea IS NULL AND t.app_id = $1::integer AND t.build_id = $2::integer
       AND t.kind = $3::smallint
     ORDER BY t.events DESC, t.hash
     LIMIT $5::bigint)
    UNION ALL
    (SELECT t.hash, t.kind, t.events, t.jank_us
     FROM (SELECT hash, kind FROM stack_family
           WHERE app_id = $1::integer AND family = $4::bytea AND kind = $3::smallint
           ORDER BY events DESC, hash
           LIMIT 4 * $5::bigint) AS k
     CROSS JOIN LATERAL (
         SELECT * FROM stack_total x
         WHERE x.app_id = $1::integer AND x.build_id = $2::integer AND x.hash = k.hash
           AND x.kind = k.kind
         OFFSET 0) t
     ORDER BY t.events DESC, t.hash
     LIMIT $5::bigint))
SELECT array_to_string(f.folded, chr(30)) AS folded, p.events, p.jank_us
FROM picked p
CROSS JOIN LATERAL (
    SELECT folded FROM stack_family x
    WHERE x.app_id = $1::integer AND x.hash = p.hash AND x.kind = p.kind
    OFFSET 0) f
ORDER BY p.events DESC, p.hash
