-- Core tables. `shard` = app_id * 64 + g leads every session-scoped and rollup key: g is the low 6
-- bits of the session id (of the upload id for uploads). Times of sessions are server times unless
-- a name says wall. Each `day` is the UTC day of first receipt, fixed for good at that moment.

CREATE TABLE app (
    app_id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_key (
    key_hash   bytea PRIMARY KEY CHECK (length(key_hash) = 32), -- SHA-256 of the whole key
    app_id     integer NOT NULL REFERENCES app,
    role       text NOT NULL CHECK (role IN ('ingest', 'read', 'admin')),
    hint       text NOT NULL, -- its first characters, to tell keys apart
    label      text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);

CREATE TABLE build (
    build_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id        integer NOT NULL REFERENCES app,
    platform      text    NOT NULL CHECK (platform IN ('android', 'ios', 'linux', 'unknown')),
    version_name  text    NOT NULL,
    version_code  bigint  NOT NULL,
    build_uid     text    NOT NULL DEFAULT '', -- the build system's id
    registered    boolean NOT NULL DEFAULT false, -- false: seen in a session only, never a baseline
    package       text    NOT NULL DEFAULT '',
    git_commit    text    NOT NULL DEFAULT '',
    debug_ids     text[]  NOT NULL DEFAULT '{}',
    released_at   timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (app_id, platform, version_code, version_name, build_uid)
);

CREATE TABLE device_model (
    model_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id        integer NOT NULL REFERENCES app,
    platform      text    NOT NULL,
    manufacturer  text    NOT NULL,
    model         text    NOT NULL,
    soc           text    NOT NULL,
    ram_gb        integer NOT NULL, -- rounded up: the same phone sells with several sizes
    gpu           text    NOT NULL DEFAULT '', -- from here on as first seen
    clusters      jsonb   NOT NULL DEFAULT '[]',
    screen_width_px  integer NOT NULL DEFAULT 0,
    screen_height_px integer NOT NULL DEFAULT 0,
    refresh_millihertz integer NOT NULL DEFAULT 0,
    tier          smallint NOT NULL DEFAULT 0, -- 0 = untiered
    UNIQUE (app_id, platform, manufacturer, model, soc, ram_gb)
);

-- Uploads ------------------------------------------------------------------------------------

CREATE TABLE upload (
    shard        integer NOT NULL,
    upload_id    uuid    NOT NULL, -- from app and file id by HMAC, so creation is idempotent
    app_id       integer NOT NULL REFERENCES app,
    day          date    NOT NULL, -- partition of its chunks
    kind         text    NOT NULL CHECK (kind IN ('session', 'symbols', 'mapping')),
    file_id      text    NOT NULL,
    install_hash bytea,            -- HMAC-SHA256(server secret, install id); never the id
    metadata     text    NOT NULL, -- Upload-Metadata as echoed; install replaced by its hash
    concat       text    NOT NULL DEFAULT '', -- '', 'partial', or 'final;url url …'
    length       bigint, -- NULL while deferred
    at           bigint  NOT NULL DEFAULT 0, -- Upload-Offset: all before it is durable
    state        text    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'complete', 'deleted')),
    expires_at   timestamptz NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz,
    PRIMARY KEY (shard, upload_id),
    CHECK (at >= 0 AND (length IS NULL OR at <= length))
);
CREATE INDEX upload_expiry ON upload (expires_at) WHERE state = 'open';
CREATE INDEX upload_day ON upload (day);

CREATE TABLE upload_chunk (
    day       date    NOT NULL,
    shard     integer NOT NULL,
    upload_id uuid    NOT NULL,
    at        bigint  NOT NULL, -- offset of its first byte
    crc32c    bigint  NOT NULL, -- of bytes
    bytes     bytea   NOT NULL,
    PRIMARY KEY (shard, upload_id, at, day)
) PARTITION BY RANGE (day);
ALTER TABLE upload_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Sessions -----------------------------------------------------------------------------------

CREATE TABLE session (
    shard         integer NOT NULL,
    session_id    uuid    NOT NULL,
    app_id        integer NOT NULL REFERENCES app,
    day           date    NOT NULL,
    build_id      integer NOT NULL REFERENCES build,
    model_id      integer NOT NULL REFERENCES device_model,
    tier          smallint NOT NULL DEFAULT 0,
    install_hash  bytea,
    state         text    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'final')),
    wall_start_ms bigint  NOT NULL,
    received_at   timestamptz NOT NULL DEFAULT now(), -- first part
    last_part_at  timestamptz NOT NULL DEFAULT now(),
    analysis_version integer NOT NULL,
    bounds_version   integer NOT NULL,
    n_parts       integer NOT NULL,
    ended         boolean NOT NULL,
    duration_us   bigint  NOT NULL,
    environment   integer NOT NULL, -- bits: 1 rooted, 2 debugger, 4 emulator, 8 developer mode, 16 repackaged
    excluded      boolean NOT NULL, -- kept out of statistics
    from_summary  boolean NOT NULL,
    os_version    text    NOT NULL,
    sdk_version   text    NOT NULL,
    scenes        text[]  NOT NULL,
    frames        bigint  NOT NULL,
    foreground_us bigint  NOT NULL,
    p50_us        bigint  NOT NULL,
    p90_us        bigint  NOT NULL,
    p95_us        bigint  NOT NULL,
    p99_us        bigint  NOT NULL,
    max_us        bigint  NOT NULL,
    mean_us       bigint  NOT NULL,
    janks_minor   integer NOT NULL,
    janks_normal  integer NOT NULL,
    janks_severe  integer NOT NULL,
    jank_us       bigint  NOT NULL,
    perfdog_janks integer NOT NULL,
    perfdog_big_janks integer NOT NULL,
    missed_frames bigint  NOT NULL,
    slow_session  boolean NOT NULL,
    peak_memory_kb  bigint NOT NULL,
    peak_battery_millicelsius integer NOT NULL,
    throttled_us  bigint  NOT NULL,
    has_crash     boolean NOT NULL DEFAULT false, -- inside its parts or posted
    has_feedback  boolean NOT NULL DEFAULT false,
    invalid       jsonb   NOT NULL, -- reason: count
    detail        jsonb   NOT NULL, -- slices by scene, device, evidence, self-report, events dropped
    contribution  bytea   NOT NULL DEFAULT '', -- what the rollups hold of it now
    PRIMARY KEY (shard, session_id)
);
CREATE INDEX session_recent ON session (app_id, received_at DESC, session_id);
CREATE INDEX session_by_build ON session (build_id, received_at DESC, session_id);
CREATE INDEX session_by_model ON session (model_id, received_at DESC, session_id);
CREATE INDEX session_by_scene ON session USING gin (scenes);
CREATE INDEX session_by_install ON session (app_id, install_hash, received_at DESC);
CREATE INDEX session_day ON session (day);

CREATE TABLE session_part (
    shard       integer NOT NULL,
    session_id  uuid    NOT NULL,
    part        integer NOT NULL,
    sha256      bytea   NOT NULL, -- of the file's bytes: an equal file is the same part
    app_id      integer NOT NULL,
    upload_shard integer NOT NULL,
    upload_id   uuid    NOT NULL, -- its bytes
    upload_day  date    NOT NULL,
    size        bigint  NOT NULL,
    truncated   boolean NOT NULL,
    damaged     boolean NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (shard, session_id, part, sha256)
);

CREATE TABLE jank_event (
    day         date    NOT NULL, -- of its session
    shard       integer NOT NULL,
    session_id  uuid    NOT NULL,
    start_us    bigint  NOT NULL,
    app_id      integer NOT NULL,
    build_id    integer NOT NULL,
    duration_us bigint  NOT NULL,
    level       smallint NOT NULL,
    from_frames boolean NOT NULL,
    perfdog_jank boolean NOT NULL,
    perfdog_big boolean NOT NULL,
    scene       text    NOT NULL,
    cause       text    NOT NULL,
    evidence    text    NOT NULL,
    stacks      bytea[] NOT NULL, -- stack.hash of each sample, in time order
    hardware    jsonb   NOT NULL, -- samples from 2 s before to 1 s after
    PRIMARY KEY (shard, session_id, start_us, day)
) PARTITION BY RANGE (day);

CREATE TABLE stack (
    app_id     integer NOT NULL REFERENCES app,
    hash       bytea   NOT NULL,
    state      text    NOT NULL DEFAULT 'raw',
    frames     jsonb   NOT NULL, -- innermost first
    first_seen timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, hash)
);

CREATE TABLE crash (
    day         date    NOT NULL,
    shard       integer NOT NULL,
    session_id  uuid    NOT NULL,
    crash_id    uuid    NOT NULL, -- from its content: posting it again changes nothing
    app_id      integer NOT NULL,
    source      text    NOT NULL CHECK (source IN ('session', 'posted')),
    t_us        bigint, -- from session start, NULL if not known
    signal      integer,
    reason      text    NOT NULL,
    stack       jsonb   NOT NULL, -- frames, innermost first
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (shard, session_id, crash_id, day)
) PARTITION BY RANGE (day);

CREATE TABLE feedback (
    day         date    NOT NULL,
    shard       integer NOT NULL,
    session_id  uuid    NOT NULL,
    feedback_id uuid    NOT NULL,
    app_id      integer NOT NULL,
    source      text    NOT NULL CHECK (source IN ('session', 'posted')),
    t_us        bigint,
    category    text    NOT NULL,
    body        text    NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (shard, session_id, feedback_id, day)
) PARTITION BY RANGE (day);

-- Rollups: sums of contributions of final sessions ---------------------------------------------

CREATE TABLE frame_rollup (
    shard    integer  NOT NULL,
    build_id integer  NOT NULL REFERENCES build,
    tier     smallint NOT NULL,
    scene    text     NOT NULL, -- '' = whole sessions
    day      date     NOT NULL,
    sessions bigint NOT NULL,
    excluded_sessions bigint NOT NULL,
    slow_sessions bigint NOT NULL,
    frames bigint NOT NULL,
    frame_sum_us bigint NOT NULL,
    foreground_us bigint NOT NULL,
    janks_minor bigint NOT NULL,
    janks_normal bigint NOT NULL,
    janks_severe bigint NOT NULL,
    jank_us bigint NOT NULL,
    perfdog_janks bigint NOT NULL,
    perfdog_big_janks bigint NOT NULL,
    perfdog_stutter_us bigint NOT NULL,
    missed_frames bigint NOT NULL,
    sketch   bytea NOT NULL,
    PRIMARY KEY (shard, build_id, tier, scene, day)
);

CREATE TABLE model_rollup (
    shard    integer NOT NULL,
    build_id integer NOT NULL REFERENCES build,
    model_id integer NOT NULL REFERENCES device_model,
    sessions bigint NOT NULL,
    ln_p90_e6 bigint NOT NULL,
    ln_p90_sq_e6 bigint NOT NULL,
    median_mhz bigint NOT NULL,
    median_mhz_sessions bigint NOT NULL,
    throttled_mhz bigint NOT NULL,
    throttled_mhz_sessions bigint NOT NULL,
    mean_battery_decicelsius bigint NOT NULL,
    mean_battery_sessions bigint NOT NULL,
    PRIMARY KEY (shard, build_id, model_id)
);

-- Work and its witnesses -------------------------------------------------------------------------

-- A finished job is deleted with its results, in one transaction. `dead` ones wait for a person.
CREATE TABLE job (
    job_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text    NOT NULL, -- 'part': analyse an upload; 'finish': close an idle session
    shard       integer NOT NULL,
    ref         uuid    NOT NULL, -- upload id or session id
    app_id      integer NOT NULL,
    day         date    NOT NULL,
    state       text    NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'running', 'dead')),
    attempts    integer NOT NULL DEFAULT 0,
    run_after   timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz, -- a running job past it may be claimed again
    last_error  text    NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (kind, shard, ref)
);
CREATE INDEX job_due ON job (run_after) WHERE state <> 'dead';

-- What was refused or invalid, one row a thing and reason: a replay sets it again, adds nothing.
CREATE TABLE quarantine (
    app_id integer NOT NULL REFERENCES app,
    source text    NOT NULL, -- 'upload', 'part', 'session', 'crash', 'feedback'
    reason text    NOT NULL,
    ref    uuid    NOT NULL, -- upload id or session id
    day    date    NOT NULL,
    count  bigint  NOT NULL,
    detail text    NOT NULL DEFAULT '',
    at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, source, reason, ref)
);
CREATE INDEX quarantine_recent ON quarantine (app_id, at DESC);
CREATE INDEX quarantine_day ON quarantine (day);

CREATE TABLE audit (
    audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT now(),
    app_id   integer REFERENCES app,
    actor    text NOT NULL, -- key hint, or 'cli'
    action   text NOT NULL,
    detail   jsonb NOT NULL DEFAULT '{}'
);

-- Remote configuration of the SDK, one document an app.
CREATE TABLE sdk_config (
    app_id     integer PRIMARY KEY REFERENCES app,
    version    bigint NOT NULL,
    body       jsonb  NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);
