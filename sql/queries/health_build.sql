-- When build $2 of app $1 ($2 NULL: the latest one with sessions) and its baseline began, and how many
-- whole days ago, at the time plus $3 ms.
WITH chosen AS (
    SELECT b.*, coalesce(b.released_at, b.created_at) AS began FROM build b
    WHERE b.app_id = $1::integer
      AND (b.build_id = $2::bigint
           OR ($2::bigint IS NULL AND EXISTS (SELECT FROM session s WHERE s.build_id = b.build_id)))
    ORDER BY b.registered DESC, b.version_code DESC, b.build_id DESC
    LIMIT 1)
SELECT c.build_id AS id, c.platform, c.version_name, c.version_code,
       to_char(c.began AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS began_at,
       (c.began AT TIME ZONE 'UTC')::date - DATE '2000-01-01' AS began_day,
       greatest(floor(extract(epoch FROM now() + $3::bigint * interval '1 ms' - c.began) / 86400),
                0)::bigint AS days,
       coalesce(o.build_id, 0)::bigint AS baseline_id,
       coalesce((coalesce(o.released_at, o.created_at) AT TIME ZONE 'UTC')::date
                - DATE '2000-01-01', 0)::bigint AS baseline_day
FROM chosen c
LEFT JOIN LATERAL (
    SELECT * FROM build o
    WHERE o.app_id = c.app_id AND o.platform = c.platform AND o.registered
      AND o.version_code < c.version_code
    ORDER BY o.version_code DESC, o.build_id DESC
    LIMIT 1) o ON true
