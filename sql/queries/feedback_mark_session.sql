UPDATE session SET has_feedback = true
WHERE shard = $1::integer AND session_id = $2::uuid AND NOT has_feedback
