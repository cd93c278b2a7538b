-- Merges and splits in force, one at most of each family.
SELECT edit_id, kind = 'split' AS split, family, target, coalesce(depth, 0)::bigint AS depth,
       coalesce(by_kin, '') AS by_kin, lost
FROM family_edit
WHERE app_id = $1::integer AND undone_at IS NULL
ORDER BY family
