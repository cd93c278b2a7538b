-- What is due on channel $1 ($2 ms added to the clock) and was overtaken by a newer version is not
-- told any more.
UPDATE delivery d
SET next_at = NULL,
    state = CASE WHEN d.sends > 0 THEN d.state ELSE 'suppressed' END,
    last_error = CASE WHEN d.sends > 0 THEN d.last_error ELSE 'a newer version is told in its place' END
WHERE d.channel_id = $1::integer AND d.next_at <= now() + $2::bigint * interval '1 ms'
  AND d.kind <> 'test'
  AND EXISTS (SELECT FROM delivery n
              WHERE n.channel_id = d.channel_id AND n.kind = d.kind AND n.subject = d.subject
                AND n.version > d.version)
