-- Where a slice stands after a look. $6: level, $7 reason, $8 state, $9 version; $19: ms added to the
-- clock. Who looked after an alert that was over did not say so of the one that opens again.
INSERT INTO alert AS a (app_id, build_id, baseline_id, tier, scene, metric, level, reason, state,
                        version, ln_e_worse, ln_e_better, ln_e_pairs, change, low, high, told_change,
                        sessions, evidence, opened_at, resolved_at, looked_at)
SELECT $1::integer, $2::integer, $3::integer, $4::smallint, $5::text, $20::text, $6::text, $7::text,
       $8::text, $9::bigint, $10::text::float8, $11::text::float8, $12::text::float8,
       $13::text::float8, $14::text::float8, $15::text::float8, $16::text::float8, $17::bigint,
       $18::jsonb, CASE WHEN $8::text = 'open' THEN c.at END,
       CASE WHEN $8::text = 'resolved' THEN c.at END, c.at
FROM (SELECT now() + $19::bigint * interval '1 ms' AS at) c
ON CONFLICT (build_id, tier, scene, metric) DO UPDATE
SET level = excluded.level, reason = excluded.reason, state = excluded.state,
    version = excluded.version, ln_e_worse = excluded.ln_e_worse,
    ln_e_better = excluded.ln_e_better, ln_e_pairs = excluded.ln_e_pairs,
    change = excluded.change, low = excluded.low, high = excluded.high,
    told_change = coalesce(excluded.told_change, a.told_change), sessions = excluded.sessions,
    evidence = excluded.evidence, looked_at = excluded.looked_at,
    opened_at = CASE WHEN excluded.state = 'open' AND a.state NOT IN ('open', 'silenced')
                     THEN excluded.looked_at ELSE a.opened_at END,
    acknowledged_by = CASE WHEN excluded.state = 'open' AND a.state NOT IN ('open', 'silenced')
                           THEN '' ELSE a.acknowledged_by END,
    note = CASE WHEN excluded.state = 'open' AND a.state NOT IN ('open', 'silenced')
                THEN '' ELSE a.note END,
    resolved_at = CASE WHEN excluded.state = 'resolved' AND a.state <> 'resolved'
                       THEN excluded.looked_at
                       WHEN excluded.state = 'resolved' THEN a.resolved_at END
RETURNING alert_id
