-- A comment $3 with text $4 on the tickets of key $2 in app $1, once; what is new is a new version.
WITH added AS (
    INSERT INTO ticket_comment (ticket_id, comment_id, body)
    SELECT t.ticket_id, $3::text, $4::text
    FROM ticket t JOIN channel c USING (channel_id)
    WHERE t.app_id = $1::integer AND t.key = $2::text AND c.enabled AND c.deleted_at IS NULL
    ON CONFLICT (ticket_id, comment_id) DO NOTHING
    RETURNING ticket_id)
UPDATE ticket t
SET wanted_version = t.wanted_version + 1, updated_at = now()
FROM added
WHERE t.ticket_id = added.ticket_id
