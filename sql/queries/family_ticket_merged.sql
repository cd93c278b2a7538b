-- Filed families that are in another one, whose ticket tells of both; edit: the merge.
SELECT x.family, x.at AS target, c.family AS ticket, f.kind::bigint AS kind, f.title, e.edit_id,
       coalesce(e.by_kin, '') AS by_kin, t.episode
FROM family_tickets($1::integer) x
JOIN family_tickets($1::integer) c ON c.at = x.at AND c.carries
JOIN family_ticket t ON t.app_id = $1::integer AND t.family = x.family
JOIN family f ON f.app_id = $1::integer AND f.family = x.at
JOIN family_edit e ON e.app_id = $1::integer AND e.family = x.family AND e.kind = 'merge'
     AND e.undone_at IS NULL
WHERE NOT x.carries
ORDER BY x.family
