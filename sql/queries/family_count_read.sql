-- What rows of family_count hold, in the order of their keys; zeros where there is none.
SELECT coalesce(c.events, 0) AS events, coalesce(c.jank_us, 0) AS jank_us,
       coalesce(c.sessions, '') AS sessions, coalesce(c.installs, '') AS installs
FROM unnest($2::bytea[], $3::integer[], $4::text[], $5::text[])
     WITH ORDINALITY AS k (family, build_id, dim, value, n)
LEFT JOIN LATERAL (
    SELECT f.events, f.jank_us, f.sessions, f.installs FROM family_count f
    WHERE f.app_id = $1::integer AND f.build_id = k.build_id AND f.dim = k.dim
      AND f.value = k.value AND f.family = k.family
    OFFSET 0) c ON true
ORDER BY k.n
