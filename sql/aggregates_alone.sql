-- Aggregates without a join below: of tables, partitions, views, functions, subqueries and core's own joins; in subplans that run
-- again and again, in cursors, by several processes; and which of them are worth it. The same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/explain.sql
\set ECHO all
CREATE TABLE sale AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 100 END AS a, CASE WHEN i % 7 <> 0 THEN i % 9 - 4 END AS b, i * 37 % 1009 AS v, (i % 4) * 4294967296 - 1 AS w, (i * 7 % 1000 / 4.0)::numeric(9, 2) AS price,
    CASE WHEN i % 19 <> 0 THEN 't' || i % 7 END AS t, '2024-01-01'::date + i % 40 AS d, repeat('x', i % 50) AS remark FROM generate_series(1, 3000) AS i;
CREATE TABLE part (k integer, v integer, p numeric(6, 1)) PARTITION BY RANGE (k);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (50);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (50) TO (200);
INSERT INTO part SELECT i % 120, i, i / 10.0 FROM generate_series(1, 1000) AS i;
CREATE TABLE parent (k integer, v integer);
CREATE TABLE child (extra text) INHERITS (parent);
INSERT INTO parent SELECT i % 5, i FROM generate_series(1, 50) AS i;
INSERT INTO child SELECT i % 7, i, 'x' FROM generate_series(1, 70) AS i;
CREATE TABLE nothing (LIKE sale);
CREATE TABLE large AS SELECT i AS id, i % 1000 AS a, i % 7 AS b, (i % 10000 / 100.0)::numeric(9, 2) AS price FROM generate_series(1, 200000) AS i;
CREATE INDEX ON large (a);
CREATE VIEW seen AS SELECT a, b, v FROM sale WHERE v > 100;
CREATE VIEW guarded WITH (security_barrier) AS SELECT * FROM sale WHERE b > 0;
VACUUM ANALYZE sale, part, parent, child, nothing, large;

-- How they look, and that they are taken where that is clearly cheaper: not for few rows. As many groups as rows come once each.
SET max_parallel_workers_per_gather = 0;
SET gpujoin.startup_cost = 0;  -- what is measured of it depends on what else the machine does
EXPLAIN (COSTS OFF) SELECT b, sum(price), avg(price), count(*) FROM large GROUP BY b;
EXPLAIN (COSTS OFF) SELECT sum(price * 2) FROM large WHERE a < 900;
EXPLAIN (COSTS OFF) SELECT sum(price) FROM sale;
SELECT bool_or(line ~ 'GPU Finalize Aggregate') AS taken FROM plan_of('SELECT id, sum(price) FROM large GROUP BY id') AS line;
SELECT explained('SELECT max(a) FROM large');
EXPLAIN (COSTS OFF) SELECT sum(price) FROM large WHERE a = 5;
RESET gpujoin.startup_cost;
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT t, sum(v) FILTER (WHERE b > 0) FROM sale WHERE v < 900 GROUP BY t HAVING count(*) > 10;
SELECT analyzed('SELECT t, sum(v) FROM sale GROUP BY t');
SELECT explained('SELECT b, sum(v) FROM sale GROUP BY b', 'FORMAT YAML');
EXPLAIN (COSTS OFF) SELECT sum(v + random()::int) FROM sale;
EXPLAIN (COSTS OFF) SELECT count(*) FROM generate_series(1, 10);
RESET gpujoin.force;

-- Tables: without keys, with some, without rows, with conditions, by expressions, with errors that are core's.
SELECT * FROM compare_all(ARRAY[
    'SELECT count(*), count(a), sum(v), avg(b), min(d), max(price) FROM sale', 'SELECT t, count(*), sum(v), avg(price), min(w), max(d) FROM sale GROUP BY t', 'SELECT a, b, t, count(*), sum(price * (1 - price)) FROM sale GROUP BY a, b, t', 'SELECT id, sum(v) FROM sale GROUP BY id', 'SELECT DISTINCT a, b FROM sale', 'SELECT count(*), sum(v), max(t) FROM nothing', 'SELECT a, sum(v) FROM nothing GROUP BY a', 'SELECT a FROM sale GROUP BY a HAVING sum(v) > 15000',
    'SELECT extract(month FROM d), left(t, 2), sum(CASE WHEN t LIKE ''t1%'' THEN price ELSE 0 END) FROM sale GROUP BY 1, 2', 'SELECT sum(w), avg(w), sum(w * 1000000000) FILTER (WHERE id < 3) FROM sale', 'SELECT v % 10, sum(v / b) FILTER (WHERE b <> 0) FROM sale WHERE remark LIKE ''xxx%'' GROUP BY 1', 'SELECT sum(v), count(*) FROM sale WHERE id = 5', 'SELECT sum(v) FROM sale WHERE false', 'SELECT ''c'', sum(v) FROM sale GROUP BY 1', 'SELECT count(*) FROM sale TABLESAMPLE SYSTEM (100)']);
SELECT sum(v / b) FROM sale;
SELECT sum(w * 4000000000) FROM sale;
-- Keys that are computed: some of them fail for rows that conditions leave out, or for all.
SELECT * FROM compare_all(ARRAY[
    'SELECT v % 10, id / 7, count(*), sum(price) FROM sale GROUP BY 1, 2', 'SELECT 1000 / (b + 3), count(*) FROM sale WHERE b <> -3 GROUP BY 1', 'SELECT 1000 / (b + 3), count(*) FROM sale GROUP BY 1',
    'SELECT date_trunc(''day'', d + v * interval ''1 hour''), date_trunc(''month'', d::timestamp), count(*), sum(v) FROM sale GROUP BY 1, 2', 'SELECT t || left(remark, 1), length(remark) % 5, sum(w) FROM sale GROUP BY 1, 2',
    'SELECT CASE WHEN b = 0 THEN -1 ELSE v / b END, max(d) FROM sale GROUP BY 1', 'SELECT a + b, a - b, count(*) FROM sale WHERE a * b > 5 GROUP BY 1, 2 HAVING sum(v) > 100', 'SELECT b::text, price::int, count(*) FROM sale GROUP BY 1, 2',
    'SELECT a % 2 = 0, b IS NULL, count(DISTINCT v % 3), sum(v) FROM sale GROUP BY 1, 2', 'SELECT d - date ''2024-01-01'', count(*) FROM sale GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5', 'SELECT k % 7, sum(v / 2) FROM part GROUP BY 1']);
-- What else rows come from: partitions, children, views, functions, subqueries, and joins that are core's or ours.
SELECT * FROM compare_all(ARRAY[
    'SELECT k, count(*), sum(v), avg(p) FROM part GROUP BY k', 'SELECT sum(p) FROM part WHERE k < 50', 'SELECT k, sum(v) FROM parent GROUP BY k', 'SELECT tableoid::regclass, sum(v) FROM parent GROUP BY 1', 'SELECT a, sum(v) FROM seen GROUP BY a', 'SELECT t, sum(price) FROM guarded GROUP BY t', 'SELECT g % 7, sum(g) FROM generate_series(1, 500) AS g GROUP BY 1', 'SELECT x, sum(y) FROM (VALUES (1, 2), (1, 3), (NULL, 4)) AS s (x, y) GROUP BY x', 'WITH s AS MATERIALIZED (SELECT a, v FROM sale LIMIT 500) SELECT count(*), sum(v) FROM s',
    'SELECT n, count(*) FROM (SELECT a, count(*) AS n FROM sale GROUP BY a) s GROUP BY n', 'SELECT sum(v) FROM (SELECT v FROM sale ORDER BY v DESC, id LIMIT 10) s', 'SELECT b, sum(v) FROM (SELECT b, v FROM sale UNION ALL SELECT k, v FROM part) s GROUP BY b', 'SELECT count(*), sum(x.v) FROM sale x FULL JOIN part y ON x.id = y.v', 'SELECT count(*) FROM parent, part', 'SELECT x.b, sum(y.v) FROM sale x, LATERAL (SELECT x.v + 1 AS v OFFSET 0) y GROUP BY x.b', 'SELECT count(*), sum(id) FROM large', 'SELECT b, avg(price) FROM large GROUP BY b']);
-- Again and again: with a parameter below, in the keys, in the arguments, and without any.
SELECT * FROM compare_all(ARRAY[
    'SELECT k, (SELECT sum(v) FROM sale WHERE a = k) FROM generate_series(1, 20) AS k', 'SELECT k, s.* FROM generate_series(1, 4) AS k, LATERAL (SELECT a % k AS r, sum(v + k) AS s FROM sale GROUP BY 1) s', 'SELECT k, (SELECT count(*) FROM sale WHERE v > k AND b = k % 3) FROM generate_series(1, 30) AS k', 'SELECT k, (SELECT max(n) FROM (SELECT b + k, count(*) AS n FROM sale GROUP BY 1) s) FROM generate_series(1, 9) AS k', 'SELECT id FROM sale WHERE v = (SELECT max(v) FROM sale)']);
SET gpujoin.force = on;
BEGIN;
DECLARE c CURSOR FOR SELECT a, sum(v) FROM sale GROUP BY a ORDER BY a;
FETCH 2 FROM c;
FETCH 1 FROM c;
COMMIT;
PREPARE by_b (integer) AS SELECT count(*), sum(v) FROM sale WHERE b = $1;
EXECUTE by_b (1);
EXECUTE by_b (NULL);
DEALLOCATE by_b;
RESET gpujoin.force;
-- By several processes.
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.force = on;
SELECT gpujoin_forget('large');
EXPLAIN (COSTS OFF) SELECT b, sum(price) FROM large GROUP BY b;
RESET gpujoin.force;
SELECT * FROM compare_all(ARRAY['SELECT b, sum(price), count(*), avg(a) FROM large GROUP BY b', 'SELECT a, b, max(id) FROM large GROUP BY a, b', 'SELECT id, sum(price) FROM large GROUP BY id', 'SELECT count(*) FROM large WHERE price < 50', 'SELECT k, sum(v), avg(p) FROM part GROUP BY k', 'SELECT k, (SELECT sum(price) FROM large WHERE a = k) FROM generate_series(1, 5) AS k', 'SELECT sum(price) FROM large WHERE id < 0']);

DROP VIEW seen, guarded;
DROP TABLE sale, part, parent, child, nothing, large;
