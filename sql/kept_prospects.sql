-- Queries that core's plans are cheaper for as long as nothing is kept: when their runs have come to what it takes, columns are kept for
-- them. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE sale (id integer, k bigint, v integer, d date, remark text);
INSERT INTO sale SELECT i AS id, i * 7919::bigint % 2000 AS k, i % 100 AS v, '2024-01-01'::date + i % 100 AS d, repeat('x', 150) AS remark FROM generate_series(1, 400000) AS i;
CREATE TABLE dim AS SELECT i AS k, i % 50 AS g, 'name ' || i % 7 AS name, repeat('x', 500) AS remark FROM generate_series(0, 1999) AS i;
CREATE INDEX ON sale (k);
CREATE INDEX ON dim (k);
VACUUM ANALYZE sale, dim;
-- How often a query runs until its plan uses kept columns, and its rows are core's then.
CREATE FUNCTION runs_until_kept(query text, most integer) RETURNS TABLE (is_core_first boolean, is_planned boolean, is_planned_again boolean, chunks integer, built integer, "rows" integer, missing bigint, extra bigint) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    nothing text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    is_core_first := plan::text !~ 'GPU';
    FOR i IN 1..most LOOP
        EXECUTE 'SELECT count(q::text) FROM (' || query || ') AS q' INTO nothing;
        EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
        EXIT WHEN plan::text ~ 'GPU';
    END LOOP;
    is_planned := plan::text ~ 'GPU';
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;  -- what is explained only uses nothing up
    is_planned_again := plan::text ~ 'GPU';
    EXECUTE 'SELECT count(q::text) FROM (' || query || ') AS q' INTO nothing;
    SELECT r.chunks, r.rows, r.missing, r.extra INTO chunks, rows, missing, extra FROM compare_kept(query) AS r;
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    SELECT sum((kept->>'Chunks Used')::integer) INTO built FROM jsonb_path_query(plan::jsonb, 'strict $.**."Kept Build"') AS kept;
    RETURN NEXT;
END $$;
SET gpujoin.encode_cost = 1;  -- whatever was measured: rows that are read anew are dear
SELECT * FROM runs_until_kept('SELECT v, count(*), sum(id) FROM sale WHERE k BETWEEN 1 AND 300 GROUP BY v', 300);
SELECT * FROM kept_by('SELECT v, count(*), sum(id) FROM sale WHERE k BETWEEN 1 AND 300 GROUP BY v');
-- The same where few rows are left of many.
SELECT * FROM runs_until_kept('SELECT d, sum(v) FROM sale WHERE id BETWEEN 100 AND 9000 GROUP BY d', 300);

-- A build side, of a join that core looks up.
SELECT gpujoin_forget('sale');
SELECT * FROM runs_until_kept('SELECT dim.name, dim.g, sale.id, sale.v FROM dim JOIN sale USING (k) WHERE dim.g < 4', 300);

-- A subquery that would run for each row of another is planned as if nothing were kept: PostgreSQL chooses between that and a hash table
-- of its rows by what one run costs.
RESET gpujoin.encode_cost;
SELECT gpujoin_forget('sale');
CREATE TEMP TABLE planned AS SELECT false AS is_kept, line
FROM plan_of('SELECT d.k, (SELECT sum(x.g) FROM sale JOIN dim x ON x.k = sale.k WHERE sale.v = d.k) FROM dim d') AS line;
SELECT gpujoin_keep('sale', '{k, v, id}') > 1000 AS kept;
INSERT INTO planned SELECT true, line
FROM plan_of('SELECT d.k, (SELECT sum(x.g) FROM sale JOIN dim x ON x.k = sale.k WHERE sale.v = d.k) FROM dim d') AS line;
SELECT count(*) FILTER (WHERE n <> 2) AS different, bool_or(line ~ 'sale') AS reads FROM (SELECT line, count(*) AS n FROM planned GROUP BY line) AS lines;

-- Small tables are read whatever is kept of them, and no plan counts on it.
CREATE TABLE few AS SELECT i AS k, i % 5 AS g FROM generate_series(1, 25000) AS i;
VACUUM ANALYZE few;
SET gpujoin.startup_cost = 0;
CREATE FUNCTION plan_of_few() RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT g, count(*) FROM few JOIN few f2 USING (k, g) GROUP BY g' INTO plan;
    RETURN plan;
END $$;
SELECT plan_of_few() AS unkept \gset
SELECT gpujoin_keep('few') > 0 AS is_kept, :'unkept' ~ 'GPU' AS is_ours, plan_of_few()::text = :'unkept' AS is_same;
RESET gpujoin.startup_cost;

-- What has been changed since it was kept is not counted on: tables are read by several processes then, as core reads them.
CREATE TABLE changed WITH (autovacuum_enabled = off) AS SELECT i AS id, i % 100 AS v, repeat('x', 100) AS remark FROM generate_series(1, 300000) AS i;
VACUUM ANALYZE changed;
CREATE FUNCTION is_planned_parallel() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT count(*), sum(id) FROM changed WHERE v < 50' INTO plan;
    RETURN plan::text ~ 'GPU Aggregate' AND plan::text ~ 'Gather';
END $$;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 10;
SELECT is_planned_parallel() AS unkept, gpujoin_keep('changed', '{id, v}') > 4000 AS kept, is_planned_parallel() AS when_kept;
BEGIN;
UPDATE changed SET v = v + 1;
SELECT is_planned_parallel();
ROLLBACK;
SELECT is_planned_parallel() AS after_rollback;
-- The map says that all is visible then, but not which of it was kept.
VACUUM changed;
SELECT is_planned_parallel() AS after_vacuum;
SELECT rows, missing, extra FROM compare_kept('SELECT count(*), sum(id) FROM changed WHERE v < 50', 3);
SELECT is_planned_parallel() AS after_runs;
-- Few blocks are read by several, too, where that is worth it next to reading them alone.
UPDATE changed SET v = v + 1 WHERE id % 1000 = 0;
SELECT is_planned_parallel() AS by_default;
SET cpu_tuple_cost = 0.3;
SELECT is_planned_parallel() AS where_rows_are_dear;
RESET cpu_tuple_cost;
SELECT read > 50 AS reads, rows, missing, extra FROM compare_kept('SELECT count(*), sum(id) FROM changed WHERE v < 50');
VACUUM changed;
SELECT is_planned_parallel() AS after_another_vacuum;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;

DROP FUNCTION runs_until_kept, compare_kept, kept_by, plan_of_few, is_planned_parallel;
DROP TABLE sale, dim, few, changed;
