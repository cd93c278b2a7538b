-- How many posted crashes of a session are kept, and whether this one is among them.
SELECT count(*) AS n, coalesce(bool_or(crash_id = $3::uuid), false) AS known
FROM crash
WHERE shard = $1::integer AND session_id = $2::uuid AND source = 'posted'
