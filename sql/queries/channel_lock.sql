-- What a change of a channel starts from.
SELECT kind, target, secrets
FROM channel
WHERE app_id = $1::integer AND channel_id = $2::bigint AND deleted_at IS NULL
FOR UPDATE
