-- The uploads of an install, for its erasure: also those that no session was made of.
CREATE INDEX upload_by_install ON upload (app_id, install_hash)
    WHERE kind = 'session' AND install_hash IS NOT NULL;
