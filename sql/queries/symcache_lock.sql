-- One at a time stores symbols of a debug id, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended($2::text, $1::integer))
