-- Examples of a stack and build by time: a page of a family's sessions reads no more of them with more
-- sessions.
CREATE INDEX stack_example_latest ON stack_example (app_id, hash, kind, build_id, day, duration_us);
