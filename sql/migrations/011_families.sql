-- Families of stacks. Counts hang on raw stacks and are sums of sessions' tallies; families are a
-- view over stacks, kept beside them so that a question reads few rows however many sessions there
-- are. One writer an app at a time (families_lock), the job 'families'.

ALTER TABLE session ADD tally bytea NOT NULL DEFAULT ''; -- what stack_count holds of it, or soon will

-- Changes of tallies that wait to be added; with the keys they count under.
CREATE TABLE stack_delta (
    app_id       integer  NOT NULL,
    seq          bigint   GENERATED ALWAYS AS IDENTITY,
    shard        integer  NOT NULL,
    session_id   uuid     NOT NULL,
    install_hash bytea,
    build_id     integer  NOT NULL,
    day          date     NOT NULL,
    tier         smallint NOT NULL,
    model_id     integer  NOT NULL,
    sign         smallint NOT NULL CHECK (sign IN (-1, 1)),
    tally        bytea    NOT NULL,
    PRIMARY KEY (app_id, seq)
);
ALTER TABLE stack_delta SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- kind: 0 jank, 1 crash. sessions, installs: sketches (analysis/stacks/distinct.h); an event's
-- stack may be one of several of a family that a session shows. os: as the phone names it.
CREATE TABLE stack_count (
    shard    integer  NOT NULL,
    hash     bytea    NOT NULL,
    kind     smallint NOT NULL,
    build_id integer  NOT NULL REFERENCES build,
    day      date     NOT NULL,
    tier     smallint NOT NULL,
    model_id integer  NOT NULL REFERENCES device_model,
    os       text     NOT NULL,
    scene    text     NOT NULL,
    cause    text     NOT NULL,
    events   bigint   NOT NULL,
    jank_us  bigint   NOT NULL,
    sessions bytea    NOT NULL,
    installs bytea    NOT NULL,
    PRIMARY KEY (shard, hash, kind, build_id, day, tier, model_id, os, scene, cause)
);
ALTER TABLE stack_count SET (fillfactor = 80);

-- The same by stack and build alone: flame graphs, and which stack of a family is the largest.
CREATE TABLE stack_total (
    app_id   integer  NOT NULL,
    hash     bytea    NOT NULL,
    kind     smallint NOT NULL,
    build_id integer  NOT NULL REFERENCES build,
    events   bigint   NOT NULL,
    jank_us  bigint   NOT NULL,
    PRIMARY KEY (app_id, hash, kind, build_id)
);
CREATE INDEX stack_total_largest ON stack_total (app_id, build_id, kind, events DESC, hash);
ALTER TABLE stack_total SET (fillfactor = 80);

-- Examples, a sample: of those that fall into one slot the one with the least priority stays. steps:
-- the last ones before the session's first jank in the scene; NULL if this line has not that jank.
CREATE TABLE stack_example (
    app_id      integer  NOT NULL,
    hash        bytea    NOT NULL,
    kind        smallint NOT NULL,
    build_id    integer  NOT NULL,
    slot        smallint NOT NULL,
    priority    bytea    NOT NULL,
    shard       integer  NOT NULL,
    session_id  uuid     NOT NULL,
    day         date     NOT NULL,
    scene       text     NOT NULL,
    cause       text     NOT NULL,
    start_us    bigint   NOT NULL,
    duration_us bigint   NOT NULL,
    steps       text[],
    PRIMARY KEY (app_id, hash, kind, build_id, slot)
);
CREATE INDEX stack_example_session ON stack_example (shard, session_id);
CREATE INDEX stack_example_day ON stack_example (day);

-- The same of sessions without janks: what players do in a scene when all is well.
CREATE TABLE clean_window (
    app_id      integer  NOT NULL,
    build_id    integer  NOT NULL,
    scene       text     NOT NULL,
    slot        smallint NOT NULL,
    priority    bytea    NOT NULL,
    shard       integer  NOT NULL,
    session_id  uuid     NOT NULL,
    day         date     NOT NULL,
    steps       text[]   NOT NULL,
    PRIMARY KEY (app_id, build_id, scene, slot)
);
CREATE INDEX clean_window_session ON clean_window (shard, session_id);
CREATE INDEX clean_window_day ON clean_window (day);

-- Rules, every version that ever was. The newest is in force; none: the defaults.
CREATE TABLE family_rule (
    app_id     integer NOT NULL REFERENCES app,
    version    bigint  NOT NULL,
    body       jsonb   NOT NULL,
    actor      text    NOT NULL,
    note       text    NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, version)
);

-- What people joined or took apart by hand; undone ones stay as a record. merge: stacks of `family`
-- belong to `target`. split: stacks of `family` are told apart at `depth`.
CREATE TABLE family_edit (
    edit_id    bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id     integer NOT NULL REFERENCES app,
    kind       text    NOT NULL CHECK (kind IN ('merge', 'split')),
    family     bytea   NOT NULL,
    target     bytea,
    depth      smallint,
    actor      text    NOT NULL,
    note       text    NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    undone_at  timestamptz,
    undone_by  text,
    CHECK ((kind = 'merge') = (target IS NOT NULL) AND (kind = 'split') = (depth IS NOT NULL))
);
CREATE UNIQUE INDEX family_edit_active ON family_edit (app_id, family) WHERE undone_at IS NULL;
CREATE INDEX family_edit_recent ON family_edit (app_id, edit_id DESC);

-- Goes up with each change of rules or edits; stacks grouped under an older one are grouped anew.
CREATE TABLE family_grouping (
    app_id  integer PRIMARY KEY REFERENCES app,
    version bigint  NOT NULL
);

-- What the analysis says of a stack under rules and edits of version `grouping`.
CREATE TABLE stack_family (
    app_id      integer  NOT NULL,
    hash        bytea    NOT NULL,
    kind        smallint NOT NULL,
    family      bytea    NOT NULL, -- key in force
    prints      bytea[]  NOT NULL, -- fingerprints at depths 1..5
    grouping    bigint   NOT NULL,
    class       text     NOT NULL,
    title       text     NOT NULL,
    owner       text     NOT NULL, -- '' = nobody's
    ignored     boolean  NOT NULL,
    provisional boolean  NOT NULL, -- symbols still missing may change it
    platform    text     NOT NULL,
    folded      text[]   NOT NULL, -- frames as a flame graph shows them, root first
    PRIMARY KEY (app_id, hash, kind)
);
CREATE INDEX stack_family_members ON stack_family (app_id, family, hash, kind);
CREATE INDEX stack_family_grouping ON stack_family (app_id, grouping, hash, kind);

-- One row a family that has counts. Of its largest stack: title, owner, and the reasons shown first.
CREATE TABLE family (
    app_id      integer  NOT NULL REFERENCES app,
    family      bytea    NOT NULL,
    kind        smallint NOT NULL,
    class       text     NOT NULL,
    title       text     NOT NULL,
    owner       text     NOT NULL,
    ignored     boolean  NOT NULL, -- all its stacks are
    provisional boolean  NOT NULL,
    hash        bytea    NOT NULL, -- its largest stack
    stacks      bigint   NOT NULL,
    first_day   date     NOT NULL,
    last_day    date     NOT NULL,
    PRIMARY KEY (app_id, family)
);

-- Sums over a family's stacks. build_id 0: all builds. dim and value: 'all' '', 'tier' '2',
-- 'scene' 'battle/map', 'tier_scene' '2 battle/map', 'model' model_id, 'os', 'cause',
-- 'day' '2024-05-06', 'g' install group (of one build; events alone).
CREATE TABLE family_count (
    app_id     integer NOT NULL,
    build_id   integer NOT NULL,
    dim        text    NOT NULL,
    value      text    NOT NULL,
    family     bytea   NOT NULL,
    events     bigint  NOT NULL,
    jank_us    bigint  NOT NULL,
    n_sessions bigint  NOT NULL, -- estimates of the sketches
    n_installs bigint  NOT NULL,
    sessions   bytea   NOT NULL,
    installs   bytea   NOT NULL,
    PRIMARY KEY (app_id, build_id, dim, value, family)
);
CREATE INDEX family_count_of ON family_count (app_id, family, dim, build_id);
ALTER TABLE family_count SET (fillfactor = 80);

-- Stacks that read differently since they were grouped.
CREATE TABLE stack_regroup (
    app_id integer NOT NULL,
    hash   bytea   NOT NULL,
    at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, hash)
);
CREATE FUNCTION note_regroup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- an update, not DO NOTHING: it waits for whoever takes the entry away, and comes back after
    INSERT INTO stack_regroup (app_id, hash)
    SELECT n.app_id, n.hash FROM after n
    JOIN before b ON b.app_id = n.app_id AND b.hash = n.hash
    WHERE n.symbols IS DISTINCT FROM b.symbols
    ORDER BY n.app_id, n.hash
    ON CONFLICT (app_id, hash) DO UPDATE SET at = now();
    RETURN NULL;
END $$;
CREATE TRIGGER stack_regroup AFTER UPDATE ON stack
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION note_regroup();

-- A job 'families' will see what this transaction leaves behind. If one is ready it is enough: it
-- waits at its start (families_wait) for all transactions that may have seen it ready.
CREATE FUNCTION families_queue(app integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('framewatch.families.queue', app));
    IF NOT EXISTS (SELECT FROM job WHERE kind = 'families' AND shard = app * 64 AND state = 'ready')
    THEN
        INSERT INTO job (kind, shard, ref, app_id, day)
        VALUES ('families', app * 64, gen_random_uuid(), app, (now() AT TIME ZONE 'UTC')::date);
    END IF;
END $$;
CREATE FUNCTION families_wait(app integer) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('framewatch.families.queue', app));
$$;
-- One writer of an app's counts and families, until its transaction ends.
CREATE FUNCTION families_lock(app integer) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('framewatch.families.write', app));
$$;
