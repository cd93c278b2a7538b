-- Day partitions, made ahead. A new partition is created apart and then attached: ATTACH takes a
-- lock that no reader or writer of the parent waits for (CREATE … PARTITION OF would take one).
CREATE FUNCTION partition_make(first date, last date) RETURNS integer LANGUAGE plpgsql AS $$
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
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                           parent, part, d, d + 1);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
