-- Takes the channel that waited longest and has something to send: $1 ms added to the clock, $2 ms of
-- lease. One sender at a time has a channel, so what it sends stays in order.
WITH moment AS (SELECT now() + $1::bigint * interval '1 ms' AS at),
due AS MATERIALIZED (
    SELECT c.channel_id
    FROM channel c, moment
    WHERE c.deleted_at IS NULL AND c.open_at <= at
      AND (c.lease_until IS NULL OR c.lease_until < at)
      AND (EXISTS (SELECT FROM delivery d
                   WHERE d.channel_id = c.channel_id AND d.next_at <= at
                     AND (c.enabled OR d.kind = 'test')
                     AND (d.kind NOT IN ('alert', 'report') OR d.sends > 0
                          OR channel_quiet_until(c, d.severity, at) IS NULL))
           OR (c.enabled AND EXISTS (SELECT FROM ticket t
                                     WHERE t.channel_id = c.channel_id AND t.look_at <= at)))
    ORDER BY c.open_at
    LIMIT 1
    FOR UPDATE OF c SKIP LOCKED)
UPDATE channel c
SET lease = c.lease + 1, lease_until = at + $2::bigint * interval '1 ms'
FROM due, moment, app a
WHERE c.channel_id = due.channel_id AND a.app_id = c.app_id
RETURNING c.channel_id, c.app_id, c.kind, c.name, a.name AS app, c.settings::text AS settings,
          c.target, c.secrets, c.lease, c.failures,
          (extract(epoch FROM at) * 1000000)::bigint AS now_us
