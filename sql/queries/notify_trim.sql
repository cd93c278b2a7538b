-- The log forgets what is over and older than $1 days.
DELETE FROM delivery
WHERE created_at < now() - $1::bigint * interval '1 day' AND next_at IS NULL AND state <> 'sending'
