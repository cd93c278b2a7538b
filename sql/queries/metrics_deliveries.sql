-- The outbox as /metrics shows it, over all apps, by kind of channel.
SELECT c.kind AS via,
       count(*) FILTER (WHERE d.state IN ('pending', 'sending')) AS waiting,
       count(*) FILTER (WHERE d.state = 'dead') AS dead,
       coalesce(extract(epoch FROM now() - min(d.next_at)
                FILTER (WHERE d.state IN ('pending', 'sending') AND d.next_at <= now())), 0)::float8
           AS oldest_due_s
FROM delivery d JOIN channel c USING (channel_id)
WHERE d.state IN ('pending', 'sending', 'dead')
GROUP BY c.kind
ORDER BY c.kind
