-- Held until the transaction ends: one at a time changes what is kept of this session.
SELECT session_lock($1::integer, $2::uuid)
