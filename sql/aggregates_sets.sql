-- GROUPING SETS, CUBE and ROLLUP up to PostgreSQL 17: the engine makes the groups of all columns, core's node those of each set of them, whether
-- it hashes, sorts, or both. The same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE fact AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN (i * 7919::bigint % 31)::int END AS a, CASE WHEN i % 11 <> 0 THEN 'name ' || i % 17 END AS b, (i % 101)::int2 AS c, '2020-01-01'::date + i % 40 * 31 AS d,
    CASE WHEN i % 5 <> 0 THEN (i * 1009::bigint % 2000003)::int - 1000000 END AS v, CASE WHEN i % 7 <> 0 THEN (i % 900001 - 400000) / 100.0 END::numeric(12, 2) AS p, i % 3 = 0 AS even
FROM generate_series(1, 20000) AS i;
CREATE TABLE dim AS SELECT i AS a, i % 4 AS g, 'dim ' || i % 9 AS name FROM generate_series(0, 29) AS i;
CREATE TABLE nothing (LIKE fact);
ANALYZE fact, dim, nothing;

-- How they look.
SET gpujoin.force = on;
SELECT since(18) OR array_agg(substring(line FROM '(GPU[^)]*|Finalize \w+|Key: .*)')) = ARRAY['GPU Finalize Aggregate', 'Finalize MixedAggregate', 'Key: a, c', 'Key: a', 'Key: ()',
    'GPU Aggregate', 'Key: a, c'] AS as_expected
FROM plan_of('SELECT a, c, grouping(a, c), sum(p) FROM fact GROUP BY ROLLUP (a, c) HAVING count(*) > 3') AS line WHERE line ~ 'GPU|Finalize|Key';
RESET gpujoin.force;

CREATE VIEW queries AS SELECT * FROM unnest(ARRAY[
    'SELECT a, b, sum(v), avg(p), count(*), min(d), stddev(v) FROM fact GROUP BY ROLLUP (a, b)',
    'SELECT a, b, c, grouping(a, b, c), sum(p) FROM fact GROUP BY CUBE (a, b, c)',
    'SELECT a, c, grouping(a), grouping(c), sum(v) FROM fact GROUP BY GROUPING SETS ((a), (c), ())',
    'SELECT a, c, sum(v) FROM fact GROUP BY GROUPING SETS ((a, c), (a, c), (c))',
    'SELECT a, c, sum(v) FROM fact GROUP BY a, ROLLUP (c, b)',
    'SELECT sum(v), count(*) FROM fact GROUP BY GROUPING SETS ((), ())',
    'SELECT a, sum(a), max(a), count(a) FROM fact GROUP BY ROLLUP (a)',
    'SELECT a + 1 AS next, extract(year FROM d), sum(v) FROM fact GROUP BY ROLLUP (1, 2)',
    'SELECT upper(b), a % 3, count(*) FROM fact GROUP BY GROUPING SETS ((upper(b)), (a % 3), (upper(b), a % 3))',
    'SELECT a, b, sum(v) FROM fact GROUP BY CUBE (a, b) HAVING grouping(a) + grouping(b) = 1 AND sum(v) > 0',
    'SELECT grouping(a, b) AS level, sum(p) / nullif(count(v), 0), rank() OVER (PARTITION BY grouping(a, b) ORDER BY sum(p)) FROM fact GROUP BY ROLLUP (a, b)',
    'SELECT a, sum(v) FILTER (WHERE even), count(*) FILTER (WHERE v > 0), sum(CASE WHEN even THEN p ELSE 0 END) FROM fact GROUP BY ROLLUP (a)',
    'SELECT a, b FROM fact GROUP BY ROLLUP (a, b)', 'SELECT DISTINCT a, grouping(a, b) FROM fact GROUP BY CUBE (a, b)',
    'SELECT a, b, sum(v) FROM nothing GROUP BY ROLLUP (a, b)', 'SELECT a, sum(v) FROM nothing GROUP BY GROUPING SETS ((a))',
    'SELECT g, name, grouping(g, name), sum(p), avg(v) FROM fact JOIN dim USING (a) GROUP BY ROLLUP (g, name)',
    'SELECT g, c, count(fact.id) FROM dim LEFT JOIN fact ON fact.a = dim.a AND even GROUP BY CUBE (g, c)',
    'SELECT a, b, sum(v) FROM fact WHERE c < 50 GROUP BY ROLLUP (a, b) ORDER BY a NULLS FIRST, b, 3 LIMIT 20',
    'SELECT dim.a, (SELECT string_agg(s::text, '' '' ORDER BY s::text) FROM (SELECT c, sum(v) FROM fact WHERE fact.a = dim.a AND c < 5 GROUP BY ROLLUP (c)) AS s) FROM dim',
    'SELECT n, s.* FROM generate_series(1, 3) AS n LEFT JOIN (SELECT a, count(*) AS many FROM fact GROUP BY ROLLUP (a)) AS s ON s.many % 3 <> n',
    'SELECT a, count(DISTINCT c) FROM fact GROUP BY ROLLUP (a)', 'SELECT a, string_agg(b, '','' ORDER BY id) FROM fact GROUP BY ROLLUP (a)',
    'SELECT a, count(*) FROM fact WHERE a = 5 GROUP BY ROLLUP (a)', 'SELECT c, count(*) FROM fact WHERE c = 3 GROUP BY GROUPING SETS ((c), ())',
    'SELECT a, c, count(*), sum(v) FROM fact WHERE a = 5 AND c = 3 GROUP BY CUBE (a, c)', 'SELECT g, sum(v), avg(p) FROM fact JOIN dim USING (a) WHERE g = 3 GROUP BY ROLLUP (g)',
    'SELECT 1 AS x, c, count(*) FROM fact WHERE c < 2 GROUP BY CUBE (x, c)', 'SELECT a AS x, a AS y, count(*), sum(v) FROM fact GROUP BY CUBE (x, y)', 'SELECT x, c, count(*) FROM (SELECT 1 AS x, c FROM fact) AS s GROUP BY CUBE (x, c)'
    ]) WITH ORDINALITY AS q (query, n);
-- Hashed or sorted as core likes it, with rows that PostgreSQL aggregates, sorted only, in memory for few groups.
SELECT q.n, since(18) OR q.n = 30 OR (c.aggregates > 0) = (q.n < 22 AND q.n <> 6 OR q.n BETWEEN 24 AND 27) AS as_expected, c.rows, c.missing, c.extra, c.other_error FROM queries AS q, compare_nodes(q.query) AS c ORDER BY 1;
SET gpujoin.force = on;
CREATE SEQUENCE numbers;
SELECT bool_and(one <> other) AS all_differ FROM (SELECT c, nextval('numbers') AS one, nextval('numbers') AS other, count(*) FROM fact GROUP BY ROLLUP (c)) AS s;
PREPARE by_constant(integer) AS SELECT count(k), count(*) FROM (SELECT c, $1 AS k, count(*) FROM fact WHERE c < $1 GROUP BY ROLLUP (c, k)) AS s;
EXECUTE by_constant(2);
DEALLOCATE by_constant;
DROP SEQUENCE numbers;
RESET gpujoin.force;
UPDATE fact SET p = 'NaN' WHERE id = 777;
SET enable_hashagg = off;
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0;
RESET enable_hashagg;
SET work_mem = '64kB';
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0;
RESET work_mem;
-- By several processes.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0;
-- Each sorts its own groups.
SET enable_hashagg = off;
SET gpujoin.force = on;
SELECT since(18) OR array_agg(substring(line FROM '(GPU[^)]*|Gather.*|Sort|Finalize \w+)$')) = ARRAY['GPU Finalize Aggregate', 'Finalize GroupAggregate', 'Gather Merge', 'Sort', 'GPU Aggregate'] AS as_expected
FROM (SELECT rtrim(l, ')') AS line FROM plan_of('SELECT b, id, sum(v) FROM fact GROUP BY ROLLUP (b, id)') AS l) AS p WHERE line ~ 'GPU|Gather|Sort$|Finalize';
RESET gpujoin.force;
SELECT rows, missing, extra FROM compare_nodes('SELECT b, id, sum(v) FROM fact GROUP BY ROLLUP (b, id)');
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0;
RESET enable_hashagg;
RESET max_parallel_workers_per_gather;
DROP VIEW queries;
DROP TABLE fact, dim, nothing;
