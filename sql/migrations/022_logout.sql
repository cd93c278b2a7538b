-- Browsers' logins that were ended before their time, by the id inside their cookies.
CREATE TABLE logout (
    login_id bytea       PRIMARY KEY,
    ends_at  timestamptz NOT NULL
);
CREATE INDEX logout_ends_at ON logout (ends_at);
