-- Up to episode $2 ticket $1 was reopened, or was open.
UPDATE ticket
SET filed_episode = greatest(filed_episode, $2::bigint), updated_at = now()
WHERE ticket_id = $1::bigint
