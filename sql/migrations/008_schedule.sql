-- When work that recurs was last put into the queue, an app and kind of job (server/jobs/schedule.h).
CREATE TABLE schedule_run (
    app_id    integer NOT NULL REFERENCES app,
    kind      text    NOT NULL,
    queued_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, kind)
);
