-- Ends a login before its time. Those past their end need no row: their cookies say so themselves.
WITH past AS (
    DELETE FROM logout WHERE ends_at < now()
)
INSERT INTO logout (login_id, ends_at)
VALUES ($1::bytea, to_timestamp($2::bigint))
ON CONFLICT DO NOTHING
