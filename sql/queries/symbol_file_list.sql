-- A page of what became of an app's uploads of symbols, newest first.
SELECT upload_id AS upload, kind, name, encode(sha256, 'hex') AS sha256, size, uploaded_bytes,
       outcome, reason, detail, images,
       to_char(received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS received_at,
       (extract(epoch FROM received_at) * 1000000)::bigint AS received_us
FROM symbol_file
WHERE app_id = $1::integer
  AND ($2::uuid IS NULL OR upload_id = $2::uuid)
  AND ($3::bytea IS NULL OR sha256 = $3::bytea)
  AND ($4::text IS NULL OR outcome = $4::text)
  AND ($5::bigint IS NULL
       OR (received_at, upload_id) < (timestamptz 'epoch' + $5::bigint * interval '1 us', $6::uuid))
ORDER BY received_at DESC, upload_id DESC
LIMIT $7::bigint
