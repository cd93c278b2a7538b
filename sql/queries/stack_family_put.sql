-- prints: five fingerprints one after the other. folded: names with chr(30) between them.
INSERT INTO stack_family (app_id, hash, kind, family, prints, grouping, class, title, owner,
                          ignored, provisional, platform, folded)
SELECT $1::integer, k.hash, k.kind, k.family,
       ARRAY(SELECT substring(k.prints FROM i * 16 + 1 FOR 16) FROM generate_series(0, 4) AS i
             ORDER BY i),
       $2::bigint, k.class, k.title, k.owner, k.flags & 1 <> 0, k.flags & 2 <> 0, k.platform,
       string_to_array(k.folded, chr(30))
FROM unnest($3::bytea[], $4::smallint[], $5::bytea[], $6::bytea[], $7::text[], $8::text[],
            $9::text[], $10::bigint[], $11::text[], $12::text[])
     AS k (hash, kind, family, prints, class, title, owner, flags, platform, folded)
ON CONFLICT (app_id, hash, kind) DO UPDATE
SET family = excluded.family, prints = excluded.prints, grouping = excluded.grouping,
    class = excluded.class, title = excluded.title, owner = excluded.owner,
    ignored = excluded.ignored, provisional = excluded.provisional, folded = excluded.folded
