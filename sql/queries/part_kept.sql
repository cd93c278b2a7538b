-- Whether the bytes uploaded on day $1 are still kept.
SELECT EXISTS (SELECT FROM pg_inherits
               WHERE inhrelid = to_regclass('upload_chunk' || to_char(DATE '2000-01-01' + $1::integer,
                                                                      '_YYYYMMDD'))) AS kept
