-- Not yet: ready again at $3 (us since 1970), as if never tried.
UPDATE job
SET state = 'ready', attempts = 0, lease_until = NULL,
    run_after = timestamptz 'epoch' + $3::bigint * interval '1 us'
WHERE job_id = $1::bigint AND state = 'running' AND attempts = $2::integer
