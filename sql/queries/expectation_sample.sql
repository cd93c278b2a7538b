-- Counted sessions of build $1, the latest first, after the one of ($2 us since 1970, $3).
SELECT session_id, model_id, tier::bigint AS tier, contribution,
       (extract(epoch FROM received_at) * 1000000)::bigint AS received_us
FROM session
WHERE build_id = $1::integer AND state = 'final' AND NOT excluded AND contribution <> ''
  AND received_at <= timestamptz 'epoch' + $2::bigint * interval '1 us'
  AND (received_at, session_id) < (timestamptz 'epoch' + $2::bigint * interval '1 us', $3::uuid)
ORDER BY received_at DESC, session_id DESC
LIMIT $4::bigint
