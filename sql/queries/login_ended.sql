-- Whether somebody logged out of this login.
SELECT EXISTS (SELECT 1 FROM logout WHERE login_id = $1::bytea) AS ended
