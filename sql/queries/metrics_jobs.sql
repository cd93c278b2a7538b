-- The queue as /metrics shows it; the kinds that every server has are there with zeros.
SELECT k.kind,
       count(*) FILTER (WHERE j.state = 'ready') AS ready,
       count(*) FILTER (WHERE j.state = 'running') AS running,
       count(*) FILTER (WHERE j.state = 'dead') AS dead,
       coalesce(extract(epoch FROM now() - min(j.run_after)
                FILTER (WHERE j.state = 'ready' AND j.run_after <= now())), 0)::float8
           AS oldest_due_s
FROM (VALUES ('part'), ('finish') UNION SELECT kind FROM job) AS k (kind)
LEFT JOIN job j ON j.kind = k.kind
GROUP BY k.kind
ORDER BY k.kind
