-- What builds are compared by. Sums over sessions, of each install group (shard): they add, and what
-- was added can be taken back.

-- The expectation of a build: frozen once, from the sessions of its baseline build.
CREATE TABLE expectation (
    build_id    integer PRIMARY KEY REFERENCES build,
    baseline_id integer NOT NULL REFERENCES build,
    app_id      integer NOT NULL REFERENCES app,
    frozen_at   timestamptz NOT NULL, -- sessions of the baseline received from then on stand beside
    base_from   timestamptz NOT NULL, -- older ones of the baseline are not compared with
    sessions    bigint NOT NULL,      -- that it was made from
    -- Progress of placing the sessions that were counted before: first those of the build, then of its
    -- baseline, by (received_at, session_id).
    phase       text NOT NULL DEFAULT 'own' CHECK (phase IN ('own', 'base', 'done')),
    placed_at   timestamptz NOT NULL DEFAULT '-infinity',
    placed_id   uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
CREATE INDEX expectation_baseline ON expectation (baseline_id);
CREATE INDEX expectation_app ON expectation (app_id, build_id);

-- Its sums: over all sessions (kind 0), those of a tier (1), of a device model (2).
CREATE TABLE expectation_cell (
    build_id integer  NOT NULL REFERENCES expectation,
    kind     smallint NOT NULL,
    id       integer  NOT NULL, -- tier or model
    scene    text     NOT NULL,
    sums     bytea    NOT NULL, -- metric_sums_write()
    PRIMARY KEY (build_id, kind, id, scene)
);

-- arm: 0 sessions of the build; 1 of its baseline, received before the expectation was frozen, 2 since
-- then. What they are measured against is always the expectation of build_id.
CREATE TABLE metric_rollup (
    shard    integer  NOT NULL,
    build_id integer  NOT NULL REFERENCES build,
    arm      smallint NOT NULL,
    tier     smallint NOT NULL,
    scene    text     NOT NULL, -- '' = whole sessions
    installs bigint   NOT NULL, -- distinct ones (arm 0)
    sums     bytea    NOT NULL, -- metric_sums_write()
    PRIMARY KEY (shard, build_id, arm, tier, scene)
);
ALTER TABLE metric_rollup SET (fillfactor = 60);

-- What one install showed on one build: each install on two builds is its own control.
CREATE TABLE install_build (
    shard        integer  NOT NULL,
    build_id     integer  NOT NULL REFERENCES build,
    tier         smallint NOT NULL,
    install_hash bytea    NOT NULL,
    sums         bytea    NOT NULL, -- contribution_write(), metric rows alone
    PRIMARY KEY (shard, build_id, tier, install_hash)
);
ALTER TABLE install_build SET (fillfactor = 80);

-- Squares of 2^level game units of a map: how often entered, with a jank meanwhile, and for how long.
CREATE TABLE scene_cell (
    shard    integer  NOT NULL,
    build_id integer  NOT NULL REFERENCES build,
    tier     smallint NOT NULL,
    scene    text     NOT NULL,
    level    smallint NOT NULL,
    x        bigint   NOT NULL,
    y        bigint   NOT NULL,
    visits   bigint   NOT NULL,
    janky_visits bigint NOT NULL,
    jank_ms  bigint   NOT NULL,
    dwell_ms bigint   NOT NULL,
    PRIMARY KEY (shard, build_id, tier, scene, level, x, y)
);
ALTER TABLE scene_cell SET (fillfactor = 80);

-- Sessions that stand in another tier than their model does by now.
CREATE INDEX session_by_tier ON session (model_id, tier);

-- Sessions of a build are counted under a shared lock on it, its expectation is frozen under an
-- exclusive one: whoever counts knows it or is done before it is there.
CREATE FUNCTION build_lock_shared(build integer) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock_shared(hashtextextended('framewatch.build', build));
$$;
CREATE FUNCTION build_lock(build integer) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('framewatch.build', build));
$$;
