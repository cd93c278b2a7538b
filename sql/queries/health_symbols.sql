-- Events of the largest stacks of build $2 of app $1, and those whose stack cannot be read whole.
SELECT coalesce(sum(t.events), 0)::bigint AS events,
       coalesce(sum(t.events) FILTER (WHERE s.state <> 'symbolicated'), 0)::bigint AS unread
FROM (SELECT hash, events FROM stack_total
      WHERE app_id = $1::integer AND build_id = $2::integer AND kind = 0
      ORDER BY events DESC, hash LIMIT 2000) t
JOIN stack s ON s.app_id = $1::integer AND s.hash = t.hash
