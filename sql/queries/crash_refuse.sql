-- A posted crash or piece of feedback ($2) past its session's limit: refused, and counted.
INSERT INTO quarantine AS q (app_id, source, reason, ref, day, count, detail)
VALUES ($1::integer, $2::text, 'too_many_in_session', $3::uuid, (now() AT TIME ZONE 'UTC')::date, 1,
        $4::text)
ON CONFLICT (app_id, source, reason, ref) DO UPDATE SET count = q.count + 1, at = now()
