-- Whoever writes the thresholds of app $1 waits for who does already: they are one document.
SELECT app_id FROM app WHERE app_id = $1::integer FOR NO KEY UPDATE
