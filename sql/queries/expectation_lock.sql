-- No session of build $1 is being counted from now to the end of the transaction.
SELECT build_lock($1::integer)::text AS locked
