-- Where a plan has no node of ours, it is the one that core makes. Where it has, core may still hand out parts of a UNION ALL
-- for less. What is grouped by texts costs more on rows of a GPU Join, and such a join hides core's own from the groups: a part
-- of a UNION ALL that a worker could run as a whole.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
CREATE SCHEMA planning_alone;
SET search_path = planning_alone, public;
CREATE TABLE buyers AS SELECT g AS id, ('buyer ' || g) COLLATE "und-x-icu" AS name, md5(g::text) COLLATE "und-x-icu" AS mail, ('town ' || g % 97) COLLATE "und-x-icu" AS town FROM generate_series(1, 20000) AS g;
CREATE TABLE sales AS SELECT g * 7919 % 20000 + 1 AS buyer, g % 1000 AS day, g % 977 AS price FROM generate_series(1, 200000) AS g;
CREATE TABLE other_sales AS SELECT * FROM sales;
ANALYZE buyers, sales, other_sales;
CREATE FUNCTION plan_of(query text, is_enabled boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found text := '';
BEGIN
    PERFORM set_config('gpujoin.enabled', is_enabled::text, true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        found := found || line || E'\n';
    END LOOP;
    RETURN found;
END $$;
CREATE FUNCTION cost_of(query text, is_enabled boolean) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    PERFORM set_config('gpujoin.enabled', is_enabled::text, true);
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
CREATE VIEW settings AS SELECT tuples, setup, row, page FROM unnest('{0.03, 0.05, 0.1, 0.2}'::text[]) AS tuples, unnest('{0, 1000}'::text[]) AS setup, unnest('{0.01, 0.001}'::text[]) AS row, unnest('{1, 20}'::text[]) AS page;
-- Which plans are not core's and have no node of ours, or cost more than parts that are handed out. What takes no time is not
-- planned twice.
CREATE FUNCTION others(query text) RETURNS TABLE (settings text, core text, ours text) LANGUAGE plpgsql AS $$
DECLARE
    each record;
    left_to_core integer := 0;
BEGIN
    FOR each IN SELECT * FROM settings LOOP
        PERFORM set_config('parallel_tuple_cost', each.tuples, true), set_config('parallel_setup_cost', each.setup, true), set_config('cpu_tuple_cost', each.row, true), set_config('seq_page_cost', each.page, true);
        core := plan_of(query, false);
        ours := plan_of(query, true);
        settings := each::text;
        IF ours !~ 'GPU' THEN
            left_to_core := left_to_core + 1;
            IF ours <> core THEN RETURN NEXT; END IF;
        ELSIF core ~ 'Parallel Append' AND ours !~ 'Parallel Append' AND cost_of(query, true) >= 100000 AND cost_of(query, false) < 0.98 * cost_of(query, true) THEN
            RETURN NEXT;
        END IF;
    END LOOP;
    IF left_to_core = 0 THEN RAISE EXCEPTION 'no plan was left to core'; END IF;
END $$;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET enable_hashagg = off;
-- On every machine.
SET gpujoin.transfer_cost = 1;
SET gpujoin.build_cost = 0.005;
SET gpujoin.probe_cost = 0.005;
SET gpujoin.match_cost = 0.005;
CREATE VIEW sums AS SELECT name, mail, town, day, sum(price) FROM buyers JOIN sales ON buyer = id GROUP BY name, mail, town, day;
CREATE VIEW other_sums AS SELECT name, mail, town, day, sum(price) FROM buyers JOIN other_sales ON buyer = id GROUP BY name, mail, town, day;
CREATE VIEW all_sums AS SELECT * FROM sums UNION ALL SELECT * FROM other_sums;
SELECT * FROM others('SELECT * FROM sums UNION ALL SELECT * FROM other_sums');
SELECT * FROM others('SELECT * FROM all_sums');
SELECT * FROM others('SELECT name, mail, town, array_agg(price) FROM buyers JOIN sales ON buyer = id GROUP BY name, mail, town UNION ALL SELECT name, mail, town, array_agg(price) FROM buyers JOIN other_sales ON buyer = id GROUP BY name, mail, town');
-- What is left to core is still known by name.
SET parallel_setup_cost = 0;
SELECT kind, node, taken, count(*), bool_and(reason !~ 'not asked') AS are_known FROM gpujoin_why('SELECT * FROM all_sums') GROUP BY kind, node, taken ORDER BY kind, node;
RESET parallel_setup_cost;
-- Where joins of ours are cheap, and take part in it.
SET work_mem = '64MB';
SET gpujoin.build_cost = 0.0002;
SET gpujoin.probe_cost = 0.0002;
SET gpujoin.match_cost = 0.0002;
SELECT * FROM others('SELECT * FROM all_sums');
SET client_min_messages = error;
DROP SCHEMA planning_alone CASCADE;
