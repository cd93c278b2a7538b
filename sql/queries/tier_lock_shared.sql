-- The cuts of app $1 and the tiers of its models stay as they are to the end of the transaction.
SELECT pg_advisory_xact_lock_shared(hashtextextended('framewatch.tiers', $1::integer))::text AS locked
