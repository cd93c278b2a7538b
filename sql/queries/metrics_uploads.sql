-- Uploads begun and not complete, and what they hold.
SELECT count(*) AS open, coalesce(sum(at), 0)::bigint AS bytes
FROM upload
WHERE state = 'open'
