-- Nobody else changes the cuts or tiers of app $1's models, and no look at its alerts is under way, to
-- the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('framewatch.tiers', $1::integer))::text AS locked
