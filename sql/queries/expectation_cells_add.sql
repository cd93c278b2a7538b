-- The frozen sums of build $1.
INSERT INTO expectation_cell (build_id, kind, id, scene, sums)
SELECT $1::integer, c.*
FROM unnest($2::smallint[], $3::integer[], $4::text[], $5::bytea[]) AS c (kind, id, scene, sums)
