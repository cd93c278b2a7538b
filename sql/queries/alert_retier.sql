-- The tiers of app $1 are others from now on: what alerts remember of the ones before is forgotten, and
-- those that were told of are over. Their ids.
WITH mine AS MATERIALIZED (
    SELECT alert_id, state IN ('open', 'updated', 'acknowledged', 'silenced') AS live
    FROM alert WHERE app_id = $1::integer
    ORDER BY build_id, tier, scene, metric
    FOR UPDATE),
forgotten AS (
    UPDATE alert a
    SET level = 'none', reason = 'too_few_sessions', ln_e_worse = -1e300, ln_e_better = -1e300,
        ln_e_pairs = -1e300, silenced_until = NULL,
        state = CASE WHEN m.live THEN 'resolved' ELSE a.state END,
        version = a.version + CASE WHEN m.live THEN 1 ELSE 0 END,
        resolved_at = CASE WHEN m.live THEN now() ELSE a.resolved_at END, looked_at = now()
    FROM mine m WHERE a.alert_id = m.alert_id
    RETURNING a.alert_id, m.live)
SELECT alert_id FROM forgotten WHERE live ORDER BY alert_id
