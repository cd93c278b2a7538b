-- One version of alert $2 (its number as text) to each channel of app $1 that wants it: $3 version,
-- $4 body, $5 severity, $6 tier, $7 metric, $8 state. Who was told of an alert is told of its end too,
-- whatever became of its severity. Alertmanager keeps its own silences and needs every state.
INSERT INTO delivery (app_id, channel_id, kind, subject, version, severity, body, next_at)
SELECT c.app_id, c.channel_id, 'alert', $2::text, $3::bigint, $5::smallint, $4::text,
       coalesce(channel_quiet_until(c, $5::smallint, now()), now())
FROM channel c
WHERE c.app_id = $1::integer AND c.takes = 'alert' AND c.enabled AND c.deleted_at IS NULL
  AND (c.tiers = '{}' OR $6::text = ANY (c.tiers))
  AND (c.metrics = '{}' OR $7::text = ANY (c.metrics))
  AND (c.kind = 'alertmanager' OR $8::text = ANY (c.states))
  AND ($5::smallint >= c.min_severity
       OR EXISTS (SELECT FROM delivery d
                  WHERE d.channel_id = c.channel_id AND d.kind = 'alert' AND d.subject = $2::text
                    AND d.state <> 'suppressed'))
ON CONFLICT (channel_id, kind, subject, version) DO NOTHING
