DELETE FROM job
WHERE kind = 'finish' AND shard = $1::integer AND ref = $2::uuid AND state <> 'running'
