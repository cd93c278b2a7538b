-- More files of a session that are past what it may hold: it was last heard of at $3 (us since 1970),
-- and $4 files are left out.
UPDATE session
SET last_part_at = greatest(last_part_at, timestamptz 'epoch' + $3::bigint * interval '1 us'),
    detail = jsonb_set(detail, '{files,left_out}', to_jsonb($4::bigint))
WHERE shard = $1::integer AND session_id = $2::uuid
