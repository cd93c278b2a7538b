UPDATE stack_family f
SET events = f.events + k.events
FROM (SELECT hash, kind, sum(events) AS events
      FROM unnest($2::bytea[], $3::smallint[], $4::bigint[]) AS u (hash, kind, events)
      GROUP BY hash, kind) AS k
WHERE f.app_id = $1::integer AND f.hash = k.hash AND f.kind = k.kind
