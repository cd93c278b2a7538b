-- Requests of more than $1 days ago: whatever could still arrive has. At most $2.
DELETE FROM erasure
WHERE (app_id, install_hash) IN (
    SELECT app_id, install_hash FROM erasure
    WHERE asked_at < now() - $1::integer * interval '1 day'
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED)
