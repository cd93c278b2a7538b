-- Symbols: what was uploaded, the look-up tables made of it, and which stacks need which.

-- The mapping (R8, ProGuard) that belongs to a build; '' if its names are not obfuscated.
ALTER TABLE build ADD mapping_id text NOT NULL DEFAULT '';

-- One row an upload of symbols or of a mapping, once its job is over: what became of it.
CREATE TABLE symbol_file (
    app_id      integer NOT NULL REFERENCES app,
    upload_id   uuid    NOT NULL,
    kind        text    NOT NULL CHECK (kind IN ('symbols', 'mapping')),
    name        text    NOT NULL, -- as the uploader says
    sha256      bytea   NOT NULL, -- of the file, unpacked if it came zstd-compressed; '' if not known
    size        bigint  NOT NULL, -- of the file, unpacked
    uploaded_bytes bigint NOT NULL,
    outcome     text    NOT NULL CHECK (outcome IN ('stored', 'duplicate', 'refused')),
    reason      text    NOT NULL DEFAULT '',
    detail      text    NOT NULL DEFAULT '',
    images      integer NOT NULL DEFAULT 0, -- look-up tables that came of it
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, upload_id)
);
CREATE INDEX symbol_file_recent ON symbol_file (app_id, received_at DESC, upload_id);
CREATE INDEX symbol_file_sha256 ON symbol_file (app_id, sha256);

-- One look-up table: of an image (debug id and architecture) or of a mapping.
CREATE TABLE symcache (
    symcache_id   uuid    PRIMARY KEY DEFAULT gen_random_uuid(),
    app_id        integer NOT NULL REFERENCES app,
    kind          text    NOT NULL CHECK (kind IN ('native', 'mapping')),
    debug_id      text    NOT NULL, -- lower-case hexadecimal; of a mapping its id
    guid          text    NOT NULL DEFAULT '', -- debug_id as tools born on Windows write it
    arch          text    NOT NULL DEFAULT '',
    format        text    NOT NULL, -- 'elf', 'macho', 'r8'
    name          text    NOT NULL, -- of the file it was made from
    source_sha256 bytea   NOT NULL, -- of the image's bytes, or of the mapping's
    source_bytes  bigint  NOT NULL,
    sha256        bytea   NOT NULL, -- of the table
    size          bigint  NOT NULL, -- of the table
    stored_bytes  bigint  NOT NULL, -- its pieces, compressed
    version       integer NOT NULL, -- of the table's layout
    dwarf         boolean NOT NULL DEFAULT false, -- files and lines, not names alone
    functions     bigint  NOT NULL DEFAULT 0,
    upload_id     uuid    NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (app_id, kind, debug_id, arch)
);
CREATE INDEX symcache_recent ON symcache (app_id, created_at DESC, symcache_id);
CREATE INDEX symcache_guid ON symcache (app_id, guid) WHERE guid <> '';

-- Its bytes: every piece at most 1 MB, compressed alone (zstd).
CREATE TABLE symcache_piece (
    symcache_id uuid    NOT NULL REFERENCES symcache ON DELETE CASCADE,
    n           integer NOT NULL, -- from 0
    bytes       bytea   NOT NULL,
    PRIMARY KEY (symcache_id, n)
);
ALTER TABLE symcache_piece ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- state: 'raw' nothing could be said of its frames, 'partial' of some, 'symbolicated' of all that
-- can be said. A stack with managed frames belongs to one build (its hash says which), and only that
-- build's mapping speaks of it.
ALTER TABLE stack
    ADD build_id integer REFERENCES build,
    ADD symbols jsonb, -- frames as they read with symbols, innermost first; NULL: not looked at yet
    ADD CHECK (state IN ('raw', 'partial', 'symbolicated'));
CREATE INDEX stack_pending ON stack (app_id, hash) WHERE symbols IS NULL;
CREATE INDEX stack_managed ON stack (build_id, hash) WHERE build_id IS NOT NULL;

-- Which stacks name which debug id; for those without symbols: wait for it.
CREATE TABLE stack_need (
    app_id   integer NOT NULL,
    debug_id text    NOT NULL,
    hash     bytea   NOT NULL,
    PRIMARY KEY (app_id, debug_id, hash)
);

-- Which debug ids the stacks of a build name.
CREATE TABLE build_need (
    build_id integer NOT NULL REFERENCES build ON DELETE CASCADE,
    debug_id text    NOT NULL,
    module   text    NOT NULL,
    system   boolean NOT NULL, -- a library of the operating system, by its name
    PRIMARY KEY (build_id, debug_id)
);

-- Another mapping for a build: its stacks are read again.
CREATE FUNCTION note_mapping() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job (kind, shard, ref, app_id, day)
    VALUES ('remap', NEW.app_id * 64, lpad(to_hex(NEW.build_id), 32, '0')::uuid, NEW.app_id,
            (now() AT TIME ZONE 'UTC')::date)
    ON CONFLICT (kind, shard, ref) DO UPDATE
    SET state = 'ready', attempts = 0, run_after = now(), lease_until = NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER build_mapping AFTER UPDATE OF mapping_id ON build
    FOR EACH ROW WHEN (NEW.mapping_id IS DISTINCT FROM OLD.mapping_id)
    EXECUTE FUNCTION note_mapping();
