-- Lines of a device catalogue; a later line about the same model replaces it.
INSERT INTO device_catalogue (app_id, manufacturer, model, soc, ram_mb, cores, fast_cores, clusters,
                              max_khz, width_px, height_px)
SELECT DISTINCT ON (lower(c.manufacturer), c.model)
       $1::integer, lower(c.manufacturer), c.model, c.soc, c.ram_mb, c.cores, c.fast_cores,
       c.clusters, c.max_khz, c.width_px, c.height_px
FROM unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[],
            $8::integer[], $9::integer[], $10::integer[], $11::integer[])
     WITH ORDINALITY AS c (manufacturer, model, soc, ram_mb, cores, fast_cores, clusters, max_khz,
                           width_px, height_px, n)
ORDER BY lower(c.manufacturer), c.model, c.n DESC
ON CONFLICT (app_id, manufacturer, model) DO UPDATE
SET soc = excluded.soc, ram_mb = excluded.ram_mb, cores = excluded.cores,
    fast_cores = excluded.fast_cores, clusters = excluded.clusters, max_khz = excluded.max_khz,
    width_px = excluded.width_px, height_px = excluded.height_px
