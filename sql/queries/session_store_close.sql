UPDATE session SET state = 'final' WHERE shard = $1::integer AND session_id = $2::uuid
