-- Stacks as they are grouped now and as they read, in the order of their keys. Each is looked up by
-- itself: sorted and limited here, all of an app's would be written out as text for every page.
SELECT f.hash, f.kind::bigint AS kind, f.platform, f.events, f.family, f.title, f.owner, f.class,
       f.ignored, s.symbols::text AS symbols,
       CASE WHEN s.symbols IS NULL THEN s.frames::text END AS frames
FROM unnest($2::bytea[], $3::smallint[]) WITH ORDINALITY AS k (hash, kind, n)
CROSS JOIN LATERAL (
    SELECT * FROM stack_family x
    WHERE x.app_id = $1::integer AND x.hash = k.hash AND x.kind = k.kind
    OFFSET 0) f
CROSS JOIN LATERAL (
    SELECT * FROM stack x
    WHERE x.app_id = $1::integer AND x.hash = k.hash
    OFFSET 0) s
ORDER BY k.n
