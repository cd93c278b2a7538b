-- Telling people and machines: where to (channel), what (delivery, an outbox) and the tickets that
-- are kept in bug trackers.

CREATE TABLE channel (
    channel_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id       integer NOT NULL REFERENCES app,
    name         text    NOT NULL,
    kind         text    NOT NULL,
    takes        text    NOT NULL CHECK (takes IN ('alert', 'ticket')),
    enabled      boolean NOT NULL DEFAULT true,
    settings     jsonb   NOT NULL DEFAULT '{}', -- nothing secret
    target       text    NOT NULL DEFAULT '',   -- scheme, host and port it sends to
    secrets      bytea   NOT NULL DEFAULT '',   -- sealed: nonce, tag, AES-256-GCM of a JSON object
    secret_names text[]  NOT NULL DEFAULT '{}', -- what is in there
    -- Filter of alerts. Empty lists: all.
    min_severity smallint NOT NULL DEFAULT 0,
    tiers        text[]  NOT NULL DEFAULT '{}',
    metrics      text[]  NOT NULL DEFAULT '{}',
    states       text[]  NOT NULL DEFAULT '{open,updated,resolved}',
    reports      boolean NOT NULL DEFAULT false, -- wants those too
    -- Quiet hours: minutes of the day at utc_offset_min; equal: none. From loud_severity on, alerts
    -- are told at once.
    quiet_from_min smallint NOT NULL DEFAULT 0 CHECK (quiet_from_min BETWEEN 0 AND 1439),
    quiet_to_min   smallint NOT NULL DEFAULT 0 CHECK (quiet_to_min BETWEEN 0 AND 1439),
    utc_offset_min smallint NOT NULL DEFAULT 0 CHECK (utc_offset_min BETWEEN -840 AND 840),
    loud_severity  smallint NOT NULL DEFAULT 3,
    rate_per_min integer NOT NULL CHECK (rate_per_min BETWEEN 1 AND 6000),
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    deleted_at   timestamptz, -- its secrets are wiped; the row stays for the log
    -- Owned by the sender: one delivery of a channel at a time, spaced by its rate and held back
    -- while the other side is down or says so.
    lease        bigint  NOT NULL DEFAULT 0, -- number of the claim that holds it
    lease_until  timestamptz,
    open_at      timestamptz NOT NULL DEFAULT now(), -- nothing is sent before
    failures     integer NOT NULL DEFAULT 0          -- in a row, of the channel
);
-- When the quiet hours end that channel c is in at that moment; NULL: it is not in any.
CREATE FUNCTION channel_quiet_until(c channel, severity smallint, at timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN c.quiet_from_min = c.quiet_to_min OR severity >= c.loud_severity THEN NULL
        WHEN (minute - c.quiet_from_min + 1440) % 1440
             >= (c.quiet_to_min - c.quiet_from_min + 1440) % 1440 THEN NULL
        ELSE date_trunc('minute', at) + (c.quiet_to_min - minute + 1440) % 1440 * interval '1 minute'
    END
    FROM (SELECT mod(floor(extract(epoch FROM at) / 60)::bigint + c.utc_offset_min + 1440, 1440)::integer
                 AS minute) AS m
$$;

CREATE UNIQUE INDEX channel_name ON channel (app_id, name) WHERE deleted_at IS NULL;

-- The outbox and its log. subject: the alert's id, or the key of the ticket or
-- report.
CREATE TABLE delivery (
    delivery_id bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id      integer NOT NULL,
    channel_id  integer NOT NULL REFERENCES channel,
    kind        text    NOT NULL CHECK (kind IN ('alert', 'report', 'ticket', 'test')),
    subject     text    NOT NULL,
    version     bigint  NOT NULL,
    severity    smallint NOT NULL DEFAULT 0,
    body        text    NOT NULL, -- JSON: what is to be told, not yet in the service's form
    state       text    NOT NULL DEFAULT 'pending'
                CHECK (state IN ('pending', 'sending', 'sent', 'dead', 'suppressed')),
    attempts    integer NOT NULL DEFAULT 0,
    sends       integer NOT NULL DEFAULT 0, -- that were taken; Alertmanager hears again and again
    next_at     timestamptz, -- of the next attempt, or of the next repetition of a sent one
    last_status integer NOT NULL DEFAULT 0, -- of HTTP; 0: no answer
    last_error  text    NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    tried_at    timestamptz,
    sent_at     timestamptz, -- first time it was taken
    UNIQUE (channel_id, kind, subject, version)
);
CREATE INDEX delivery_due ON delivery (channel_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX delivery_log ON delivery (app_id, delivery_id DESC);

-- A ticket in a tracker, by the key it is wanted under.
CREATE TABLE ticket (
    ticket_id    bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id       integer NOT NULL REFERENCES app,
    channel_id   integer NOT NULL REFERENCES channel,
    key          text    NOT NULL,
    marker       text    NOT NULL, -- stands in the filed text: how it is found again
    wanted       text    NOT NULL, -- JSON
    wanted_hash  bytea   NOT NULL,
    wanted_version bigint NOT NULL DEFAULT 1,
    filed_version  bigint NOT NULL DEFAULT 0, -- what the tracker shows
    filed_hash   bytea   NOT NULL DEFAULT '', -- of the text that it shows
    episode      bigint  NOT NULL DEFAULT 0,  -- wanted
    filed_episode bigint NOT NULL DEFAULT 0,  -- up to here it was reopened, or was open
    external_id  text    NOT NULL DEFAULT '', -- '' = not filed
    url          text    NOT NULL DEFAULT '',
    state        text    NOT NULL DEFAULT 'wanted'
                 CHECK (state IN ('wanted', 'open', 'closed', 'gone')),
    external_state text  NOT NULL DEFAULT '', -- the tracker's own word
    create_tried_at timestamptz, -- an attempt to file it may have had an effect since
    filed_at     timestamptz,
    looked_at    timestamptz, -- when its state was read last
    look_at      timestamptz, -- when it is to be read next
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (channel_id, key)
);
CREATE INDEX ticket_by_key ON ticket (app_id, key);
CREATE INDEX ticket_look ON ticket (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX ticket_list ON ticket (app_id, ticket_id DESC);

CREATE TABLE ticket_comment (
    ticket_id   bigint NOT NULL REFERENCES ticket,
    comment_id  text   NOT NULL,
    body        text   NOT NULL,
    tried       boolean NOT NULL DEFAULT false, -- it may be there already
    said_at     timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (ticket_id, comment_id)
);
