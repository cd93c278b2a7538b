DELETE FROM stack_total
WHERE app_id = $1::integer AND hash = ANY ($2::bytea[]) AND events = 0
