-- What the API asks for beyond the keys: rare properties of sessions, slow sessions, dead jobs.
-- The partial indexes hold the few rows that have the property, in the order of the list.
CREATE INDEX session_crashed ON session (app_id, received_at DESC, session_id) WHERE has_crash;
CREATE INDEX session_spoken ON session (app_id, received_at DESC, session_id) WHERE has_feedback;
CREATE INDEX session_flagged ON session (app_id, received_at DESC, session_id)
    WHERE environment <> 0;
CREATE INDEX session_excluded ON session (app_id, received_at DESC, session_id) WHERE excluded;
CREATE INDEX session_open ON session (app_id, received_at DESC, session_id) WHERE state = 'open';
CREATE INDEX session_by_p90 ON session (app_id, p90_us);
CREATE INDEX job_dead ON job (app_id, job_id DESC) WHERE state = 'dead';
