-- First of a transaction that counts sessions of shard $1 anew; locked in the order given. As for one
-- session (session_store_lock), the commit need not wait for the disk.
SELECT session_lock($1::integer, k.session_id), set_config('synchronous_commit', 'off', true)
FROM unnest($2::uuid[]) AS k (session_id)
