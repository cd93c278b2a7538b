-- What was refused or invalid since $2, by source and reason, with the latest things it befell.
SELECT q.source, q.reason, sum(q.count)::bigint AS count, count(*) AS things,
       to_char(max(q.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_at,
       (SELECT json_agg(json_build_object(
                   'ref', replace(n.ref::text, '-', ''), 'count', n.count, 'detail', n.detail,
                   'at', to_char(n.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
        FROM (SELECT l.ref, l.count, l.detail, l.at
              FROM quarantine l
              WHERE l.app_id = $1::integer AND l.source = q.source AND l.reason = q.reason
              ORDER BY l.at DESC, l.ref
              LIMIT $4::bigint) n)::text AS recent_json
FROM quarantine q
WHERE q.app_id = $1::integer
  AND q.at >= timestamptz 'epoch' + $2::bigint * interval '1 microsecond'
  AND ($3::text IS NULL OR q.source = $3::text)
GROUP BY q.source, q.reason
ORDER BY q.source, q.reason
