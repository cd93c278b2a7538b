-- The next sessions to be measured against the expectation of build $1, at most $2.
SELECT s.shard::bigint AS shard, s.session_id,
       (extract(epoch FROM s.received_at) * 1000000)::bigint AS received_us
FROM expectation e
JOIN session s ON s.build_id = CASE e.phase WHEN 'own' THEN e.build_id ELSE e.baseline_id END
WHERE e.build_id = $1::integer AND s.state = 'final' AND s.contribution <> ''
  AND (e.phase = 'own' OR s.received_at >= e.base_from)
  AND s.received_at >= e.placed_at AND (s.received_at, s.session_id) > (e.placed_at, e.placed_id)
ORDER BY s.received_at, s.session_id
LIMIT $2::bigint
