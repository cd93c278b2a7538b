-- Bytes of uploads are stored a page a row (see docs/decisions/0012). Rows of a page must stay out of
-- the TOAST table, where each would become five rows of 2 KB, an index entry and a log record each:
-- so the partitions of upload_chunk toast only what is longer than a page holds.
CREATE OR REPLACE FUNCTION partition_make(first date, last date) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    part   text;
    d      date;
    made   integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('framewatch.partition'));
    FOREACH parent IN ARRAY ARRAY['upload_chunk', 'jank_event', 'crash', 'feedback'] LOOP
        FOR d IN SELECT generate_series(first::timestamp, last::timestamp, '1 day')::date LOOP
            part := parent || to_char(d, '_YYYYMMDD');
            CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(part));
            -- a table that exists but is not attached: a drop that was cut short
            EXECUTE format('CREATE TABLE IF NOT EXISTS %I (LIKE %I INCLUDING DEFAULTS'
                           ' INCLUDING CONSTRAINTS INCLUDING STORAGE)', part, parent);
            IF parent = 'upload_chunk' THEN
                EXECUTE format('ALTER TABLE %I SET (toast_tuple_target = 8160)', part);
            END IF;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                           parent, part, d, d + 1);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'upload_chunk'::regclass LOOP
        EXECUTE format('ALTER TABLE %s SET (toast_tuple_target = 8160)', part);
    END LOOP;
END $$;
