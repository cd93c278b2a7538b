-- A report $2, version $3, body $4, to each channel of app $1 that wants reports.
INSERT INTO delivery (app_id, channel_id, kind, subject, version, body, next_at)
SELECT c.app_id, c.channel_id, 'report', $2::text, $3::bigint, $4::text,
       coalesce(channel_quiet_until(c, 0::smallint, now()), now())
FROM channel c
WHERE c.app_id = $1::integer AND c.takes = 'alert' AND c.reports AND c.kind <> 'alertmanager'
  AND c.enabled AND c.deleted_at IS NULL
ON CONFLICT (channel_id, kind, subject, version) DO NOTHING
