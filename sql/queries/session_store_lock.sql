-- First of a job's transaction. What it commits can be computed again, and the job's own deletion is
-- in it: the commit need not wait for the disk.
SELECT session_lock($1::integer, $2::uuid), set_config('synchronous_commit', 'off', true)
