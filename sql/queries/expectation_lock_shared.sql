-- A session of build $1 is counted: no expectation is frozen meanwhile that concerns it.
SELECT build_lock_shared($1::integer)::text AS locked
