-- count(DISTINCT x): the engine groups by x, too, and core's Finalize Aggregate counts what comes. Where a value may come twice, core's
-- own plan is run. The same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/explain.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE fact AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 200 END AS k, CASE WHEN i % 5 <> 0 THEN (i * 7919::bigint % 83)::int END AS x, 'name ' || i % 2003 AS t,
    '2020-01-01'::date + i % 1501 AS d, CASE WHEN i % 7 <> 0 THEN (i % 900001 - 400000) / 100.0 END::numeric(12, 2) AS p, i % 3 = 0 AS even,
    CASE WHEN i % 3 <> 0 THEN (i % 1000 - 500) * 300000000000001::int8 END AS w
FROM generate_series(1, 40000) AS i;
CREATE TABLE dim AS SELECT i AS k, i % 17 AS g, 'dim ' || i % 30 AS name FROM generate_series(0, 249) AS i;
CREATE TABLE nothing (LIKE fact);
ANALYZE fact, dim, nothing;

-- How it looks: with and without GROUP BY.
SET gpujoin.force = on;
SELECT line FROM explained('SELECT k, count(DISTINCT x), count(x) FROM fact GROUP BY k HAVING count(DISTINCT x) > 3', 'VERBOSE') AS line WHERE line !~ 'Sort|Seq|Output: [^c]*$';
SELECT line FROM analyzed('SELECT k, count(DISTINCT x), sum(p) FROM fact GROUP BY k') AS line WHERE line !~ 'Memory Usage|Sort|Seq';
SELECT line FROM analyzed('SELECT count(DISTINCT t), count(*) FROM fact') AS line WHERE line !~ 'Memory Usage|Sort|Seq';
-- Rows that PostgreSQL aggregates make groups that come twice.
UPDATE fact SET p = 'NaN' WHERE id = 777;
SELECT line FROM analyzed('SELECT count(DISTINCT x), sum(p) FROM fact') AS line WHERE line !~ 'Memory|Sort|Seq|rows=10';
-- Left to core: another DISTINCT, a value that is grouped by, a FILTER, sets of groups, other aggregates with DISTINCT or an order.
SELECT query FROM unnest(ARRAY[
    'SELECT count(DISTINCT x), count(DISTINCT t) FROM fact',
    'SELECT x, count(DISTINCT x) FROM fact GROUP BY x',
    'SELECT count(DISTINCT x) FILTER (WHERE even) FROM fact',
    'SELECT k, count(DISTINCT x) FROM fact GROUP BY ROLLUP (k)',
    'SELECT count(DISTINCT x), sum(DISTINCT x) FROM fact',
    'SELECT count(DISTINCT x), string_agg(t, '','' ORDER BY t) FROM fact',
    'SELECT count(DISTINCT x), count(DISTINCT x + 0) FROM fact']) AS query
WHERE EXISTS (SELECT FROM plan_of(query) AS line WHERE line ~ 'GPU');
RESET gpujoin.force;

CREATE VIEW queries AS SELECT * FROM unnest(ARRAY[
    'SELECT k, count(DISTINCT x), count(x), count(*), sum(x), avg(x), min(x), max(x) FROM fact GROUP BY k',
    'SELECT k, count(DISTINCT t) AS n, sum(p), avg(p) FROM fact GROUP BY k HAVING count(DISTINCT t) > 160 AND max(x) > 80',
    'SELECT k, even, count(DISTINCT d), sum(p) FILTER (WHERE x > 3), stddev(x), bool_or(even) FROM fact GROUP BY k, even',
    'SELECT k, count(DISTINCT p), count(DISTINCT p) + 1, sum(p) / count(DISTINCT p) FROM fact GROUP BY k',
    'SELECT k, count(DISTINCT w), sum(w), avg(w) FROM fact GROUP BY k',
    'SELECT k, count(DISTINCT left(t, 6)), count(DISTINCT left(t, 6)), count(left(t, 6)) FROM fact WHERE even GROUP BY k',
    'SELECT count(DISTINCT extract(year FROM d)), extract(month FROM d) FROM fact GROUP BY 2',
    'SELECT left(t, 6), sum(p), count(DISTINCT extract(month FROM d)), count(left(t, 6)) FROM fact GROUP BY 1 HAVING sum(p) > 10',
    'SELECT left(t, 6), upper(left(t, 6)), count(DISTINCT left(t, 6) || ''a'') FROM fact GROUP BY 1',
    'SELECT extract(year FROM d), count(DISTINCT date_part(''year'', d)), count(DISTINCT date_part(''year'', d)) + extract(year FROM d) FROM fact WHERE extract(month FROM d) > 3 GROUP BY 1',
    'SELECT left(t, 6), g, count(DISTINCT extract(month FROM d)) FROM fact LEFT JOIN dim USING (k) GROUP BY 1, 2',
    'SELECT count(DISTINCT x) FROM fact',
    'SELECT count(DISTINCT t), count(t), sum(p), max(d) FROM fact WHERE x > 5',
    'SELECT count(DISTINCT x), count(*), sum(x) FROM nothing',
    'SELECT k, count(DISTINCT x) FROM nothing GROUP BY k',
    'SELECT count(DISTINCT x) FROM fact WHERE x IS NULL',
    'SELECT x, count(DISTINCT k) FROM fact WHERE x = 500 GROUP BY x',
    'SELECT x, count(DISTINCT k), sum(p) FROM fact WHERE x = 50 GROUP BY x',
    'SELECT count(DISTINCT s.x), count(*) FROM (SELECT k, x FROM fact WHERE id % 3 = 0 OFFSET 0) AS s JOIN dim USING (k)',
    'SELECT count(DISTINCT x) FROM fact HAVING count(DISTINCT x) > 1000',
    'SELECT name, count(DISTINCT x), count(*) FROM fact JOIN dim USING (k) GROUP BY name',
    'SELECT g, count(DISTINCT name), sum(p) FROM fact JOIN dim USING (k) GROUP BY g',
    'SELECT g, count(DISTINCT x) FROM dim LEFT JOIN fact ON fact.k = dim.k AND even GROUP BY g',
    'SELECT count(DISTINCT (x, k)) FROM fact',
    'SELECT even, (SELECT count(DISTINCT x) FROM fact AS f WHERE f.k > 100 AND f.even = a.even) FROM (SELECT DISTINCT even FROM fact) AS a',
    'SELECT k, n, rank() OVER (ORDER BY n DESC, k) FROM (SELECT k, count(DISTINCT x) AS n FROM fact GROUP BY k) AS s'
    ]) WITH ORDINALITY AS q (query, n);
SELECT q.n, c.aggregates, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c ORDER BY 1;
UPDATE fact SET p = 0 WHERE id = 777;
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0;

-- Again and again: the same groups, and others; complete, and not; in core's tables, and in files.
SET gpujoin.force = on;
SET enable_material = off;
SET enable_memoize = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE VIEW repeated AS SELECT * FROM unnest(ARRAY[
    'SELECT string_agg(n || '':'' || c || '':'' || t, '' '' ORDER BY n) FROM (SELECT n, count(*) AS c, sum(s) AS t FROM generate_series(1, 3) AS n LEFT JOIN (SELECT k, count(DISTINCT x) AS s, sum(p) FROM fact GROUP BY k) AS g ON g.s % 3 <> n GROUP BY n) AS s',
    'SELECT string_agg(n || '':'' || c, '' '' ORDER BY n) FROM (SELECT n, sum(s) AS c FROM generate_series(1, 3) AS n LEFT JOIN (SELECT count(DISTINCT x) AS s, sum(p) FROM fact) AS g ON g.s % 7 <> n GROUP BY n) AS s',
    'SELECT string_agg(n || '':'' || c, '' '' ORDER BY n) FROM generate_series(1, 3) AS n, LATERAL (SELECT count(DISTINCT x) AS c, sum(p) FROM fact WHERE x % 4 <> n) AS t',
    'SELECT string_agg(n || '':'' || c, '' '' ORDER BY n) FROM generate_series(1, 3) AS n, LATERAL (SELECT sum(s) AS c FROM (SELECT count(DISTINCT t) AS s, sum(p) FROM fact WHERE x % 4 <> n GROUP BY k) AS g) AS t'
    ]) WITH ORDINALITY AS q (query, n);
SELECT q.n, c.* FROM repeated AS q, compare_once(q.query) AS c ORDER BY 1;
SET work_mem = '64kB';
SELECT q.n, c.* FROM repeated AS q, compare_once(q.query) AS c WHERE NOT c.same;
UPDATE fact SET p = 'NaN' WHERE id = 777;
SELECT q.n, c.* FROM repeated AS q, compare_once(q.query) AS c WHERE NOT c.same;
RESET work_mem;
SELECT q.n, c.* FROM repeated AS q, compare_once(q.query) AS c ORDER BY 1;
-- A cursor, a LIMIT, and parameters.
BEGIN;
DECLARE groups_of_fact CURSOR FOR SELECT count(DISTINCT x) >= 0 AS counted FROM fact GROUP BY k;
MOVE 150 FROM groups_of_fact;
FETCH 1 FROM groups_of_fact;
MOVE ALL FROM groups_of_fact;
COMMIT;
SELECT count(*) FROM (SELECT k, count(DISTINCT x) FROM fact GROUP BY k LIMIT 7) AS s;
PREPARE more_than(bigint) AS SELECT count(*) FROM (SELECT k FROM fact GROUP BY k HAVING count(DISTINCT t) > $1) AS s;
SET plan_cache_mode = force_generic_plan;
EXECUTE more_than(100);
EXECUTE more_than(160);
SET gpujoin.enabled = off;
EXECUTE more_than(100);
EXECUTE more_than(160);
RESET gpujoin.enabled;
-- Core's node could not hash.
SET enable_hashagg = off;
SELECT count(*) FROM plan_of('SELECT k, count(DISTINCT x) FROM fact GROUP BY k') AS line WHERE line ~ 'GPU';
RESET enable_hashagg;
DROP TABLE fact, dim, nothing;
DROP VIEW queries, repeated;
