-- What waits is a small part of the log; /metrics counts it every ten seconds.
CREATE INDEX delivery_waiting ON delivery (channel_id)
WHERE state IN ('pending', 'sending', 'dead');
