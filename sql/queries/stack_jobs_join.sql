-- Takes over what other jobs 'stacks' of the app wait to do. Such a job was committed with its stacks: who
-- reads all that are unread after this statement, in the same transaction, reads theirs. Looked for
-- among the $2 jobs of the app that are next, in the order in which they are claimed.
DELETE FROM job
WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM job
    WHERE job_id = ANY (ARRAY(
              SELECT job_id FROM job
              WHERE app_id = $1::integer AND state <> 'dead'
              ORDER BY run_after
              LIMIT $2::bigint))
      AND kind = 'stacks' AND state = 'ready'
    FOR UPDATE SKIP LOCKED))
