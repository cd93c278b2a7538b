-- Of the sessions, frames and foreground of a row: those known by a summary alone, which tells no missed
-- frames, no PerfDog janks and no slow sessions. Rates of these divide by the rest.
ALTER TABLE frame_rollup
    ADD COLUMN summary_sessions bigint NOT NULL DEFAULT 0,
    ADD COLUMN summary_frames bigint NOT NULL DEFAULT 0,
    ADD COLUMN summary_foreground_us bigint NOT NULL DEFAULT 0;
