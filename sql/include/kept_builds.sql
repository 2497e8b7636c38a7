\i sql/include/kept.sql

-- built(query): as compare_kept(), of build sides; of all of a plan together.
CREATE OR REPLACE FUNCTION built(query text, OUT chunks integer, OUT read integer, OUT rows integer, OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    SELECT r.rows, r.missing, r.extra INTO rows, missing, extra FROM compare_kept(query, 3) AS r;
    SET LOCAL gpujoin.force = on;
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RESET gpujoin.force;
    SELECT sum((kept->>'Chunks Used')::integer), sum((kept->>'Blocks Read')::integer) INTO chunks, read
    FROM jsonb_path_query(plan::jsonb, 'strict $.**."Kept Build"') AS kept;
END $$;
