-- Day partitions past their time: uploaded bytes of more than $1 days ago, events of more than $2.
-- state: 'attached', 'pending' (a detach that was cut short) or 'detached' (one that was not dropped).
SELECT d.name, d.parent,
       CASE WHEN i.inhrelid IS NULL THEN 'detached' WHEN i.inhdetachpending THEN 'pending'
            ELSE 'attached' END AS state
FROM (SELECT c.oid, c.relname::text AS name, m[1] AS parent, to_date(m[2], 'YYYYMMDD') AS day
      FROM pg_class c,
           regexp_match(c.relname, '^(upload_chunk|jank_event|crash|feedback)_(\d{8})$') AS m
      WHERE m IS NOT NULL AND c.relkind = 'r' AND pg_table_is_visible(c.oid)) AS d
LEFT JOIN pg_inherits i ON i.inhrelid = d.oid
WHERE d.day < (now() AT TIME ZONE 'UTC')::date
              - CASE WHEN d.parent = 'upload_chunk' THEN $1::integer ELSE $2::integer END
ORDER BY d.name
