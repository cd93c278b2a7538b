-- What the analysis worker needs beside the core tables.

-- Serializes all who change one session, before its row exists too. Held until the transaction ends.
CREATE FUNCTION session_lock(shard integer, session_id uuid) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(session_id::text, shard));
$$;

-- Whether crashes or feedback were posted to a session: crash and feedback are cut into days, and a
-- session that is analysed anew must not look through all of them. Kept by triggers.
CREATE TABLE session_posted (
    shard      integer NOT NULL,
    session_id uuid    NOT NULL,
    crash      boolean NOT NULL,
    feedback   boolean NOT NULL,
    day        date    NOT NULL, -- of the latest post
    PRIMARY KEY (shard, session_id)
);
CREATE INDEX session_posted_day ON session_posted (day);

CREATE FUNCTION note_posted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM session_lock(NEW.shard, NEW.session_id);
    INSERT INTO session_posted AS p (shard, session_id, crash, feedback, day)
    VALUES (NEW.shard, NEW.session_id, TG_ARGV[0] = 'crash', TG_ARGV[0] = 'feedback', NEW.day)
    ON CONFLICT (shard, session_id) DO UPDATE
    SET crash = p.crash OR excluded.crash, feedback = p.feedback OR excluded.feedback,
        day = greatest(p.day, excluded.day);
    RETURN NULL;
END $$;

CREATE TRIGGER crash_posted AFTER INSERT ON crash
    FOR EACH ROW WHEN (NEW.source = 'posted') EXECUTE FUNCTION note_posted('crash');
CREATE TRIGGER feedback_posted AFTER INSERT ON feedback
    FOR EACH ROW WHEN (NEW.source = 'posted') EXECUTE FUNCTION note_posted('feedback');

-- Rows that are updated over and over: room for a new version beside the old one.
ALTER TABLE frame_rollup SET (fillfactor = 60);
ALTER TABLE model_rollup SET (fillfactor = 60);
ALTER TABLE session SET (fillfactor = 80);
-- The queue lives by insert and delete: its dead rows must go soon.
ALTER TABLE job SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
                     autovacuum_vacuum_cost_delay = 0);

-- The first so many files of a session, by part number and SHA-256, are in it; the others are past
-- what one session may hold.
ALTER TABLE session ADD files integer NOT NULL DEFAULT 0;
