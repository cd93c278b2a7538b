-- Whether a crash was posted to the session: asked before the days of crash are looked through.
SELECT EXISTS (SELECT FROM session_posted
               WHERE shard = $1::integer AND session_id = $2::uuid AND crash) AS any
