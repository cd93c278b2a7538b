-- Merges of kin that hold no longer.
UPDATE family_edit SET undone_at = now(), undone_by = 'auto', withdrawn = true
WHERE app_id = $1::integer AND edit_id = ANY ($2::bigint[]) AND undone_at IS NULL
