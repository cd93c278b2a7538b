-- Up to episode $2 ticket $1 was reopened, or was open: it is open now, whatever comes of the next steps.
UPDATE ticket
SET filed_episode = greatest(filed_episode, $2::bigint), state = 'open', updated_at = now()
WHERE ticket_id = $1::bigint
