-- A counted session and the tier its model has by now, the session locked.
SELECT s.app_id, s.build_id, s.model_id, s.tier::bigint AS was_tier, m.tier::bigint AS is_tier,
       s.day - DATE '2000-01-01' AS day,
       (extract(epoch FROM s.received_at) * 1000000)::bigint AS received_us, s.install_hash,
       s.contribution, s.tally
FROM session s JOIN device_model m USING (model_id)
WHERE s.shard = $1::integer AND s.session_id = $2::uuid AND s.state = 'final'
  AND s.contribution <> ''
FOR UPDATE OF s
