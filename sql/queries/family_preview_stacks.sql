-- The $2 stacks of an app with most events, those first.
SELECT hash, kind::bigint AS kind
FROM ((SELECT hash, kind, events FROM stack_family
       WHERE app_id = $1::integer AND kind = 0
       ORDER BY events DESC, hash
       LIMIT $2::bigint)
      UNION ALL
      (SELECT hash, kind, events FROM stack_family
       WHERE app_id = $1::integer AND kind = 1
       ORDER BY events DESC, hash
       LIMIT $2::bigint)) AS k
ORDER BY events DESC, hash, kind
LIMIT $2::bigint
