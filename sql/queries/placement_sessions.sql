-- Those of some sessions of shard $1 that are counted, and the tier their model has by now; the sessions
-- locked in the order given.
SELECT s.session_id, s.app_id, s.build_id, s.model_id, s.tier::bigint AS was_tier,
       m.tier::bigint AS is_tier, s.day - DATE '2000-01-01' AS day,
       (extract(epoch FROM s.received_at) * 1000000)::bigint AS received_us, s.install_hash,
       s.contribution, s.tally
FROM unnest($2::uuid[]) WITH ORDINALITY AS k (session_id, n)
JOIN session s ON s.shard = $1::integer AND s.session_id = k.session_id
JOIN device_model m USING (model_id)
WHERE s.state = 'final' AND s.contribution <> ''
ORDER BY k.n
FOR UPDATE OF s
