-- Families as their largest stack and their days say.
INSERT INTO family (app_id, family, kind, class, title, owner, ignored, provisional, hash, stacks,
                    first_day, last_day)
SELECT $1::integer, t.family, l.kind, l.class, l.title, l.owner, l.ignored, l.provisional, l.hash,
       n.stacks, d.first_day, d.last_day
FROM (SELECT DISTINCT family FROM unnest($2::bytea[]) AS u (family)) AS t
CROSS JOIN LATERAL (
    SELECT kind, class, title, owner, ignored, provisional, hash FROM stack_family
    WHERE app_id = $1::integer AND family = t.family
    ORDER BY events DESC, hash
    LIMIT 1) l
CROSS JOIN LATERAL (
    SELECT count(*) AS stacks FROM stack_family
    WHERE app_id = $1::integer AND family = t.family) n
CROSS JOIN LATERAL (
    SELECT min(value)::date AS first_day, max(value)::date AS last_day FROM family_count
    WHERE app_id = $1::integer AND family = t.family AND dim = 'day' AND build_id = 0) d
WHERE d.first_day IS NOT NULL
ON CONFLICT (app_id, family) DO UPDATE
SET kind = excluded.kind, class = excluded.class, title = excluded.title, owner = excluded.owner,
    ignored = excluded.ignored, provisional = excluded.provisional, hash = excluded.hash,
    stacks = excluded.stacks, first_day = excluded.first_day, last_day = excluded.last_day
