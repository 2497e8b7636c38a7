-- Build sides whose columns the server keeps: the same rows as core's, in joins of every kind, alone, in chains and below
-- aggregates, whatever becomes of the table. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept_builds.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE part (id integer, brand smallint, price numeric(12, 2), name text, since date);
INSERT INTO part SELECT i, i % 40, i % 900 / 100.0, CASE WHEN i % 9 <> 0 THEN repeat('n', 30) || i % 70 END, '2024-01-01'::date + i % 100
FROM generate_series(1, 24000) AS i;
UPDATE part SET brand = NULL WHERE id % 17 = 0;
CREATE TABLE sale (k integer, n integer);
INSERT INTO sale SELECT i * 7919 % 30000, i % 50 FROM generate_series(1, 26000) AS i;
INSERT INTO sale VALUES (NULL, 1), (30, NULL);
CREATE TABLE brand AS SELECT i::smallint AS id, 'brand ' || i AS label FROM generate_series(0, 35) AS i;
VACUUM ANALYZE part, sale, brand;

-- Kinds of joins, with values of the build side that come out as rows or are aggregated.
SELECT q, r.* FROM unnest(ARRAY[
    'SELECT s.k, s.n, p.* FROM sale s LEFT JOIN part p ON s.k = p.id',
    'SELECT s.n, p.name, p.price FROM sale s LEFT JOIN part p ON s.k = p.id AND p.brand BETWEEN 3 AND 9 AND p.since < ''2024-02-01''',
    'SELECT s.n, p.name FROM sale s LEFT JOIN part p ON s.k = p.id AND p.name LIKE ''%7''',
    'SELECT s.* FROM sale s WHERE NOT EXISTS (SELECT FROM part p WHERE p.id = s.k AND p.brand < 20)',
    'SELECT s.n, count(*), sum(p.price), min(p.since) FROM sale s LEFT JOIN part p ON s.k = p.id GROUP BY s.n',
    'SELECT p.brand, count(*), count(p.name) FROM sale s LEFT JOIN part p ON s.k = p.id AND p.price > 3 GROUP BY p.brand',
    'SELECT b.label, sum(p.price) FROM sale s LEFT JOIN part p ON s.k = p.id LEFT JOIN brand b ON b.id = p.brand GROUP BY b.label',
    'SELECT s.n, p.id FROM sale s LEFT JOIN part p ON p.id = s.k AND p.price > s.n']) AS q, built(q) AS r;
SELECT rows, missing, extra FROM built('SELECT s.n, p.id FROM sale s LEFT JOIN part p ON p.id BETWEEN s.k AND s.k + 1 WHERE s.n < 1');
SET gpujoin.algorithm = 'hash';
SELECT r.* FROM built('SELECT s.n, p.id, p.name FROM sale s LEFT JOIN part p ON p.id = s.k') AS r;
RESET gpujoin.algorithm;

-- Both inputs kept.
SELECT chunks, rows, missing, extra FROM built('SELECT a.brand, count(*), sum(b.price) FROM part a LEFT JOIN part b ON a.id = b.id + 1 WHERE a.since < ''2024-03-01'' GROUP BY a.brand');

-- Changes cost the blocks they touch; the rows of a transaction are its own.
CREATE FUNCTION of_part() RETURNS TABLE (chunks integer, few boolean, "rows" integer, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT chunks, read BETWEEN 1 AND 12, rows, missing, extra FROM built('SELECT s.k, s.n, p.* FROM sale s LEFT JOIN part p ON s.k = p.id') $$;
SELECT * FROM of_part();
UPDATE part SET price = price + 1000 WHERE id IN (30, 7919, 20000);
SELECT * FROM of_part();
BEGIN;
DELETE FROM part WHERE id = 7919;
INSERT INTO part VALUES (7919, 1, 1, 'new', NULL), (29999, 1, 1, 'new', NULL);
SELECT * FROM of_part();
ROLLBACK;
SELECT * FROM of_part();
VACUUM part;
SELECT * FROM of_part();
SELECT * FROM of_part();

-- Rows wanted again with other Params, and a build side that stays.
SELECT sum(c) AS rows FROM (SELECT (SELECT count(p.name) FROM sale s LEFT JOIN part p ON s.k = p.id AND p.brand = g.n WHERE s.n = g.n) AS c
                            FROM generate_series(0, 49) AS g(n)) AS counted;
SET gpujoin.force = on;
SELECT sum(c) AS rows FROM (SELECT (SELECT count(p.name) FROM sale s LEFT JOIN part p ON s.k = p.id AND p.brand = g.n WHERE s.n = g.n) AS c
                            FROM generate_series(0, 49) AS g(n)) AS counted;
-- A cursor that is closed in the middle, and one that goes on after a change.
BEGIN;
DECLARE some_rows CURSOR FOR SELECT s.n, p.id FROM sale s LEFT JOIN part p ON s.k = p.id;
MOVE 10 IN some_rows;
CLOSE some_rows;
DECLARE all_rows CURSOR FOR SELECT s.n, p.id FROM sale s LEFT JOIN part p ON s.k = p.id;
MOVE 10 IN all_rows;
DELETE FROM part WHERE id > 100;
MOVE ALL IN all_rows;
ROLLBACK;
RESET gpujoin.force;
DROP FUNCTION built, of_part, compare_kept, kept_by;
DROP TABLE part, sale, brand;

-- A join that kept columns make cheap gives more rows than are expected, of a key with two columns that depend on each other: stocks
-- are not looked up for each of them, although to read them costs somewhat more.
CREATE TABLE supply AS SELECT i / 4 + 1 AS part, (i / 4 + i % 4 * 750) % 3000 + 1 AS supplier, i % 90 AS price FROM generate_series(0, 23999) i;
CREATE TABLE line (part integer, supplier integer, amount integer, remark text);
INSERT INTO line SELECT (i * 7919::bigint % 6000 + 1)::int AS part, ((i * 7919::bigint % 6000 + i % 4 * 750) % 3000 + 1)::int AS supplier, i % 100 AS amount, repeat('x', 80) AS remark
FROM generate_series(0, 159999) i;
CREATE TABLE stock AS SELECT id AS part, id * 7919 % 1000 AS pick, repeat('x', 200) AS remark FROM generate_series(1, 6000) AS id;
CREATE INDEX ON line (part);
ALTER TABLE stock ADD PRIMARY KEY (part);
VACUUM ANALYZE supply, line, stock;
SELECT gpujoin_keep('line', '{part, supplier, amount}') > 1000 AS kept;
BEGIN;
SET LOCAL gpujoin.aggregate = off;
SET LOCAL gpujoin.build_cost = 0.0024;  -- whatever was measured on this machine
SET LOCAL gpujoin.probe_cost = 0.0002;
SET LOCAL gpujoin.match_cost = 0.0002;
SET LOCAL gpujoin.transfer_cost = 20;
SELECT bool_or(line ~ 'Nested Loop') AS loops, bool_or(line ~ 'GPU') AS taken
FROM plan_of('SELECT sum(amount * price) FROM line JOIN supply USING (part, supplier) JOIN stock USING (part) WHERE stock.pick < 100') AS line;
COMMIT;
DROP TABLE supply, line, stock;
