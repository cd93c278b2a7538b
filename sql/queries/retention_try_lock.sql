-- Until retention_unlock, or the end of the connection.
SELECT pg_try_advisory_lock(hashtext('framewatch.maintenance')) AS locked
