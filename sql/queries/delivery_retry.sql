-- A dead delivery is due again, with all its attempts before it; its channel is tried at once.
WITH again AS (
    UPDATE delivery d
    SET state = CASE WHEN d.sends > 0 THEN 'sent' ELSE 'pending' END, attempts = 0, next_at = now()
    FROM channel c
    WHERE d.app_id = $1::integer AND d.delivery_id = $2::bigint AND d.state = 'dead'
      AND c.channel_id = d.channel_id AND c.deleted_at IS NULL
    RETURNING d.channel_id),
opened AS (
    UPDATE channel c SET open_at = least(c.open_at, now()), failures = 0
    FROM again WHERE c.channel_id = again.channel_id)
SELECT channel_id AS id FROM again
