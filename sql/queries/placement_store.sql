-- Where a session is counted by now, and what it counts.
UPDATE session SET tier = $3::smallint, contribution = $4::bytea
WHERE shard = $1::integer AND session_id = $2::uuid
