-- The database's clock: answers if it is ready.
SELECT (extract(epoch FROM now()) * 1000)::bigint AS now_ms
