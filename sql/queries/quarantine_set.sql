-- What is refused or invalid of one thing, as counted now: set, never added. Reasons of $5 that no
-- longer hold go away. $6, $7, $8: reasons that hold, their counts and details.
WITH gone AS (
    DELETE FROM quarantine
    WHERE app_id = $1::integer AND source = $2::text AND ref = $3::uuid
      AND reason = ANY ($5::text[]) AND NOT reason = ANY ($6::text[]))
INSERT INTO quarantine (app_id, source, ref, day, reason, count, detail)
SELECT $1::integer, $2::text, $3::uuid, DATE '2000-01-01' + $4::integer, q.reason, q.count, q.detail
FROM unnest($6::text[], $7::bigint[], $8::text[]) AS q (reason, count, detail)
ON CONFLICT (app_id, source, reason, ref) DO UPDATE
SET count = excluded.count, detail = excluded.detail, day = excluded.day
