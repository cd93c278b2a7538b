-- Returns when the transactions have ended that counted on this job.
SELECT families_wait($1::integer)
