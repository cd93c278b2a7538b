-- Ticket $1 was deleted in its tracker. $2: it is to be filed anew.
UPDATE ticket
SET state = CASE WHEN $2::boolean THEN 'wanted' ELSE 'gone' END,
    external_id = CASE WHEN $2::boolean THEN '' ELSE external_id END,
    filed_hash = CASE WHEN $2::boolean THEN ''::bytea ELSE filed_hash END,
    create_tried_at = CASE WHEN $2::boolean THEN NULL ELSE create_tried_at END,
    look_at = NULL, looked_at = now(), updated_at = now()
WHERE ticket_id = $1::bigint
