-- Windows of steps of sessions of more than $1 days ago, at most $2.
DELETE FROM clean_window WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM clean_window WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer))
