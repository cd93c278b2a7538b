-- What is in quarantine now, over all apps.
SELECT source, reason, sum(count)::bigint AS count
FROM quarantine
GROUP BY source, reason
ORDER BY source, reason
LIMIT 200
