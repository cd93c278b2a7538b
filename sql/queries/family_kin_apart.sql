-- Merges of kin that people undid: never to be made again.
SELECT DISTINCT family, target FROM family_edit
WHERE app_id = $1::integer AND by_kin IS NOT NULL AND undone_at IS NOT NULL AND NOT withdrawn
ORDER BY family, target
