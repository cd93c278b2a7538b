-- Work on the tickets of key $2 in app $1 that are not as they are wanted, or have a comment to be
-- said; one delivery a version of ticket and comments.
INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, next_at)
SELECT t.app_id, t.channel_id, 'ticket', t.key, t.wanted_version,
       json_build_object('title', t.wanted::json ->> 'title')::text, now()
FROM ticket t JOIN channel c USING (channel_id)
WHERE t.app_id = $1::integer AND t.key = $2::text AND c.enabled AND c.deleted_at IS NULL
  AND t.filed_version < t.wanted_version
ON CONFLICT (channel_id, kind, subject, version) DO NOTHING
