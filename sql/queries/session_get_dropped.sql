SELECT coalesce((detail ->> 'events_dropped')::bigint, 0) AS dropped
FROM session
WHERE shard = $1::integer AND session_id = $2::uuid AND app_id = $3::integer
