-- Tiers: classes of device models by how the game runs on them. Cuts are placed once and stay; a new
-- placing is a new version. The fit behind them is renewed on schedule.
CREATE TABLE tier_model (
    app_id    integer NOT NULL REFERENCES app,
    version   integer NOT NULL,
    tiers     smallint NOT NULL CHECK (tiers BETWEEN 2 AND 8),
    placed_at timestamptz NOT NULL DEFAULT now(),
    fitted_at timestamptz NOT NULL DEFAULT now(),
    fit       jsonb   NOT NULL, -- coefficients, as docs/tiers.md explains them
    PRIMARY KEY (app_id, version)
);
CREATE TABLE tier_cut (
    app_id  integer  NOT NULL,
    version integer  NOT NULL,
    tier    smallint NOT NULL, -- the faster of the two that it parts
    ms      double precision NOT NULL, -- P90 frame time
    PRIMARY KEY (app_id, version, tier),
    FOREIGN KEY (app_id, version) REFERENCES tier_model
);
-- What put a model into its tier, as of the latest fit.
CREATE TABLE tier_score (
    app_id     integer NOT NULL REFERENCES app,
    model_id   integer NOT NULL REFERENCES device_model,
    version    integer NOT NULL,
    tier       smallint NOT NULL,
    capability double precision NOT NULL, -- ln of P90 in ms
    sd         double precision NOT NULL,
    prior      double precision NOT NULL,
    weight     double precision NOT NULL, -- of the data, 0 .. 1
    sessions   bigint  NOT NULL,
    outside    double precision NOT NULL, -- chance that it belongs elsewhere
    parts      jsonb   NOT NULL, -- of the prior, by feature
    scored_at  timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz, -- when its tier last changed
    PRIMARY KEY (app_id, model_id)
);
-- What a catalogue says of device models: fills in what phones do not tell.
CREATE TABLE device_catalogue (
    app_id       integer NOT NULL REFERENCES app,
    manufacturer text    NOT NULL, -- lower case
    model        text    NOT NULL,
    soc          text    NOT NULL DEFAULT '',
    ram_mb       integer NOT NULL DEFAULT 0,
    cores        integer NOT NULL DEFAULT 0,
    fast_cores   integer NOT NULL DEFAULT 0,
    clusters     integer NOT NULL DEFAULT 0,
    max_khz      integer NOT NULL DEFAULT 0,
    width_px     integer NOT NULL DEFAULT 0,
    height_px    integer NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, manufacturer, model)
);

-- Reports that were made by themselves, as they stood then.
CREATE TABLE report (
    report_id   bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id      integer NOT NULL REFERENCES app,
    kind        text    NOT NULL CHECK (kind IN ('comparison', 'health')),
    build_id    integer NOT NULL REFERENCES build,
    baseline_id integer REFERENCES build,
    step        integer NOT NULL, -- comparison: doublings of sessions since the first; health: day
    sessions    bigint  NOT NULL,
    made_at     timestamptz NOT NULL DEFAULT now(),
    document    text    NOT NULL, -- JSON
    UNIQUE (build_id, kind, step)
);
CREATE INDEX report_recent ON report (app_id, report_id DESC);

-- One alert a build, tier, scene and metric. Its evidence is latched for as long as the build lives.
CREATE TABLE alert (
    alert_id    bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id      integer NOT NULL REFERENCES app,
    build_id    integer NOT NULL REFERENCES build,
    baseline_id integer NOT NULL REFERENCES build,
    tier        smallint NOT NULL CHECK (tier > 0), -- never of all tiers, never of models without one
    scene       text    NOT NULL,
    metric      text    NOT NULL,
    level       text    NOT NULL CHECK (level IN ('none', 'improved', 'warn', 'alert')),
    reason      text    NOT NULL,
    state       text    NOT NULL
                CHECK (state IN ('quiet', 'open', 'updated', 'acknowledged', 'silenced', 'resolved')),
    version     bigint  NOT NULL DEFAULT 0, -- of what was told
    ln_e_worse  double precision NOT NULL,
    ln_e_better double precision NOT NULL,
    ln_e_pairs  double precision NOT NULL,
    change      double precision, -- as last looked at
    low         double precision,
    high        double precision,
    told_change double precision, -- as last told
    sessions    bigint  NOT NULL,
    evidence    jsonb   NOT NULL DEFAULT '{}',
    opened_at   timestamptz,
    resolved_at timestamptz,
    looked_at   timestamptz NOT NULL DEFAULT now(),
    acknowledged_by text NOT NULL DEFAULT '',
    note        text    NOT NULL DEFAULT '',
    silenced_until timestamptz,
    UNIQUE (build_id, tier, scene, metric)
);
CREATE INDEX alert_recent ON alert (app_id, alert_id DESC) WHERE state <> 'quiet';

-- Thresholds: of a tier (0: of all tiers that have none of their own) and metric ('' : of all).
CREATE TABLE alert_rule (
    app_id  integer  NOT NULL REFERENCES app,
    tier    smallint NOT NULL,
    metric  text     NOT NULL,
    theta   double precision NOT NULL CHECK (theta > 0 AND theta <= 10),
    enabled boolean  NOT NULL DEFAULT true,
    PRIMARY KEY (app_id, tier, metric)
);
