UPDATE family_edit SET undone_at = now(), undone_by = $3::text
WHERE app_id = $1::integer AND edit_id = $2::bigint AND undone_at IS NULL
