-- Many groups, which come once from the engine as a rule: GPU Finalize Aggregate takes them itself, or leaves them to core's Finalize
-- Aggregate where they do not. The same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/explain.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE fact AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN (i * 7919::bigint % 5003)::int END AS k, (i % 3000)::int2 AS s, 'name ' || i % 2003 AS t, '2020-01-01'::date + i % 1501 AS d,
    CASE WHEN i % 5 <> 0 THEN (i * 1009::bigint % 2000003)::int - 1000000 END AS v, CASE WHEN i % 3 <> 0 THEN (i - 20000) * 300000000000001::int8 END AS w, (i % 4)::int2 AS q,
    CASE WHEN i % 7 <> 0 THEN (i % 900001 - 400000) / 100.0 END::numeric(12, 2) AS p, (i * 999999999999::numeric)::numeric(18, 1) AS x, i % 3 = 0 AS even
FROM generate_series(1, 40000) AS i;
CREATE TABLE dim AS SELECT i AS k, i % 1700 AS g, 'dim ' || i % 1999 AS name, (i % 50)::numeric(4, 2) AS rate FROM generate_series(0, 4999) AS i;
CREATE TABLE nothing (LIKE fact);
ANALYZE fact, dim, nothing;

-- How they look: HAVING is tested above; what is computed of aggregates, too.
SET gpujoin.force = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k + 1 AS next, sum(p) / nullif(count(v), 0) AS ratio FROM fact GROUP BY k HAVING avg(v) > 100 ORDER BY 2 LIMIT 3;
SELECT analyzed('SELECT k, sum(v) FROM fact GROUP BY k HAVING sum(v) > 0');
SELECT analyzed('SELECT g, name, sum(p * (1 - rate)), count(*) FROM fact JOIN dim USING (k) GROUP BY g, name');
-- Rows that PostgreSQL aggregates are groups of their own, which come before.
UPDATE fact SET p = 'NaN' WHERE id = 777;
SELECT line FROM analyzed('SELECT k, sum(p) FROM fact GROUP BY k') AS line WHERE line !~ 'Memory Usage';
-- Few groups, and groups of all rows, are made as before.
SELECT analyzed('SELECT q, sum(v) FROM fact GROUP BY q');
-- Few are expected of a join on several columns, but there may be many.
SELECT line FROM analyzed('SELECT a.k, a.d, sum(b.v) FROM fact AS a JOIN fact AS b USING (id, s, t) GROUP BY a.k, a.d') AS line WHERE line ~ 'GPU|never|Finalize';
RESET gpujoin.force;

-- Each aggregate, keys of every kind, conditions and expressions; with NaN still there, and without.
CREATE VIEW queries AS SELECT * FROM unnest(ARRAY[
    'SELECT k, count(*), count(v), sum(v), avg(v), min(v), max(v) FROM fact GROUP BY k',
    'SELECT k, sum(s), avg(s), stddev(s), var_pop(s), variance(v), stddev_pop(v) FROM fact GROUP BY k',
    'SELECT k, sum(w), avg(w), min(w), max(w), count(w) FROM fact GROUP BY k',
    'SELECT k, sum(p), avg(p), min(p), max(p), sum(p) FILTER (WHERE even), avg(p) FILTER (WHERE v > 0) FROM fact GROUP BY k',
    'SELECT k, sum(x), avg(x), sum(x * x), avg(-x * p), sum(CASE WHEN even THEN p ELSE 0 END) FROM fact GROUP BY k',
    'SELECT k, bool_and(even), bool_or(even), every(v > 0) FROM fact GROUP BY k',
    'SELECT t, count(*), sum(v) FROM fact GROUP BY t HAVING sum(v) > 100000 AND count(*) BETWEEN 20 AND 40',
    'SELECT d, k, max(v) - min(v), sum(p) / count(*) FROM fact GROUP BY d, k HAVING avg(v) IS NOT NULL',
    'SELECT s, d, t, q, sum(v) FROM fact GROUP BY s, d, t, q',
    'SELECT k % 2000, upper(t), sum(v) FROM fact GROUP BY 1, 2',
    'SELECT DISTINCT k, t FROM fact',
    'SELECT g, name, sum(p * (1 - rate)), count(*), max(d) FROM fact JOIN dim USING (k) GROUP BY g, name',
    'SELECT dim.k, name, rate, count(v) FROM fact RIGHT JOIN dim ON dim.k = fact.k AND even GROUP BY dim.k, name, rate',
    'SELECT name, sum(v) FROM fact LEFT JOIN dim ON dim.k = fact.k AND g < 100 GROUP BY name',
    'SELECT k, sum(v) FROM nothing GROUP BY k',
    'SELECT k, sum(v) FROM fact GROUP BY k HAVING sum(v) > (SELECT avg(v) * 9 FROM fact)',
    'SELECT k, sum(v) FROM fact GROUP BY k HAVING (SELECT g * 1000 FROM dim WHERE dim.k = fact.k) < sum(v)',
    'SELECT s.k, s.total, rank() OVER (ORDER BY s.total DESC NULLS LAST, s.k) FROM (SELECT k, sum(p) AS total FROM fact GROUP BY k) AS s',
    'SELECT count(*), sum(n) FROM (SELECT k, count(*) AS n FROM fact GROUP BY k) AS s JOIN (SELECT k, max(v) AS m FROM fact GROUP BY k HAVING max(v) > 0) AS o USING (k)',
    'SELECT even, (SELECT count(*) FROM (SELECT k, sum(v) FROM fact AS f WHERE f.q <> a.q GROUP BY k HAVING sum(v) > a.q) AS s) FROM (SELECT q, bool_and(even) AS even FROM fact GROUP BY q) AS a'
    ]) WITH ORDINALITY AS q (query, n);
SELECT q.n, c.aggregates, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c ORDER BY 1;
UPDATE fact SET p = 0 WHERE id = 777;
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0;

-- Sums that no bigint holds; of many rows, in several tables of the engine.
CREATE TABLE large (k integer, w bigint, x numeric(18, 1));
INSERT INTO large SELECT i % 2500, 9000000000000000000 - i, 99999999999999999.9 - i FROM generate_series(1, 500000) AS i;
ANALYZE large;
SELECT c.aggregates, c.rows, c.missing, c.extra FROM compare_nodes('SELECT k, sum(w), avg(w), sum(-w), sum(x), avg(x), sum(w % 7), avg(-x) FROM large GROUP BY k') AS c;

-- Again and again: with the same groups, and with others.
SET gpujoin.force = on;
SET enable_material = off;
SET enable_memoize = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM compare_once('SELECT string_agg(n || '':'' || c, '' '' ORDER BY n) FROM (SELECT n, count(*) AS c FROM generate_series(1, 3) AS n LEFT JOIN (SELECT k, sum(v) AS s FROM fact GROUP BY k) AS g ON g.s % 3 <> n GROUP BY n) AS s');
SELECT * FROM compare_once('SELECT string_agg(n || '':'' || c, '' '' ORDER BY n) FROM generate_series(1, 3) AS n, LATERAL (SELECT count(*) AS c FROM (SELECT k, sum(v) FROM fact WHERE q <> n GROUP BY k HAVING sum(v) > n) AS s) AS t');
UPDATE fact SET p = 'NaN' WHERE id = 777;
SELECT * FROM compare_once('SELECT string_agg(n || '':'' || c, '' '' ORDER BY n) FROM (SELECT n, count(*) AS c FROM generate_series(1, 3) AS n LEFT JOIN (SELECT k, sum(p) AS s FROM fact GROUP BY k) AS g ON g.s <> n GROUP BY n) AS s');
SELECT * FROM compare_once('SELECT string_agg(n || '':'' || c, '' '' ORDER BY n) FROM generate_series(1, 3) AS n, LATERAL (SELECT count(*) AS c FROM (SELECT k, sum(p) FROM fact WHERE q <> n GROUP BY k HAVING sum(p) > n) AS s) AS t');
-- A cursor, and a LIMIT.
BEGIN;
DECLARE groups_of_fact CURSOR FOR SELECT count(*) > 0 AS counted FROM fact GROUP BY k HAVING k IS NOT NULL;
MOVE 4000 FROM groups_of_fact;
FETCH 1 FROM groups_of_fact;
MOVE ALL FROM groups_of_fact;
COMMIT;
SELECT count(*) FROM (SELECT k, sum(v) FROM fact GROUP BY k LIMIT 7) AS s;
PREPARE more_than(bigint) AS SELECT count(*) FROM (SELECT k FROM fact GROUP BY k HAVING sum(v) > $1) AS s;
SET plan_cache_mode = force_generic_plan;
EXECUTE more_than(0);
EXECUTE more_than(1000000);
SET gpujoin.enabled = off;
EXECUTE more_than(0);
EXECUTE more_than(1000000);
RESET gpujoin.enabled;
-- HAVING is tested in core's order: what is dear comes last.
CREATE SEQUENCE calls;
CREATE FUNCTION dear(bigint) RETURNS boolean LANGUAGE plpgsql COST 100000 AS 'BEGIN PERFORM nextval(''calls''); RETURN true; END';
SELECT count(*) FROM (SELECT k FROM fact GROUP BY k HAVING dear(sum(v)) AND count(*) > 100000) AS s;
SELECT is_called FROM calls;
-- Core's node could not hash.
SET enable_hashagg = off;
SELECT count(*) FROM plan_of('SELECT k, sum(v) FROM fact GROUP BY k') AS line WHERE line ~ 'GPU Finalize';
RESET enable_hashagg;
DROP FUNCTION dear;
DROP SEQUENCE calls;
DROP TABLE fact, dim, nothing, large;
DROP VIEW queries;
