-- Examples of sessions of more than $1 days ago, at most $2.
DELETE FROM stack_example WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM stack_example WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer))
