-- Whether session $1, $2 (locked) had no part for $3 ms, with $4 ms added to the clock, and when it
-- will (us since 1970).
SELECT last_part_at + $3::bigint * interval '1 ms' <= now() + $4::bigint * interval '1 ms' AS due,
       (extract(epoch FROM last_part_at + $3::bigint * interval '1 ms') * 1000000)::bigint AS due_us
FROM session
WHERE shard = $1::integer AND session_id = $2::uuid
