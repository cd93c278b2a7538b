-- How many posted pieces of feedback a session has, and whether this one is among them.
SELECT count(*) AS n, coalesce(bool_or(feedback_id = $3::uuid), false) AS known
FROM feedback
WHERE shard = $1::integer AND session_id = $2::uuid AND source = 'posted'
