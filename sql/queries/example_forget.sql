-- Examples that sessions gave, before they give others.
WITH s AS (SELECT shard, session_id
           FROM unnest($1::integer[], $2::uuid[]) AS u (shard, session_id)),
windows AS (
    DELETE FROM clean_window w USING s
    WHERE w.shard = s.shard AND w.session_id = s.session_id)
DELETE FROM stack_example e USING s
WHERE e.shard = s.shard AND e.session_id = s.session_id
