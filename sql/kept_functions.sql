-- gpujoin_keep(), gpujoin_forget() and the view gpujoin_kept. (Too little memory, cancelled, another database, no server:
-- test/tap.) The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
CREATE SCHEMA keeping;
SET search_path = keeping, public;
SET max_parallel_workers_per_gather = 0;
SET gpujoin.force = on;
CREATE TABLE sale (id integer, k integer, v smallint, d date, p numeric(12, 2), t text, x double precision, place point);
INSERT INTO sale SELECT i AS id, i % 40 AS k, (i % 300)::smallint AS v, '2024-01-01'::date + i % 100 AS d, (i % 5000 / 100.0)::numeric(12, 2) AS p,
    't' || i % 6 AS t, i / 8.0 AS x, point(i, i) AS place FROM generate_series(1, 40000) AS i;
CREATE FUNCTION kept() RETURNS TABLE (relation regclass, columns integer, chunks integer, "rows" bigint, has_bytes boolean) LANGUAGE sql AS $$
SELECT relation, columns, chunks, rows, bytes > 0 FROM gpujoin_kept WHERE database = current_database() AND relation::text ~ 'sale|small'
$$;

-- What is not visible to all is not kept.
SELECT gpujoin_keep('sale');
VACUUM ANALYZE sale;
-- Some columns, more of them, all; and again, which is nothing to do.
SELECT gpujoin_keep('sale', '{k, v}') = pg_relation_size('sale') / 8192 AS "all";
SELECT * FROM kept();
SELECT * FROM kept_by('SELECT k, sum(v) FROM sale GROUP BY k');
SELECT gpujoin_keep('sale', '{k, d, d}') = pg_relation_size('sale') / 8192 AS "all";
SELECT * FROM kept();
SELECT gpujoin_keep('sale') = pg_relation_size('sale') / 8192 AS "all", gpujoin_keep('sale') = pg_relation_size('sale') / 8192 AS again;
SELECT * FROM kept();
SELECT q, r.* FROM unnest(ARRAY[
    'SELECT k, sum(v), min(d), count(*) FROM sale GROUP BY k',
    'SELECT t, sum(p), avg(p) FROM sale WHERE d < ''2024-02-01'' AND p > 3 GROUP BY t',
    'SELECT d, sum(id) FROM sale WHERE v BETWEEN 7 AND 100 GROUP BY d']) AS q, compare_kept(q, 1) AS r;
-- The planner knows, too, however long a round trip to a busy server was measured to take.
RESET gpujoin.force;
SET cpu_tuple_cost = 0.1;
SELECT line FROM plan_of('SELECT k, sum(v) FROM sale GROUP BY k') AS line WHERE line ~ 'GPU';
RESET cpu_tuple_cost;
SET gpujoin.force = on;

-- After changes.
UPDATE sale SET v = v + 1 WHERE id = 100;
SET client_min_messages = warning;  -- how many blocks
SELECT gpujoin_keep('sale') < pg_relation_size('sale') / 8192 AS fewer;
RESET client_min_messages;
SELECT chunks, read BETWEEN 1 AND 2 AS few, missing, extra FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k', 1);
VACUUM sale;
SELECT gpujoin_keep('sale') = pg_relation_size('sale') / 8192 AS "all";
SELECT * FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k', 1);
ALTER TABLE sale ADD COLUMN late integer DEFAULT 7;
SELECT gpujoin_keep('sale', '{late}') = pg_relation_size('sale') / 8192 AS "all";
SELECT * FROM compare_kept('SELECT late, count(*), sum(v) FROM sale GROUP BY late', 1);

-- Files that are written anew are others; what was kept of the old ones is nobody's.
VACUUM FULL sale;
SELECT * FROM kept();
SELECT gpujoin_forget();
SELECT count(*) FROM gpujoin_kept;
VACUUM sale;
SELECT gpujoin_keep('sale', '{k}') > 0 AS kept;
CREATE TABLE small AS SELECT 1 AS i;
VACUUM small;
SELECT gpujoin_keep('small');
SELECT * FROM kept() ORDER BY 1;
SELECT gpujoin_forget('sale');
SELECT * FROM kept();
SELECT * FROM kept_by('SELECT k, sum(v) FROM sale GROUP BY k');
SELECT gpujoin_forget('sale'), gpujoin_forget('small');
SELECT gpujoin_keep(NULL);

-- What is kept of a table stands neither for a sample of it, nor for what inherits from it.
CREATE TABLE sale_of_kin () INHERITS (sale);
INSERT INTO sale_of_kin SELECT * FROM ONLY sale WHERE id <= 100;
VACUUM ANALYZE sale, sale_of_kin;
SELECT gpujoin_keep('sale') > 0 AS kept;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TABLE number AS SELECT i AS k FROM generate_series(0, 3000) AS i;
ANALYZE number;
SELECT q, r.rows, r.missing, r.extra FROM unnest(ARRAY[
    'SELECT count(*), sum(v) FROM sale', 'SELECT count(*), sum(v) FROM ONLY sale', 'SELECT k, count(*) FROM sale GROUP BY k',
    'SELECT count(*), sum(v) FROM sale TABLESAMPLE SYSTEM (10) REPEATABLE (1)', 'SELECT count(*), sum(v) FROM ONLY sale TABLESAMPLE BERNOULLI (10) REPEATABLE (1)',
    'SELECT n.k, s.v FROM number n LEFT JOIN sale s ON s.id = n.k', 'SELECT count(s.v), sum(n.k) FROM number n JOIN sale s USING (k)',
    'SELECT n.k, s.v FROM number n LEFT JOIN ONLY sale s TABLESAMPLE SYSTEM (10) REPEATABLE (1) ON s.id = n.k']) AS q, compare_kept(q) AS r;
DROP TABLE sale_of_kin, number;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
SELECT gpujoin_forget();

-- What cannot be kept.
CREATE VIEW sales AS TABLE sale;
CREATE MATERIALIZED VIEW sales_then AS TABLE small;
CREATE TABLE parts (i integer) PARTITION BY LIST (i);
CREATE UNLOGGED TABLE scratch (i integer);
CREATE TEMP TABLE own (i integer);
CREATE SEQUENCE numbers;
CREATE INDEX sale_k ON sale (k);
SELECT gpujoin_keep('sales');
SELECT gpujoin_keep('sales_then');
SELECT gpujoin_keep('parts');
SELECT gpujoin_keep('scratch');
SELECT gpujoin_keep('own');
SELECT gpujoin_keep('numbers');
SELECT gpujoin_keep('sale_k');
SELECT gpujoin_keep('pg_class');
SELECT gpujoin_keep('no_such_table');
SELECT gpujoin_keep(1::oid);
SELECT gpujoin_keep('sale', '{no_such_column}');
SELECT gpujoin_keep('sale', '{ctid}');
SELECT gpujoin_keep('sale', '{place}');
SELECT gpujoin_keep('sale', '{k, NULL}');
SELECT gpujoin_keep('sale', '{{k}, {v}}');
BEGIN;
LOCK TABLE sale;
SELECT gpujoin_keep('sale');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT gpujoin_keep('sale');
ROLLBACK;
BEGIN READ ONLY;
SELECT gpujoin_keep('sale', '{k}') > 0 AS kept;
COMMIT;
-- No column at all.
SELECT gpujoin_keep('sale', '{}');

-- Who may: keep what one may read, forget what one owns, and look as those who monitor.
CREATE ROLE keeping_nobody;
GRANT USAGE ON SCHEMA keeping TO keeping_nobody;
GRANT SELECT (k, v) ON sale TO keeping_nobody;
SET ROLE keeping_nobody;
SELECT gpujoin_keep('sale', '{k, v}') > 0 AS kept;
SELECT gpujoin_keep('sale', '{k, p}');
SELECT gpujoin_keep('sale');
SELECT gpujoin_forget('sale');
SELECT gpujoin_forget();
SELECT * FROM gpujoin_kept;
SELECT * FROM gpujoin_list_kept();
RESET ROLE;
GRANT pg_monitor TO keeping_nobody;
SET ROLE keeping_nobody;
SELECT count(*) FROM gpujoin_kept WHERE relation = 'sale'::regclass;
RESET ROLE;
ALTER TABLE sale OWNER TO keeping_nobody;
SET ROLE keeping_nobody;
SELECT gpujoin_forget('sale');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA keeping CASCADE;
DROP ROLE keeping_nobody;
