-- Jobs are claimed from each app in turn, so an app with a long queue does not hold up the others;
-- and files of one session are analysed together.

ALTER TABLE job ADD session uuid; -- of a file that somebody looked into: the session it is of

DROP INDEX job_due;
CREATE INDEX job_turn ON job (app_id, run_after) WHERE state <> 'dead';
CREATE INDEX job_session ON job (app_id, session) WHERE session IS NOT NULL;
