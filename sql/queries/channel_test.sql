-- A test message on channel $2 of app $1, due at once.
INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, next_at)
SELECT app_id, channel_id, 'test', gen_random_uuid()::text, 1, $3::text, now()
FROM channel
WHERE app_id = $1::integer AND channel_id = $2::bigint AND deleted_at IS NULL
RETURNING delivery_id AS id
