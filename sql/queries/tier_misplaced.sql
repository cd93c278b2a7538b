-- Counted sessions of app $1 that stand in another tier than their model does, at most $2.
SELECT s.shard, s.session_id AS id
FROM device_model m
CROSS JOIN LATERAL (
    SELECT shard::bigint AS shard, session_id FROM session
    WHERE model_id = m.model_id AND (tier < m.tier OR tier > m.tier) AND state = 'final'
      AND contribution <> ''
    LIMIT $2::bigint) s
WHERE m.app_id = $1::integer
LIMIT $2::bigint
