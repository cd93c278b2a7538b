-- What was refused or invalid since $2, by source and reason, with the latest things it befell: of the
-- app's $5 latest things, of whatever source.
WITH latest AS MATERIALIZED (
    SELECT source, reason, ref, count, detail, at
    FROM quarantine
    WHERE app_id = $1::integer AND at >= timestamptz 'epoch' + $2::bigint * interval '1 microsecond'
    ORDER BY at DESC
    LIMIT $5::bigint),
numbered AS (
    SELECT l.*, row_number() OVER (PARTITION BY source, reason ORDER BY at DESC, ref) AS n
    FROM latest l
    WHERE $3::text IS NULL OR source = $3::text)
SELECT source, reason, sum(count)::bigint AS count, count(*) AS things,
       to_char(max(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_at,
       (json_agg(json_build_object(
                'ref', replace(ref::text, '-', ''), 'count', count, 'detail', detail,
                'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
            ORDER BY n) FILTER (WHERE n <= $4::bigint))::text AS recent_json
FROM numbered
GROUP BY source, reason
ORDER BY source, reason
