DELETE FROM quarantine
WHERE (app_id, source, reason, ref) IN (
    SELECT app_id, source, reason, ref FROM quarantine
    WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED)
