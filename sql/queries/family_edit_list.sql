-- Merges and splits, newest first; $2 one alone, $5 of one family: it, or others merged into it.
SELECT edit_id AS id, kind, family, target, depth::bigint AS depth, by_kin,
       lost, actor, note,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
       to_char(undone_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS undone_at,
       undone_by
FROM family_edit
WHERE app_id = $1::integer AND ($2::bigint IS NULL OR edit_id = $2::bigint)
  AND ($3::bigint IS NULL OR edit_id < $3::bigint)
  AND ($5::bytea IS NULL OR family = $5::bytea OR target = $5::bytea)
ORDER BY edit_id DESC
LIMIT $4::bigint
