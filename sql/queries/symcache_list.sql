-- A page of an app's look-up tables, newest first.
SELECT symcache_id AS id, kind, debug_id, guid, arch, format, name, encode(source_sha256, 'hex')
           AS source_sha256, source_bytes, size AS table_bytes, stored_bytes, version, dwarf, revealed,
       functions, upload_id AS upload,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
       (extract(epoch FROM created_at) * 1000000)::bigint AS created_us
FROM symcache
WHERE app_id = $1::integer
  AND ($2::text IS NULL OR kind = $2::text)
  AND ($3::text IS NULL OR debug_id = $3::text OR guid = $3::text)
  AND ($4::text IS NULL OR arch = $4::text)
  AND ($5::bigint IS NULL OR debug_id IN (
           SELECT unnest(b.debug_ids || b.mapping_id) FROM build b
           WHERE b.app_id = $1::integer AND b.build_id = $5::bigint
           UNION ALL
           SELECT n.debug_id FROM build_need n JOIN build b USING (build_id)
           WHERE b.app_id = $1::integer AND n.build_id = $5::bigint))
  AND ($6::bigint IS NULL
       OR (created_at, symcache_id) < (timestamptz 'epoch' + $6::bigint * interval '1 us', $7::uuid))
ORDER BY created_at DESC, symcache_id DESC
LIMIT $8::bigint
