-- Largest stacks of an app, for flame graphs over all builds.
CREATE INDEX stack_family_by_size ON stack_family (app_id, kind, events DESC, hash);

-- Did a fix work? One row a look: family, the build that is judged, and the one it is held against.
-- Looks come when there is enough information, never because somebody asks.
CREATE TABLE verdict (
    app_id       integer  NOT NULL REFERENCES app,
    family       bytea    NOT NULL,
    build_id     integer  NOT NULL REFERENCES build,
    baseline_id  integer  NOT NULL REFERENCES build,
    look         smallint NOT NULL,
    label        text     NOT NULL,
    ratio        float8, -- of rates, new to old; NULL: no event in the old one
    low          float8 NOT NULL,
    high         float8, -- NULL: unbounded
    phi          float8 NOT NULL,
    expected     float8 NOT NULL, -- events in the new build, had nothing changed
    events_old   bigint NOT NULL,
    events_new   bigint NOT NULL,
    exposure_old_us bigint NOT NULL,
    exposure_new_us bigint NOT NULL,
    judged_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, family, build_id, baseline_id, look)
);
CREATE INDEX verdict_of_build ON verdict (app_id, build_id, baseline_id, family, look DESC);

-- Pairs that people want judged beside those of each registered build and the one before it.
CREATE TABLE verdict_pair (
    app_id      integer NOT NULL REFERENCES app,
    build_id    integer NOT NULL REFERENCES build,
    baseline_id integer NOT NULL REFERENCES build,
    actor       text    NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, build_id, baseline_id),
    CHECK (build_id <> baseline_id)
);

-- Families that are filed. resolved_*: the build in which it counted as gone (by a verdict, or because
-- its ticket was closed): seen in a later one it comes back, which is the next episode.
CREATE TABLE family_ticket (
    app_id         integer NOT NULL REFERENCES app,
    family         bytea   NOT NULL,
    episode        bigint  NOT NULL DEFAULT 0,
    resolved_build integer REFERENCES build,
    resolved_how   text    NOT NULL DEFAULT '' CHECK (resolved_how IN ('', 'fixed', 'closed')),
    came_back_in   integer REFERENCES build, -- of the latest episode
    wanted_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, family)
);
