-- Windows of steps before a family's janks (bounded: of its $4 largest stacks, $5 of each), one a
-- session and scene; of build $3 alone if it is given.
SELECT DISTINCT ON (e.shard, e.session_id, e.scene)
       e.scene, array_to_string(e.steps, chr(30)) AS steps
FROM (SELECT hash, kind FROM stack_family WHERE app_id = $1::integer AND family = $2::bytea
      ORDER BY events DESC, hash LIMIT $4::bigint) AS k
CROSS JOIN LATERAL (
    SELECT * FROM stack_example x
    WHERE x.app_id = $1::integer AND x.hash = k.hash AND x.kind = k.kind
      AND ($3::integer IS NULL OR x.build_id = $3::integer)
    ORDER BY x.build_id DESC, x.priority
    LIMIT $5::bigint) e
WHERE e.steps IS NOT NULL
ORDER BY e.shard, e.session_id, e.scene, e.start_us
