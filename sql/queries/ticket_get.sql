-- The ticket of channel $1 with key $2.
SELECT ticket_id, key, marker, wanted, wanted_version, filed_version, filed_hash, episode,
       filed_episode, external_id, url, state,
       coalesce((extract(epoch FROM create_tried_at) * 1000000)::bigint, 0) AS create_tried_us
FROM ticket
WHERE channel_id = $1::integer AND key = $2::text
