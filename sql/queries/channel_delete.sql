-- The row stays for the log of deliveries; its secrets do not, and what waits is not sent.
WITH gone AS (
    UPDATE channel
    SET deleted_at = now(), enabled = false, secrets = '', secret_names = '{}'
    WHERE app_id = $1::integer AND channel_id = $2::bigint AND deleted_at IS NULL
    RETURNING channel_id),
stopped AS (
    UPDATE delivery d
    SET state = CASE WHEN d.sends > 0 THEN d.state ELSE 'suppressed' END, next_at = NULL,
        last_error = CASE WHEN d.sends > 0 THEN d.last_error ELSE 'its channel was deleted' END
    FROM gone
    WHERE d.channel_id = gone.channel_id AND d.next_at IS NOT NULL),
unlooked AS (
    UPDATE ticket t SET look_at = NULL FROM gone WHERE t.channel_id = gone.channel_id)
SELECT channel_id AS id FROM gone
