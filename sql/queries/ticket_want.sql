-- What ticket $2 of app $1 is to be, in each of its trackers: $3 marker, $4 text (JSON), $5 its hash,
-- $6 episode. `version` of those that changed by it.
INSERT INTO ticket AS t (app_id, channel_id, key, marker, wanted, wanted_hash, episode)
SELECT c.app_id, c.channel_id, $2::text, $3::text, $4::text, $5::bytea, $6::bigint
FROM channel c
WHERE c.app_id = $1::integer AND c.takes = 'ticket' AND c.enabled AND c.deleted_at IS NULL
ORDER BY c.channel_id
ON CONFLICT (channel_id, key) DO UPDATE
SET wanted = excluded.wanted, wanted_hash = excluded.wanted_hash,
    episode = greatest(t.episode, excluded.episode),
    wanted_version = t.wanted_version + 1, updated_at = now()
WHERE t.wanted_hash <> excluded.wanted_hash OR t.episode < excluded.episode
