-- SELECT DISTINCT: rows are grouped by all that they have. The same rows as core's, of tables, joins, subqueries and partitions, in the
-- order that is asked for, and again and again; and what is left to core.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/explain.sql
\set ECHO all
CREATE TABLE fact AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 50 END AS a, i % 9 - 4 AS b, (i * 7 % 40 / 4.0)::numeric(9, 2) AS price, CASE WHEN i % 19 <> 0 THEN 't' || i % 7 END AS t, (i % 3)::text::character(4) AS c,
    CASE i % 4 WHEN 0 THEN 0.0 WHEN 1 THEN 'NaN' WHEN 2 THEN 1.5 END::float8 AS f, '2024-01-01'::date + i % 40 AS d, ARRAY[i % 2] AS r, '{"a": 1}'::json AS j FROM generate_series(1, 3000) AS i;
CREATE TABLE dim AS SELECT i AS k, i % 6 AS g, 'n' || i % 4 AS name FROM generate_series(0, 40) AS i;
CREATE TABLE part (k integer, v integer) PARTITION BY RANGE (k);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (50);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (50) TO (200);
INSERT INTO part SELECT i % 120, i % 17 FROM generate_series(1, 1000) AS i;
CREATE TABLE nothing (LIKE fact);
CREATE TABLE large AS SELECT i AS id, i % 1000 AS a, i % 7 AS b, 'text ' || i % 100 AS t FROM generate_series(1, 200000) AS i;
VACUUM ANALYZE fact, dim, part, nothing, large;

-- How they look, and that they are taken where that is clearly cheaper: not for few rows. As many as there are come once each.
SET max_parallel_workers_per_gather = 0;
SET gpujoin.startup_cost = 0;  -- what is measured of it depends on what else the machine does
EXPLAIN (COSTS OFF) SELECT DISTINCT b, t FROM large;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT DISTINCT a, b FROM large WHERE id > 10) AS s;
EXPLAIN (COSTS OFF) SELECT DISTINCT a FROM fact;
RESET gpujoin.startup_cost;
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT DISTINCT g, name FROM fact JOIN dim ON a = k WHERE b > 0 ORDER BY name DESC LIMIT 3;
SELECT line FROM analyzed('SELECT DISTINCT b, t FROM fact') AS line WHERE line !~ 'Memory Usage';
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT b, t FROM fact ORDER BY t;
RESET enable_hashagg;
RESET gpujoin.force;

SELECT * FROM compare_all(ARRAY[
    'SELECT DISTINCT a FROM fact',
    'SELECT DISTINCT a, b, t, c, d FROM fact',
    'SELECT DISTINCT id FROM fact',
    'SELECT DISTINCT t FROM nothing',
    'SELECT DISTINCT price, f FROM fact',
    'SELECT DISTINCT c, c || ''x'', length(c) FROM fact',
    'SELECT DISTINCT 1, a FROM fact WHERE b = 2',
    'SELECT DISTINCT a, b FROM fact WHERE b = 2',
    'SELECT DISTINCT a + b, a / 7, upper(t) FROM fact',
    'SELECT DISTINCT extract(month FROM d), date_trunc(''month'', d) FROM fact',
    'SELECT DISTINCT CASE WHEN b <> 0 THEN a / b END FROM fact',
    'SELECT DISTINCT a / (b + 4) FROM fact WHERE b <> -4',
    'SELECT DISTINCT f.a, f.b FROM fact AS f WHERE f.t LIKE ''t1%'' OR f.b IS NULL',
    'SELECT DISTINCT a, a, b AS x, b AS y FROM fact',
    'SELECT DISTINCT a + b, a + b FROM fact',
    'SELECT DISTINCT upper(t), upper(t), a FROM fact WHERE a % 7 = 3',
    'SELECT DISTINCT v, k % 7 FROM part WHERE k % 7 = 3',
    'SELECT DISTINCT k + v, k + v FROM part',
    'SELECT DISTINCT k % 7, v, v + 0 FROM part WHERE k % 7 = 3 AND v + 0 = v',
    'SELECT DISTINCT upper(x), upper(x) FROM (SELECT t AS x FROM fact UNION ALL SELECT name FROM dim) AS s',
    'SELECT DISTINCT upper(x), upper(x) FROM (VALUES (''a'', 1), (''A'', 2)) AS v(x, y)',
    'WITH s AS MATERIALIZED (SELECT t, a FROM fact) SELECT DISTINCT length(t), length(t), a % 3 FROM s WHERE a % 3 = 1',
    'SELECT DISTINCT a + g, a + g, name FROM fact JOIN dim ON a = k WHERE a + g = 8',
    'SELECT DISTINCT f.b + y.v, f.b + y.v FROM fact AS f FULL JOIN part AS y ON f.id = y.k',
    'SELECT DISTINCT g FROM fact JOIN dim ON a = k',
    'SELECT DISTINCT name, g, t FROM fact LEFT JOIN dim ON a = k AND g < 4',
    'SELECT DISTINCT g, name FROM dim WHERE EXISTS (SELECT FROM fact WHERE a = k AND b > 2)',
    'SELECT DISTINCT x.g, y.g FROM fact JOIN dim AS x ON a = x.k JOIN dim AS y ON b = y.k',
    'SELECT DISTINCT x.a, y.b FROM fact AS x JOIN fact AS y ON x.id < y.id AND y.id < x.id + 3',
    'SELECT DISTINCT k % 7, v FROM part',
    'SELECT DISTINCT tableoid::regclass, v FROM part',
    'SELECT DISTINCT b FROM (SELECT b FROM fact UNION ALL SELECT v FROM part) AS s',
    'SELECT DISTINCT n FROM (SELECT a, count(*) AS n FROM fact GROUP BY a) AS s',
    'SELECT DISTINCT x, y FROM (VALUES (1, NULL), (1, NULL), (NULL, 2), (1, 2)) AS v(x, y)',
    'SELECT g % 7 FROM generate_series(1, 500) AS g GROUP BY 1 HAVING g % 7 IN (SELECT DISTINCT b FROM fact)',
    'SELECT a, b FROM (SELECT DISTINCT a, b FROM fact) AS s JOIN dim ON a = k WHERE g = 1',
    'SELECT count(*), sum(a), max(t) FROM (SELECT DISTINCT a, t FROM fact) AS s',
    'WITH s AS MATERIALIZED (SELECT DISTINCT a, b FROM fact) SELECT x.a, count(*) FROM s AS x JOIN s AS y USING (b) GROUP BY 1',
    'SELECT k, (SELECT count(*) FROM (SELECT DISTINCT t FROM fact WHERE a = k) AS s) FROM dim',
    'SELECT k, s.* FROM dim, LATERAL (SELECT DISTINCT b + k AS x FROM fact WHERE a < k) AS s WHERE g = 3']);
-- All rows are the same: from 16 on core takes one of them.
SELECT * FROM compare('SELECT DISTINCT b FROM fact WHERE b = 2');
SELECT * FROM compare('SELECT DISTINCT 1, ''x'' FROM fact');
SELECT * FROM compare('SELECT DISTINCT b FROM nothing WHERE b = 2');
-- Left to core: DISTINCT ON, and what is made distinct of groups and windows, or of types without an encoding; UNION.
SELECT query, bool_or(line ~ 'GPU Aggregate') AS taken FROM unnest(ARRAY[
    'SELECT DISTINCT ON (a) a, b FROM fact ORDER BY a, b, id',
    'SELECT DISTINCT count(*) FROM nothing GROUP BY a HAVING avg(length(t)) > 1 AND string_agg(t, '''') > ''''',
    'SELECT DISTINCT rank() OVER (ORDER BY a) FROM fact',
    'SELECT DISTINCT generate_series(1, b) FROM fact',
    'SELECT DISTINCT r FROM fact',
    'SELECT a FROM fact UNION SELECT b FROM fact']) AS query, LATERAL (SELECT line FROM (SELECT set_config('gpujoin.force', 'on', false)) AS f, plan_of(query) AS line) AS l GROUP BY query ORDER BY query;
RESET gpujoin.force;
SELECT DISTINCT j FROM fact;
SELECT * FROM compare_all(ARRAY[
    'SELECT DISTINCT ON (a) a, b, id FROM fact ORDER BY a, b, id',
    'SELECT DISTINCT count(*), sum(b) FROM fact GROUP BY a',
    'SELECT DISTINCT rank() OVER (ORDER BY a), b FROM fact',
    'SELECT DISTINCT generate_series(1, b), a FROM fact',
    'SELECT DISTINCT r, b FROM fact',
    'SELECT a, b FROM fact UNION SELECT k, v FROM part',
    'SELECT DISTINCT a FROM fact INTERSECT SELECT DISTINCT k FROM part EXCEPT SELECT 7']);
-- Errors are core's.
SET gpujoin.force = on;
SELECT DISTINCT a / (b + 4) FROM fact;
RESET gpujoin.force;

-- In an order, some of them, in a cursor, with parameters, and written to a table.
SET gpujoin.force = on;
SELECT DISTINCT t, b FROM fact WHERE b > 2 ORDER BY b DESC, t NULLS FIRST LIMIT 6;
SELECT DISTINCT a FROM fact ORDER BY a OFFSET 46;
BEGIN;
DECLARE c CURSOR FOR SELECT DISTINCT b FROM fact ORDER BY b;
FETCH 2 FROM c;
FETCH 1 FROM c;
COMMIT;
PREPARE above (integer) AS SELECT DISTINCT b FROM fact WHERE b > $1 ORDER BY b;
EXECUTE above (1);
EXECUTE above (NULL);
DEALLOCATE above;
CREATE TABLE written AS SELECT DISTINCT a, t FROM fact;
INSERT INTO written SELECT DISTINCT g, name FROM fact JOIN dim ON a = k;
SELECT count(*), count(DISTINCT (a, t)), sum(a) FROM written;
RESET gpujoin.force;
SELECT count(*), sum(a) FROM (SELECT a, t FROM fact GROUP BY a, t UNION ALL SELECT g, name FROM fact JOIN dim ON a = k GROUP BY g, name) AS s;

-- By several processes.
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT * FROM compare_all(ARRAY[
    'SELECT DISTINCT a, b, t FROM fact',
    'SELECT DISTINCT a, t FROM large',
    'SELECT DISTINCT g, name, b FROM fact JOIN dim ON a = k',
    'SELECT count(*), sum(id) FROM (SELECT DISTINCT id, b FROM large) AS s',
    'SELECT DISTINCT k, v FROM part']);
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- Why not, and that a DISTINCT is told of once.
SELECT kind, taken, node, reason FROM gpujoin_why('SELECT DISTINCT a FROM fact');
SET gpujoin.aggregate = off;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT line FROM plan_of('SELECT DISTINCT a, b FROM large') AS line WHERE line ~ 'HashAggregate|Unique|Gather|Scan';
SELECT kind, taken, reason FROM gpujoin_why('SELECT DISTINCT a, b FROM large');
SET enable_hashagg = off;
SELECT kind, taken, node, reason FROM gpujoin_why('SELECT DISTINCT b, b, 1 FROM large');
RESET enable_hashagg;
RESET gpujoin.aggregate;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
DROP TABLE fact, dim, part, nothing, large, written;
