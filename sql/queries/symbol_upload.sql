-- An upload of symbols or of a mapping, without its bytes; file_name as tus clients tell it.
SELECT app_id, kind, state, day - DATE '2000-01-01' AS day, at AS size,
       length IS NOT DISTINCT FROM at AS whole,
       decode(coalesce(substring(metadata FROM '(?:^|,)filename ([A-Za-z0-9+/]*=*)'), ''),
              'base64') AS file_name
FROM upload
WHERE shard = $1::integer AND upload_id = $2::uuid
