-- Expectations of app $1 that sessions counted earlier are not all measured against yet.
SELECT build_id
FROM expectation
WHERE app_id = $1::integer AND phase <> 'done'
ORDER BY build_id
