-- $1 days ahead. How many were made.
SELECT partition_make((now() AT TIME ZONE 'UTC')::date - 1,
                      (now() AT TIME ZONE 'UTC')::date + $1::integer) AS made
