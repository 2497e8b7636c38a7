-- Probe inputs whose columns the server keeps, of joins whose rows come out: they come back with the results. The same rows as core's.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE sale (id integer, k integer, brand smallint, price numeric(12, 2), odd numeric, name text, since date, even boolean);
INSERT INTO sale SELECT i, CASE WHEN i % 11 <> 0 THEN i * 7919 % 3000 END, i % 40, CASE WHEN i % 13 <> 0 THEN i % 900 / 100.0 END, i / 7.0, CASE WHEN i % 9 <> 0 THEN repeat('n', 20) || i % 70 END, '2024-01-01'::date + i % 100, i % 2 = 0
FROM generate_series(1, 40000) AS i;
CREATE TABLE part AS SELECT CASE WHEN i % 97 <> 0 THEN i % 2000 END AS id, i % 7 AS grade, 'part ' || i % 300 AS label FROM generate_series(1, 2300) AS i;
CREATE TABLE grade AS SELECT i AS grade, 'grade ' || i AS title, i * 9 AS low FROM generate_series(0, 5) AS i;
CREATE TABLE half (LIKE sale);
INSERT INTO half SELECT * FROM sale WHERE id <= 20000;
VACUUM ANALYZE sale, part, grade, half;
SELECT gpujoin_keep('sale') > 0 AS keeps, gpujoin_keep('half') > 0 AS keeps_half;

-- Kinds of joins, alone and in chains; conditions of all kinds; what is decided by PostgreSQL.
CREATE TABLE queries AS SELECT * FROM unnest(ARRAY[
    'SELECT s.id, s.k, s.price, s.name, s.since, s.even, p.label FROM sale s JOIN part p ON s.k = p.id',
    'SELECT s.id, s.name, p.* FROM sale s LEFT JOIN part p ON s.k = p.id',
    'SELECT s.id, s.price FROM sale s WHERE EXISTS (SELECT FROM part p WHERE p.id = s.k)',
    'SELECT s.id, s.name FROM sale s WHERE NOT EXISTS (SELECT FROM part p WHERE p.id = s.k)',
    'SELECT s.id, s.name, p.label FROM sale s JOIN part p ON s.k = p.id AND length(s.name || p.label) > 29',
    'SELECT s.id, p.grade FROM sale s JOIN part p ON s.k = p.id AND s.brand > p.grade + 30 WHERE s.since < ''2024-02-01'' AND s.name LIKE ''%7''',
    'SELECT s.id, g.title FROM sale s JOIN grade g ON s.brand BETWEEN g.low AND g.low + 1',
    'SELECT s.id, s.price, p.label, g.title FROM sale s JOIN part p ON s.k = p.id JOIN grade g USING (grade)',
    'SELECT s.name, p.label, g.title FROM sale s LEFT JOIN part p ON s.k = p.id LEFT JOIN grade g ON g.grade = p.grade AND g.grade = s.brand % 7',
    'SELECT s.id, s.since, p.label FROM sale s JOIN part p ON s.k = p.id WHERE NOT EXISTS (SELECT FROM grade g WHERE g.grade = p.grade) AND s.even',
    'SELECT s.id, p.label, g.title FROM sale s JOIN part p ON s.k = p.id JOIN grade g ON g.grade = p.grade AND s.name < g.title || p.label',
    'SELECT DISTINCT s.name, p.label FROM sale s JOIN part p ON s.k = p.id',
    'SELECT s.name, p.label, rank() OVER (PARTITION BY p.label ORDER BY s.id) FROM sale s JOIN part p ON s.k = p.id',
    'SELECT a.id, b.name FROM sale a JOIN sale b ON a.id = b.id + 1 WHERE a.brand = 3',
    'SELECT s.id FROM sale s JOIN part p ON s.k = p.id WHERE s.k IS NULL',
    'SELECT count(*), max(x) FROM (SELECT s.id AS x, p.label FROM sale s JOIN part p ON s.k = p.id OFFSET 0) AS q',
    -- What is not kept in a form, or need not be read to the end; sides that come out by themselves.
    'SELECT s.id, s.odd, p.label FROM sale s JOIN part p ON s.k = p.id',
    'SELECT s, p FROM sale s JOIN part p ON s.k = p.id',
    'SELECT s.tableoid::regclass, s.id FROM sale s JOIN part p ON s.k = p.id',
    'SELECT s.id, p.label FROM sale s RIGHT JOIN part p ON s.k = p.id',
    'SELECT s.id, p.label FROM sale s FULL JOIN part p ON s.k = p.id']) WITH ORDINALITY AS q (query, n);
SELECT q.n, c.chunks, c.read, c.rows, c.missing, c.extra FROM queries AS q, compare_kept(q.query) AS c ORDER BY q.n;

-- Some blocks have changed; all have; they are kept again.
UPDATE sale SET price = price + 1000 WHERE id IN (30, 7919, 39999);
SELECT q.n, c.chunks, c.missing, c.extra FROM queries AS q, compare_kept(q.query, 1) AS c WHERE c.chunks > 0 AND c.read NOT BETWEEN 1 AND 12 OR c.missing + c.extra > 0;
UPDATE sale SET price = 1 WHERE id % 10 = 0;
SELECT q.n, c.missing, c.extra FROM queries AS q, compare_kept(q.query, 1) AS c WHERE c.missing + c.extra > 0;
VACUUM sale;
SELECT q.n, c.missing, c.extra FROM queries AS q, compare_kept(q.query) AS c WHERE c.missing + c.extra > 0;

-- By several processes.
SELECT gpujoin_keep('sale') > 0 AS keeps;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT q.n, c.missing, c.extra FROM queries AS q, compare_kept(q.query) AS c WHERE c.missing + c.extra > 0;
SELECT sum((c.chunks > 0)::integer) > 10 AS many_keep FROM queries AS q, compare_kept(q.query, 1) AS c;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- Too little memory for the build side: partitions are made of what is read.
SET gpujoin.max_join_memory = '1MB';
SELECT q.n, c.missing, c.extra FROM queries AS q, compare_kept(q.query) AS c WHERE c.missing + c.extra > 0;
SELECT c.chunks, c.rows, c.missing, c.extra FROM compare_kept('SELECT s.id, s.name, h.price FROM sale s JOIN half h ON s.id = h.id') AS c;
SELECT c.chunks, c.rows, c.missing, c.extra FROM compare_kept('SELECT s.id, s.name, h.price, p.label FROM sale s LEFT JOIN half h ON s.id = h.id LEFT JOIN part p ON p.id = h.k') AS c;
RESET gpujoin.max_join_memory;

-- Rows wanted again; cursors that are closed in the middle, and that go on after a change.
SET gpujoin.force = on;
SELECT sum(c) AS rows FROM (SELECT (SELECT count(x) FROM (SELECT s.name AS x FROM sale s JOIN part p ON s.k = p.id WHERE s.brand = g.n OFFSET 0) AS q) AS c FROM generate_series(0, 9) AS g(n)) AS counted;
BEGIN;
DECLARE some_rows NO SCROLL CURSOR FOR SELECT s.id, p.label FROM sale s JOIN part p ON s.k = p.id;
MOVE 10 IN some_rows;
CLOSE some_rows;
DECLARE all_rows NO SCROLL CURSOR FOR SELECT s.id, p.label FROM sale s JOIN part p ON s.k = p.id;
MOVE 10 IN all_rows;
DELETE FROM sale WHERE id > 100;
MOVE ALL IN all_rows;
ROLLBACK;
RESET gpujoin.force;
SET gpujoin.enabled = off;
SELECT sum(c) AS rows FROM (SELECT (SELECT count(x) FROM (SELECT s.name AS x FROM sale s JOIN part p ON s.k = p.id WHERE s.brand = g.n OFFSET 0) AS q) AS c FROM generate_series(0, 9) AS g(n)) AS counted;
SELECT count(*) FROM sale s JOIN part p ON s.k = p.id;
RESET gpujoin.enabled;

-- Groups are made in the engine where its rows, of which few are expected, would cost as little to sort: 60,000 come.
CREATE TABLE visit AS SELECT i % 20000 AS a, i % 20000 % 1000 AS b, i AS v, repeat('x', 80) AS pad FROM generate_series(1, 60000) AS i;
CREATE TABLE page AS SELECT i AS a, i % 1000 AS b, i % 50 AS g, i % 7 AS h, repeat('x', 80) AS pad FROM generate_series(0, 19999) AS i;
VACUUM ANALYZE visit, page;
SET client_min_messages = warning;  -- tables may end with empty blocks
SELECT gpujoin_keep('visit') > 0 AND gpujoin_keep('page') > 0 AS kept;
RESET client_min_messages;
\set visits 'SELECT g, h, count(*), sum(v) FROM visit JOIN page USING (a, b) GROUP BY g, h ORDER BY g DESC, h'
SET max_parallel_workers_per_gather = 0;
SELECT bool_or(line ~ 'GPU Aggregate') AS in_engine FROM plan_of(:'visits') AS line;
SELECT missing, extra FROM compare(:'visits');
RESET max_parallel_workers_per_gather;
DROP TABLE visit, page;
DROP FUNCTION compare_kept, kept_by;
DROP TABLE sale, part, grade, half, queries;
