-- Installs whose data are to be deleted: what a player asked for. Maintenance deletes what there is and what
-- arrives late, as long as the request stands here.
CREATE TABLE erasure (
    app_id       integer     NOT NULL REFERENCES app,
    install_hash bytea       NOT NULL,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, install_hash)
);
