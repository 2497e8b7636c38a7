-- Chains of joins: of 2 to 6 tables of dimensions, each kind of join in each place, keys of all tables before, and what may
-- stand below, between and above the joins. The same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\set ECHO all
CREATE TABLE fact AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 100 END AS a, CASE WHEN i % 17 <> 0 THEN i % 60 END AS b, i % 41 AS c,
    (i * 7 % 30)::int8 AS d, (i % 5)::int2 AS e, CASE WHEN i % 19 <> 0 THEN 't' || i % 25 END AS t, '2024-01-01'::date + i % 50 AS day, i % 1000 AS v
FROM generate_series(1, 2000) AS i;
-- Unique keys, of which some are missing.
CREATE TABLE d1 AS SELECT i AS k, CASE WHEN i % 7 <> 0 THEN i % 12 END AS x, 'name ' || i % 9 AS name, (i * 31 % 64)::int2 AS z FROM generate_series(0, 79) AS i;
-- Several rows a key, and NULL keys.
CREATE TABLE d2 AS SELECT CASE WHEN i % 11 <> 0 THEN i % 50 END AS k, i AS w, 'w' || i % 3 AS name FROM generate_series(1, 120) AS i;
CREATE TABLE d3 AS SELECT 't' || i AS t, i AS u FROM generate_series(1, 20) AS i UNION ALL VALUES (NULL, 21), ('t1', 22);
CREATE TABLE d4 AS SELECT '2024-01-01'::date + i AS day, i / 7 AS week FROM generate_series(0, 39) AS i;
CREATE TABLE d5 AS SELECT c, (c * 3 + e) % 5 AS e, c * 10 + e AS r FROM generate_series(0, 35) AS c, generate_series(0, 3) AS e;
CREATE TABLE d6 AS SELECT i AS x, i % 4 AS m, 'label ' || i AS label FROM generate_series(0, 9) AS i;
CREATE TABLE d7 AS SELECT i AS m, 'group ' || i AS label FROM generate_series(1, 5) AS i;
CREATE TABLE nothing (LIKE d1);
CREATE TABLE no_fact (LIKE fact);
ALTER TABLE d1 ADD PRIMARY KEY (k);
ALTER TABLE d6 ADD PRIMARY KEY (x);
ANALYZE fact, d1, d2, d3, d4, d5, d6, d7, nothing, no_fact;

-- How a chain looks.
SET gpujoin.force = on;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT fact.id, d1.x, d2.w, d3.u FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t);
EXPLAIN (COSTS OFF, VERBOSE) SELECT fact.id, d1.name, d6.label FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d6 ON d1.x = d6.x AND fact.id > d6.m WHERE d6.x IS NULL OR fact.id > 10;
EXPLAIN (COSTS OFF) SELECT id FROM fact WHERE EXISTS (SELECT FROM d1 WHERE k = a) AND NOT EXISTS (SELECT FROM d2 WHERE k = b);
RESET gpujoin.force;

-- One to six joins, of several types of keys.
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.*, d1 FROM fact JOIN d1 ON a = d1.k',
    'SELECT fact.*, d1.x, d2 FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k',
    'SELECT fact.id, d1.name, d2.w, d3.u FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t)',
    'SELECT fact.id, d1.name, d2.w, u, week FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t) JOIN d4 USING (day)',
    'SELECT fact.id, d1.name, d2.w, u, week, r FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t) JOIN d4 USING (day) JOIN d5 USING (c, e)',
    'SELECT fact.id, d1.name, d2.w, u, week, r, d6.label FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t) JOIN d4 USING (day) JOIN d5 USING (c, e) JOIN d6 ON d6.x = d',
    'SELECT count(*) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t) JOIN d4 USING (day) JOIN d5 USING (c, e) JOIN d6 ON d6.x = d']);
-- Each kind in each of three places: rows without a partner, NULL keys, several partners, texts.
CREATE FUNCTION chain_of(kinds text[]) RETURNS text LANGUAGE sql AS $$
SELECT 'SELECT fact.id' || coalesce(string_agg(format(', d%s', i), '' ORDER BY i) FILTER (WHERE kind LIKE '%JOIN'), '') || ' FROM fact '
    || coalesce(string_agg(format('%s d%s ON %s', kind, i, condition), ' ' ORDER BY i) FILTER (WHERE kind LIKE '%JOIN'), '')
    || coalesce(' WHERE ' || string_agg(format('%s (SELECT FROM d%s WHERE %s)', kind, i, condition), ' AND ' ORDER BY i) FILTER (WHERE kind LIKE '%EXISTS'), '')
FROM unnest(kinds, ARRAY['a = d1.k', 'b = d2.k', 'fact.t = d3.t']) WITH ORDINALITY AS joins (kind, condition, i)
$$;
CREATE VIEW kinds AS SELECT kind FROM unnest(ARRAY['JOIN', 'LEFT JOIN', 'EXISTS', 'NOT EXISTS']) AS kind;
SELECT first.kind, count(*) AS chains, sum(joins) AS joins, sum(core_joins) AS core_joins, sum(rows) AS rows, sum(missing) AS missing, sum(extra) AS extra
FROM kinds AS first, kinds AS second, kinds AS third, compare_nodes(chain_of(ARRAY[first.kind, second.kind, third.kind])) AS c
GROUP BY first.kind ORDER BY first.kind;
-- In the order that is written.
SET join_collapse_limit = 1;
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, d1, d2, d3 FROM fact JOIN d2 ON b = d2.k LEFT JOIN d1 ON a = d1.k JOIN d3 ON fact.t = d3.t',
    'SELECT fact.id, d1, d2, d6 FROM fact LEFT JOIN d2 ON b = d2.k LEFT JOIN d1 ON d2.w = d1.k LEFT JOIN d6 USING (x)',
    'SELECT d6, d1, fact.id FROM d6 JOIN (d1 JOIN fact ON a = d1.k) ON d1.x = d6.x',
    'SELECT d6, d1, fact.id, d7 FROM (d6 JOIN d7 USING (m)) JOIN (d1 JOIN fact ON a = d1.k) ON d1.x = d6.x',
    'SELECT d2, fact.id, d1 FROM d2 RIGHT JOIN fact ON b = d2.k JOIN d1 ON a = d1.k',
    'SELECT d2, fact.id, d1 FROM fact FULL JOIN d2 ON b = d2.k JOIN d1 ON a = d1.k',
    'SELECT d2, fact.id, d1 FROM fact JOIN d1 ON a = d1.k FULL JOIN d2 ON b = d2.k',
    'SELECT d2, fact.id, d1 FROM fact JOIN d1 ON a = d1.k RIGHT JOIN d2 ON b = d2.k LEFT JOIN d3 ON d3.u = d2.w']);
RESET join_collapse_limit;
-- In the order that chance finds.
SET geqo_threshold = 2;
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, d1.name, d2.w, u, week, r, d6.label FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t) JOIN d4 USING (day) JOIN d5 USING (c, e) JOIN d6 ON d6.x = d',
    'SELECT fact.id, d1.name, d2.w, u FROM fact LEFT JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k LEFT JOIN d3 USING (t) WHERE NOT EXISTS (SELECT FROM d4 WHERE day = fact.day)']);
RESET geqo_threshold;

-- Snowflakes, keys of several tables before, of expressions and of other types; a table twice.
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, d1.name, d6.label FROM fact JOIN d1 ON a = d1.k JOIN d6 USING (x)',
    'SELECT fact.id, d1.name, d6.label, d7.label FROM fact JOIN d1 ON a = d1.k JOIN d6 USING (x) JOIN d7 USING (m)',
    'SELECT fact.id, d6.label, d7.label FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d6 USING (x) LEFT JOIN d7 USING (m)',
    'SELECT fact.id, d2.w, d1.x FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND d1.x = d2.w % 12',
    'SELECT fact.id, d5.r FROM fact JOIN d1 ON a = d1.k JOIN d5 ON d5.c = fact.c AND d5.e = d1.x % 5',
    'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON d2.k = a + d1.x',
    'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d3 USING (t) JOIN d2 ON d2.k = d1.x + d3.u AND d2.w > d1.z',
    'SELECT fact.id, p.name, q.name FROM fact JOIN d1 p ON a = p.k JOIN d1 q ON c = q.k',
    'SELECT fact.id, p.name, q.name, r.name FROM fact JOIN d1 p ON a = p.k LEFT JOIN d1 q ON p.x = q.k LEFT JOIN d1 r ON q.z = r.k',
    'SELECT fact.id FROM fact JOIN d1 p ON a = p.k WHERE NOT EXISTS (SELECT FROM d1 q WHERE q.k = fact.c AND q.x = p.x)',
    'SELECT fact.id FROM fact JOIN d1 ON a = d1.k WHERE EXISTS (SELECT FROM d6 JOIN d7 USING (m) WHERE d6.x = d1.x)',
    'SELECT fact.id, d1.k FROM fact JOIN d1 ON e = d1.z JOIN d6 ON d = d6.x',
    'SELECT fact.id, d3.u FROM fact JOIN d3 ON fact.t::bpchar = d3.t::bpchar JOIN d1 ON d1.name = ''name '' || d3.u % 9',
    'SELECT x.id, y.id, z.id FROM fact x JOIN fact y ON x.id = y.id + 1 JOIN fact z ON y.id = z.v',
    'SELECT x.k, y.k, z.k FROM d1 x JOIN d1 y USING (x) JOIN d1 z USING (x)',
    'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON d1.k = d2.k JOIN d6 ON d6.x = d2.k',
    'SELECT fact.id, d1.k, d4.week FROM fact JOIN d4 ON fact.day = d4.day + 1 JOIN d1 ON d1.k = fact.day - ''2024-01-01'' JOIN d6 ON d6.x = d4.week']);
-- Empty inputs.
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id FROM fact JOIN nothing ON a = nothing.k JOIN d2 ON b = d2.k', 'SELECT fact.id FROM fact JOIN d2 ON b = d2.k JOIN nothing ON a = nothing.k',
    'SELECT fact.id, nothing.x FROM fact LEFT JOIN nothing ON a = nothing.k JOIN d2 ON b = d2.k', 'SELECT fact.id, d6 FROM fact LEFT JOIN nothing ON a = nothing.k LEFT JOIN d6 ON d6.x = nothing.x',
    'SELECT id FROM fact JOIN d2 ON b = d2.k WHERE EXISTS (SELECT FROM nothing WHERE a = k)', 'SELECT id FROM fact JOIN d2 ON b = d2.k WHERE NOT EXISTS (SELECT FROM nothing WHERE a = k)',
    'SELECT id FROM no_fact JOIN d1 ON a = k JOIN d2 ON b = d2.k', 'SELECT id, x, w FROM no_fact LEFT JOIN d1 ON a = k LEFT JOIN d2 ON b = d2.k', 'SELECT id, d1 FROM fact JOIN d1 ON a = k AND false LEFT JOIN d2 ON b = d2.k',
    'SELECT id FROM fact JOIN (SELECT * FROM d1 WHERE x > 100) d1 ON a = k JOIN d2 ON b = d2.k']);
-- Before 17, core alone can test a condition of no table.
SELECT joins + core_joins AS joins, rows, missing, extra FROM compare_nodes('SELECT id FROM fact JOIN d2 ON b = d2.k WHERE EXISTS (SELECT FROM nothing)');
-- Dimensions that are no tables, and facts that are none.
CREATE VIEW v1 AS SELECT d1.k, d1.name, d6.label FROM d1 JOIN d6 USING (x);
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, s.n FROM fact JOIN (SELECT k, count(*) AS n FROM d2 GROUP BY k) s ON a = s.k JOIN d1 ON b = d1.k',
    'SELECT fact.id, v1.label, d2.w FROM fact JOIN v1 ON a = v1.k JOIN d2 ON b = d2.k', 'SELECT fact.id, v1.label, d2.w FROM fact LEFT JOIN v1 ON a = v1.k LEFT JOIN d2 ON b = d2.k',
    'WITH m AS MATERIALIZED (SELECT * FROM d1 WHERE k > 3) SELECT fact.id, m.x, n.x FROM fact JOIN m ON a = m.k JOIN m n ON b = n.k',
    'SELECT fact.id, s.y FROM fact JOIN (VALUES (1, ''one''), (2, ''two''), (NULL, ''none'')) s (k, y) ON e = s.k JOIN d1 ON a = d1.k',
    'SELECT fact.id, s FROM fact JOIN generate_series(1, 20) s ON a = s JOIN d2 ON b = d2.k', 'SELECT fact.id, d1.x FROM fact JOIN (SELECT DISTINCT b FROM fact) s USING (b) JOIN d1 ON a = d1.k',
    'SELECT s.id, d1.x, d2.w FROM (SELECT * FROM fact UNION ALL SELECT * FROM fact WHERE id < 100) s JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k',
    'SELECT s.id, d1.x, d2.w FROM (SELECT * FROM fact ORDER BY v, id LIMIT 500) s JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT s.a, d1.x, d6.m FROM (SELECT a, max(c) AS c FROM fact GROUP BY a) s JOIN d1 ON a = d1.k JOIN d6 ON d6.x = s.c',
    'SELECT s, d1.name, d6.label FROM generate_series(1, 90) s JOIN d1 ON s = d1.k JOIN d6 USING (x)', 'SELECT fact.id, l.w FROM fact JOIN d1 ON a = d1.k, LATERAL (SELECT w FROM d2 WHERE d2.k = d1.x) l WHERE id < 200',
    'SELECT fact.id, l.w FROM fact JOIN d1 ON a = d1.k, LATERAL (SELECT d2.w FROM d2 JOIN d6 ON d6.x = d2.k WHERE d2.k = d1.x OFFSET 0) l WHERE id < 60',
    'SELECT fact.id, l.n FROM fact, LATERAL (SELECT count(*) AS n FROM d1 JOIN d2 USING (k) JOIN d6 USING (x) WHERE d1.k < fact.e) l WHERE id < 60', 'SELECT f.*, d1.x FROM fact f TABLESAMPLE SYSTEM (100) JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k']);
CREATE TABLE parts (LIKE fact) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (700);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (700) TO (5000);
INSERT INTO parts TABLE fact;
ANALYZE parts;
SELECT * FROM compare_all(ARRAY['SELECT parts, d1.x, d2.w FROM parts JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT parts.tableoid::regclass, id, parts.ctid, d1.ctid FROM parts LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k WHERE id > 600',
    'SELECT fact.id, parts.id, d1.x FROM fact JOIN parts ON fact.id = parts.v JOIN d1 ON parts.a = d1.k', 'SELECT fact.ctid, d1.ctid, d1.tableoid::regclass, d2.xmin IS NULL FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k']);

-- Conditions that are no equalities: in the last join, in one before, and on columns of several tables.
CREATE FUNCTION opaque(anyelement) RETURNS anyelement LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION plain(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND fact.t || d2.name <> ''t1w1''', 'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k AND fact.t || d2.name <> ''t1w1''',
    'SELECT fact.id FROM fact JOIN d1 ON a = d1.k WHERE NOT EXISTS (SELECT FROM d2 WHERE b = d2.k AND fact.t || d2.name <> d1.name)', 'SELECT fact.id, d1.x FROM fact LEFT JOIN d1 ON a = d1.k AND plain(d1.x) < plain(e) LEFT JOIN d2 ON b = d2.k',
    'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND d2.w <> d1.x', 'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k AND (d2.w + d1.x) % 2 = e',
    'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON d2.w BETWEEN d1.x - 1 AND d1.x + 1', 'SELECT fact.id, d2.w FROM fact LEFT JOIN d2 ON b = d2.k AND d2.w > c JOIN d1 ON a = d1.k',
    'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN d6 ON d6.x < d1.x AND d6.m > e', 'SELECT fact.id, d6.m FROM fact JOIN d1 ON a = d1.k JOIN d6 ON true WHERE id < 20',
    'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k WHERE d1.x + d2.w > e * 10', 'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d6 ON d = d6.x WHERE d1.x > d2.w OR d6.m = e OR fact.t IS NULL']);
-- Conditions above outer joins.
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k WHERE d1.k IS NULL', 'SELECT fact.id, d2.w FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k WHERE d1.x IS NULL',
    'SELECT fact.id, d2.w FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON d1.x = d2.k WHERE coalesce(d2.w, 0) % 2 = 0', 'SELECT fact.id, d1.x FROM fact LEFT JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k WHERE d1.x IS DISTINCT FROM e',
    'SELECT fact.id, d1.x FROM fact LEFT JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND coalesce(d1.x, 5) > d2.w % 10', 'SELECT fact.id, d1.x, d6.m FROM fact LEFT JOIN (d1 JOIN d6 USING (x)) ON a = d1.k LEFT JOIN d2 ON b = d2.k WHERE d6.m IS NULL OR d2.w IS NULL',
    'SELECT fact.id FROM fact LEFT JOIN d1 ON a = d1.k AND fact.v > 500 LEFT JOIN d2 ON b = d2.k AND d1.x > 3 WHERE d2.k IS NOT NULL OR d1.k IS NOT NULL', 'SELECT fact.id FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d6 ON d1.x = d6.x WHERE (d6.m > 1) IS NOT TRUE',
    'SELECT fact.id, d1.k FROM fact LEFT JOIN d1 ON a = d1.k WHERE NOT EXISTS (SELECT FROM d6 WHERE d6.x = d1.x)', 'SELECT fact.id, d1.k FROM fact LEFT JOIN d1 ON a = d1.k WHERE EXISTS (SELECT FROM d6 WHERE d6.x = coalesce(d1.x, 3))',
    'SELECT fact.id FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k WHERE plain(d1.x) > 3 IS NOT FALSE', 'SELECT id FROM fact LEFT JOIN d1 ON a = d1.k WHERE a NOT IN (SELECT x FROM d6) AND d1.x > 2']);
-- Values that are computed below an outer join, and NULL with its row.
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, s.y, s.lit FROM fact LEFT JOIN (SELECT k, coalesce(x, 7) AS y, ''lit'' AS lit FROM d1) s ON a = s.k LEFT JOIN d2 ON b = d2.k',
    'SELECT fact.id, s.y, d6.label FROM fact LEFT JOIN (SELECT k, coalesce(x, 7) AS y FROM d1) s ON a = s.k LEFT JOIN d6 ON d6.x = s.y', 'SELECT fact.id, s.m1, s.found FROM fact LEFT JOIN (SELECT d1.k, d6.m + 1 AS m1, true AS found FROM d1 JOIN d6 USING (x)) s ON a = s.k JOIN d2 ON b = d2.k WHERE s.found IS NULL OR d2.w > 50',
    'SELECT fact.id, s, d2 FROM fact LEFT JOIN (SELECT k, 1 AS one FROM d1 WHERE x > 2) s ON a = s.k LEFT JOIN d2 ON b = d2.k', 'SELECT fact.id, d1, d2, d1 IS NULL FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k',
    'SELECT fact.id, s.y FROM fact LEFT JOIN (SELECT d1.k, d2.w, coalesce(d2.w, d1.x, -1) AS y FROM d1 LEFT JOIN d2 ON d1.x = d2.k) s ON a = s.k JOIN d3 USING (t)',
    'SELECT s.id, s.n, d1.x FROM (SELECT id, a, plain(b) AS n FROM fact OFFSET 0) s JOIN d1 ON a = d1.k LEFT JOIN d2 ON s.n = d2.k']);
-- Of other tables too: 16 computes them within a nested loop.
SELECT joins + core_joins AS joins, rows, missing, extra
FROM compare_nodes('SELECT fact.id, s.y FROM fact JOIN d2 ON b = d2.k LEFT JOIN LATERAL (SELECT k, x + fact.e AS y FROM d1) s ON a = s.k WHERE coalesce(s.y, 1) < 9');
-- What is volatile, in keys, conditions and columns.
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, d1.x FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k WHERE random() >= 0', 'SELECT fact.id, random() < 2 FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT fact.id FROM fact JOIN d1 ON opaque(a) = d1.k JOIN d2 ON b = d2.k',
    'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND opaque(d2.w) > d1.x', 'SELECT fact.id, x FROM fact LEFT JOIN d1 ON a = d1.k AND opaque(x) > 3 LEFT JOIN d2 ON b = d2.k', 'SELECT s.id, s.r FROM (SELECT id, a, b, random() * 0 AS r FROM fact) s JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k']);
-- Subplans in keys, conditions and columns, and chains that run once for each row of another query.
SELECT * FROM compare_all(ARRAY[
    'SELECT fact.id, (SELECT max(x) FROM d6 WHERE m = d1.x % 4) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND d2.w > (SELECT avg(x) FROM d6)', 'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND d2.w > (SELECT avg(d6.x) FROM d6 WHERE m = d1.x)',
    'SELECT id, (SELECT count(*) FROM d1 JOIN d2 USING (k) JOIN d6 USING (x) WHERE d1.k = o.a) FROM fact o WHERE id <= 40', 'SELECT id, (SELECT sum(d1.x) FROM d2 JOIN d1 USING (k) LEFT JOIN d6 USING (x) WHERE d2.w = o.v) FROM fact o WHERE id <= 40',
    'SELECT id, ARRAY(SELECT d1.k FROM d1 JOIN d2 USING (k) JOIN d6 USING (x) WHERE d6.m = o.e AND d2.w > o.c ORDER BY 1) FROM fact o WHERE id <= 40', 'SELECT id FROM fact o WHERE id <= 40 AND EXISTS (SELECT FROM d1 JOIN d2 USING (k) JOIN d6 ON d6.x = d1.x + o.e OFFSET 0)',
    'SELECT id, (SELECT string_agg(d6.label, '','' ORDER BY d6.label, d2.w) FROM d6 JOIN d1 USING (x) JOIN d2 ON d2.k = d1.k AND d2.w = o.v % 120) FROM fact o WHERE id <= 40']);

-- What may stand above.
SELECT * FROM compare_all(ARRAY[
    'SELECT count(*) FROM (SELECT FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k LIMIT 10) s', 'SELECT EXISTS (SELECT FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k)', 'SELECT fact.id, d1.x, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k ORDER BY fact.id, d2.w LIMIT 10 OFFSET 5',
    'SELECT DISTINCT d1.name, d2.name FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT DISTINCT ON (d1.name) d1.name, fact.id, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k ORDER BY d1.name, fact.id, d2.w', 'SELECT fact.id, row_number() OVER (PARTITION BY d1.name ORDER BY fact.id, d2.w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k',
    'SELECT d1.name, array_agg(d2.w ORDER BY fact.id, d2.w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY d1.name', 'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k UNION SELECT fact.id FROM fact JOIN d1 ON c = d1.k JOIN d6 ON d = d6.x', 'SELECT fact.id, generate_series(1, d1.x) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k WHERE id < 300',
    'SELECT fact.id, d1.x FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k FOR UPDATE OF fact', 'SELECT q.id FROM (SELECT fact.id, d1.x FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k OFFSET 0) q JOIN d6 USING (x) JOIN d7 USING (m)']);
-- Cursors, prepared statements, a function's queries.
SET gpujoin.force = on;
BEGIN;
DECLARE walk SCROLL CURSOR FOR SELECT fact.id, d1.x, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k ORDER BY fact.id, d2.w;
FETCH 3 FROM walk;
MOVE 500 FROM walk;
FETCH 2 FROM walk;
FETCH BACKWARD 2 FROM walk;
FETCH FIRST FROM walk;
CLOSE walk;
DECLARE held CURSOR WITH HOLD FOR SELECT fact.id, d6.label FROM fact JOIN d1 ON a = d1.k JOIN d6 USING (x) WHERE fact.id < 12 ORDER BY fact.id;
COMMIT;
FETCH ALL FROM held;
CLOSE held;
PREPARE parameters (integer, text) AS SELECT count(*), sum(d2.w) FROM fact JOIN d1 ON a = d1.k AND d1.x > $1 JOIN d2 ON b = d2.k + $1 AND d2.name <> $2;
EXECUTE parameters (3, 'w1');
SET plan_cache_mode = force_generic_plan;
EXECUTE parameters (3, 'w1');
EXECUTE parameters (1, 'w2');
EXECUTE parameters (NULL, 'w2');
RESET plan_cache_mode;
SET gpujoin.enabled = off;
EXECUTE parameters (3, 'w1');
EXECUTE parameters (1, 'w2');
RESET gpujoin.enabled;
DEALLOCATE parameters;
-- Writes that a chain finds the rows for.
BEGIN;
UPDATE fact SET v = d1.z + d6.m FROM d1, d6 WHERE a = d1.k AND d1.x = d6.x AND d6.m < 3;
DELETE FROM fact USING d1 JOIN d6 USING (x) WHERE a = d1.k AND d6.m = 2;
SELECT count(*), sum(v) FROM fact;
ROLLBACK;
SET gpujoin.enabled = off;
BEGIN;
UPDATE fact SET v = d1.z + d6.m FROM d1, d6 WHERE a = d1.k AND d1.x = d6.x AND d6.m < 3;
DELETE FROM fact USING d1 JOIN d6 USING (x) WHERE a = d1.k AND d6.m = 2;
SELECT count(*), sum(v) FROM fact;
ROLLBACK;
RESET gpujoin.enabled;
RESET gpujoin.force;
RESET max_parallel_workers_per_gather;

-- With workers, the leader among them or not.
\set ECHO none
\i sql/include/parallel.sql
\set ECHO all
CREATE FUNCTION compare_in_parallel(leader boolean) RETURNS TABLE (n bigint, joins bigint, aggregates bigint, core_joins bigint,
    "rows" integer, missing bigint, extra bigint, error text, other_error text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('parallel_leader_participation', leader::text, true);
    RETURN QUERY SELECT * FROM compare_all(ARRAY[
        'SELECT fact.id, d1.name, d2.w FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT fact.id, d1.name, d2.w, u, week, r FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (t) JOIN d4 USING (day) JOIN d5 USING (c, e)',
        'SELECT fact.id, d1.name, d2.w, u FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k LEFT JOIN d3 USING (t)', 'SELECT fact.id, d1.x FROM fact JOIN d1 ON a = d1.k WHERE EXISTS (SELECT FROM d2 WHERE b = d2.k) AND NOT EXISTS (SELECT FROM d3 WHERE t = fact.t)',
        'SELECT fact.id, d6.label, d7.label FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d6 USING (x) LEFT JOIN d7 USING (m) WHERE d7.label IS NULL OR fact.v > 3', 'SELECT fact.id, d2.w FROM fact JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k AND fact.t || d2.name <> ''t1w1''',
        'SELECT fact.id FROM fact JOIN d1 ON a = d1.k JOIN nothing ON b = nothing.k', 'SELECT fact.id, d1.x, s.n FROM fact JOIN d1 ON a = d1.k JOIN (SELECT k, count(*) AS n FROM d2 GROUP BY k) s ON b = s.k', 'SELECT parts.id, d1.x, d2.w FROM parts JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k',
        'SELECT count(*) FROM (SELECT FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k LIMIT 10) s', 'SELECT id, (SELECT count(*) FROM d1 JOIN d2 USING (k) JOIN d6 USING (x) WHERE d1.k = o.a) FROM fact o WHERE id <= 3', 'SELECT x.id, y.id, z.id FROM fact x JOIN fact y ON x.id = y.id + 1 JOIN fact z ON y.id = z.v']);
END $$;
SELECT * FROM compare_in_parallel(true);
SELECT * FROM compare_in_parallel(false);
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT fact.id, d1.name, d2.w, u FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k LEFT JOIN d3 USING (t);
RESET gpujoin.force;
-- A large build side is read by as many processes as it is worth, however few read the probe side.
CREATE TABLE few AS SELECT i AS k, i % 10 AS d FROM generate_series(1, 12000) AS i;
CREATE TABLE many AS SELECT i % 12000 AS k, i AS v, repeat('x', 100) AS pad FROM generate_series(1, 60000) AS i;
ALTER TABLE few SET (parallel_workers = 1);
ALTER TABLE many SET (parallel_workers = 4);
ANALYZE few, many;
SET max_parallel_workers_per_gather = 4;
\set groups 'SELECT name, count(*), sum(v) FROM few LEFT JOIN many USING (k) LEFT JOIN d1 ON d = d1.k GROUP BY name'
SET gpujoin.force = on;
SELECT array_agg(substring(line FROM '(Workers Planned.*|Parallel Seq Scan.*)$')) AS plan FROM plan_of(:'groups') AS line WHERE line ~ 'Workers|Seq Scan on (few|many)';
RESET gpujoin.force;
SELECT rows, missing, extra FROM compare_nodes(:'groups');
DROP TABLE few, many;
DROP FUNCTION compare_in_parallel, chain_of, opaque, plain;
DROP VIEW v1, kinds;
DROP TABLE fact, d1, d2, d3, d4, d5, d6, d7, nothing, no_fact, parts;
