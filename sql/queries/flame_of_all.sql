-- The same over all builds.
SELECT array_to_string(f.folded, chr(30)) AS folded, t.events, t.jank_us
FROM ((SELECT hash, kind, folded FROM stack_family
       WHERE $3::bytea IS NULL AND app_id = $1::integer AND kind = $2::smallint
       ORDER BY events DESC, hash
       LIMIT $4::bigint)
      UNION ALL
      (SELECT hash, kind, folded FROM stack_family
       WHERE app_id = $1::integer AND family = $3::bytea AND kind = $2::smallint
       ORDER BY events DESC, hash
       LIMIT $4::bigint)) AS f
CROSS JOIN LATERAL (
    SELECT sum(events)::bigint AS events, sum(jank_us)::bigint AS jank_us FROM stack_total
    WHERE app_id = $1::integer AND hash = f.hash AND kind = f.kind) t
WHERE t.events IS NOT NULL
