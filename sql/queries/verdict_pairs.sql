-- Pairs of builds to judge: each of the $2 newest registered builds of a platform that has sessions,
-- against the registered build before it; and those that people asked for.
SELECT n.build_id, n.baseline_id
FROM (SELECT b.build_id, o.build_id AS baseline_id,
             row_number() OVER (PARTITION BY b.platform
                                ORDER BY b.version_code DESC, b.build_id DESC) AS n
      FROM build b
      CROSS JOIN LATERAL (
          SELECT o.build_id FROM build o
          WHERE o.app_id = b.app_id AND o.platform = b.platform AND o.registered
            AND o.version_code < b.version_code
          ORDER BY o.version_code DESC, o.build_id DESC
          LIMIT 1) o
      WHERE b.app_id = $1::integer AND b.registered
        AND EXISTS (SELECT FROM family_count c
                    WHERE c.app_id = b.app_id AND c.build_id = b.build_id AND c.dim = 'all'
                      AND c.family = '\x00000000000000000000000000000000')) AS n
WHERE n.n <= $2::bigint
UNION
SELECT build_id, baseline_id FROM verdict_pair WHERE app_id = $1::integer
ORDER BY 1, 2
