-- Joins whose build side does not fit the memory that a join may take run in partitions, by temporary files, and are charged for that.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA planning_spilling;
SET search_path = planning_spilling, public;
CREATE TABLE sale AS SELECT i, (i * 7919::bigint % 300000)::int + 1 AS k, 'row ' || i AS t FROM generate_series(1, 300000) AS i;
CREATE TABLE item AS SELECT i AS k, i % 1000 AS v, 'item ' || i AS name FROM generate_series(1, 300000) AS i;
VACUUM ANALYZE sale, item;
SET max_parallel_workers_per_gather = 0;
SET gpujoin.aggregate = off;
SET hash_mem_multiplier = 1;
-- On every machine.
SET gpujoin.transfer_cost = 1;
SET gpujoin.build_cost = 0.002;
SET gpujoin.probe_cost = 0.001;
SET gpujoin.match_cost = 0.0001;
CREATE FUNCTION planned(query text, OUT is_ours boolean, OUT spills boolean) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || query INTO plan;
    is_ours := plan::text ~ 'GPU Join';
    SELECT sum((cost->>'Spill')::float8) > 0 INTO spills FROM jsonb_path_query(plan::jsonb, 'strict $.**."Predicted Cost"') AS cost;
END $$;
\set query 'SELECT count(*), max(name), max(t) FROM sale JOIN item USING (k)'
SELECT * FROM planned(:'query');
SET work_mem = '1MB';
SET gpujoin.max_join_memory = '1MB';
SELECT * FROM planned(:'query');
SELECT * FROM planned('SELECT count(name), count(t) FROM sale FULL JOIN item USING (k)');
-- Its rows are core's.
SELECT * FROM compare('SELECT sale.*, item.* FROM sale LEFT JOIN item USING (k)');
CREATE FUNCTION parts(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan::jsonb, 'strict $.**."Partitions"');
END $$;
SELECT parts(:'query') >= 32 AS in_parts;
-- What it would write is more than a session may have in temporary files.
SET temp_file_limit = '4MB';
SELECT * FROM planned(:'query');
SELECT regexp_replace(reason, '[0-9]+ MB', 'n MB') AS reason FROM gpujoin_why(:'query') WHERE kind = 'Inner Join';
RESET temp_file_limit;
-- What is kept of an input is read all the same, and counted on by nobody.
SELECT gpujoin_forget();
SELECT gpujoin_keep('item') > 0 AND gpujoin_keep('sale') > 0 AS kept;
SELECT * FROM planned(:'query');
SELECT * FROM compare('SELECT sale.*, item.* FROM sale JOIN item USING (k)');
SELECT gpujoin_forget();
-- Where nothing tells rows apart by which they could be divided, all pass each piece of the build side.
SELECT * FROM planned('SELECT count(*) FROM sale JOIN item ON sale.i BETWEEN item.k AND item.k + 1');
-- Chains, and groups of their rows, which come once from each partition.
CREATE TABLE kind AS SELECT i AS v, i % 7 AS kind, 'label ' || i % 50 AS label FROM generate_series(0, 999, 2) AS i;
VACUUM ANALYZE kind;
SET gpujoin.aggregate = on;
CREATE FUNCTION node(query text, OUT name text, OUT stages integer, OUT spills boolean, OUT in_parts boolean) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    node jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
    node := jsonb_path_query_first(plan::jsonb, 'strict $.** ? (exists (@."Predicted Cost"))');
    name := node->>'Custom Plan Provider';
    stages := coalesce(jsonb_array_length(node->'Stages'), 1);
    spills := (node->'Predicted Cost'->>'Spill')::float8 > 0;
    in_parts := (node->>'Partitions')::integer >= 32;
END $$;
\set rows 'SELECT sale.t, item.name, kind, label FROM sale JOIN item USING (k) LEFT JOIN kind USING (v)'
\set groups 'SELECT kind, label, count(*), sum(i) FROM sale JOIN item USING (k) LEFT JOIN kind USING (v) GROUP BY kind, label'
\set many_groups 'SELECT name, count(*), sum(i) FROM sale JOIN item USING (k) LEFT JOIN kind USING (v) GROUP BY name'
\set distinct 'SELECT kind, count(DISTINCT label) FROM sale JOIN item USING (k) LEFT JOIN kind USING (v) GROUP BY kind'
SELECT name FROM node(:'rows');
SELECT * FROM compare(:'rows');
SELECT * FROM node(:'groups');
SELECT rows, missing, extra FROM compare(:'groups');
SELECT * FROM node(:'many_groups');
SELECT rows, missing, extra FROM compare(:'many_groups');
-- Distinct values are counted where groups come once.
SELECT name FROM node(:'distinct');
SELECT regexp_replace(reason, '[0-9]+ MB', 'n MB') AS reason FROM gpujoin_why(:'distinct') WHERE reason ~ 'memory';
SET client_min_messages = error;
DROP SCHEMA planning_spilling CASCADE;
