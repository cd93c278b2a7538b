-- What installs had shown on the baseline when a build's expectation was frozen: their own past is
-- what their sessions are compared with. A sample of them where there are very many.
CREATE TABLE expectation_past (
    build_id     integer  NOT NULL REFERENCES expectation,
    shard        integer  NOT NULL,
    install_hash bytea    NOT NULL,
    tier         smallint NOT NULL,
    sums         bytea    NOT NULL, -- as install_build has them
    PRIMARY KEY (build_id, shard, install_hash, tier)
);
