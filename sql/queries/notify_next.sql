-- The delivery of channel $1 that is due longest: $2 ms added to the clock, $3 ms until it is due again
-- if its sender dies, $4 attempts at most. `told` is the version that the channel took last.
WITH moment AS (SELECT now() + $2::bigint * interval '1 ms' AS at),
due AS MATERIALIZED (
    SELECT d.delivery_id
    FROM delivery d JOIN channel c USING (channel_id), moment
    WHERE d.channel_id = $1::integer AND d.next_at <= at
      AND (c.enabled OR d.kind = 'test')
      AND (d.kind NOT IN ('alert', 'report') OR d.sends > 0
           OR channel_quiet_until(c, d.severity, at) IS NULL)
    ORDER BY d.kind <> 'test', d.next_at, d.delivery_id
    LIMIT 1)
UPDATE delivery d
SET state = CASE WHEN d.attempts >= $4::bigint THEN 'dead'
                 WHEN d.sends > 0 THEN d.state ELSE 'sending' END,
    next_at = CASE WHEN d.attempts < $4::bigint THEN at + $3::bigint * interval '1 ms' END,
    attempts = d.attempts + CASE WHEN d.attempts < $4::bigint THEN 1 ELSE 0 END,
    last_error = CASE WHEN d.attempts < $4::bigint OR d.last_error <> '' THEN d.last_error
                      ELSE 'its sender ended or hung, each time' END,
    tried_at = at
FROM due, moment
WHERE d.delivery_id = due.delivery_id
RETURNING d.delivery_id, d.kind, d.subject, d.version, d.body, d.attempts,
          d.next_at IS NULL AS exhausted,
          (SELECT p.body FROM delivery p
           WHERE p.channel_id = d.channel_id AND p.kind = d.kind AND p.subject = d.subject
             AND p.version < d.version AND p.sends > 0
           ORDER BY p.version DESC LIMIT 1) AS told
