-- A stack that no session counts under any more is of no family.
DELETE FROM stack_family
WHERE app_id = $1::integer AND hash = ANY ($2::bytea[]) AND events = 0
