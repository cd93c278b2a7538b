DELETE FROM crash
WHERE day = DATE '2000-01-01' + $1::integer AND shard = $2::integer AND session_id = $3::uuid
  AND source = 'session'
