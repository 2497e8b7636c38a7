-- compare(query): runs a query with core's joins and with GPU Join forced, and compares the rows as multisets
-- both ways. taken: the forced plan has a GPU Join. Rows are compared as text, so that any type will do.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
RESET client_min_messages;

-- Is this PostgreSQL of that major version or a later one?
CREATE OR REPLACE FUNCTION since(major integer) RETURNS boolean LANGUAGE sql AS $$
SELECT current_setting('server_version_num')::integer >= major * 10000
$$;

CREATE OR REPLACE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;

CREATE OR REPLACE FUNCTION compare(query text, OUT taken boolean, OUT rows bigint,
                                   OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
    as_text text := ' AS WITH q AS MATERIALIZED (' || query || ') SELECT q::text AS line FROM q';
BEGIN
    DROP TABLE IF EXISTS core_rows, gpu_rows;
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE 'CREATE TEMP TABLE core_rows' || as_text;
    PERFORM set_config('gpujoin.enabled', 'on', true);
    PERFORM set_config('gpujoin.force', 'on', true);
    SELECT bool_or(line LIKE '%Custom Scan (GPU Join)%') INTO taken FROM plan_of(query) AS line;
    EXECUTE 'CREATE TEMP TABLE gpu_rows' || as_text;
    PERFORM set_config('gpujoin.force', 'off', true);
    SELECT count(*) INTO rows FROM core_rows;
    SELECT count(*) INTO missing FROM (TABLE core_rows EXCEPT ALL TABLE gpu_rows) difference;
    SELECT count(*) INTO extra FROM (TABLE gpu_rows EXCEPT ALL TABLE core_rows) difference;
END $$;
