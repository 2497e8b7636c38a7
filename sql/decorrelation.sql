-- Correlated subqueries that compare with an aggregate, as joins with all its results: the same rows as core's, which runs them for each
-- row; and those that have to stay as they are.
\set ECHO none
\i sql/include/joined.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE part (p integer, kind text, size integer, w bigint, c char(6), f float8, z integer);
CREATE TABLE line (p integer, q numeric(10, 2), price numeric(12, 2), kind text, n integer, w bigint, c char(6), f float8, d date, z integer);
INSERT INTO part SELECT i % 350, 'k' || i % 40, i % 30, i % 700, 'c' || i % 50, i / 7.0, i % 9 FROM generate_series(1, 700) AS i;
INSERT INTO line SELECT (i * 7) % 330, i % 113 / 4.0, i % 977, 'k' || i % 45, i % 1000 - 500, (i % 900), 'c' || i % 60, i / 3.0, '2024-01-01'::date + i % 90, i % 11
FROM generate_series(1, 1800) AS i;
UPDATE part SET p = NULL, kind = NULL WHERE z = 3;
UPDATE line SET p = NULL WHERE n % 40 = 0;
UPDATE line SET q = NULL WHERE n % 7 = 0 OR p BETWEEN 100 AND 110;
UPDATE line SET kind = NULL WHERE n % 9 = 0;
VACUUM ANALYZE part, line;

SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT l.* FROM line l, part x WHERE l.p = x.p AND l.q < (SELECT 0.2 * avg(q) FROM line WHERE line.p = x.p)',
    'SELECT * FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind)',
    'SELECT * FROM line l WHERE 1.1 * (SELECT avg(q) FROM line i WHERE l.kind = i.kind) < q AND n > 0',
    'SELECT * FROM line l WHERE q = (SELECT min(q) FROM line i WHERE i.p = l.p AND i.z = l.z)',
    'SELECT p, kind FROM part WHERE size > (SELECT sum(n) FROM line WHERE line.p = part.p AND line.d >= ''2024-02-01'')',
    'SELECT p FROM part WHERE w < (SELECT max(line.w) FROM line WHERE line.c = part.c AND line.n BETWEEN -100 AND 100)',
    'SELECT p FROM part WHERE w < (SELECT max(line.w) FROM line JOIN part o USING (p) WHERE line.c = part.c)',
    'SELECT p FROM part WHERE w < (SELECT max(line.w) FROM line, part o WHERE line.p = o.p AND line.c = part.c AND o.size < 9)',
    'SELECT p FROM part WHERE (SELECT count(*) FROM line WHERE line.p = part.p) > 2',
    'SELECT p FROM part WHERE 0 < (SELECT count(q) FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE (SELECT count(*) FROM line WHERE (line.p = part.p AND q < 3) OR (line.p = part.p AND n > 400)) > 1',
    'SELECT p FROM part WHERE 2 < (SELECT count(DISTINCT kind) FILTER (WHERE q > 2) FROM line WHERE line.p = part.p)',
    'SELECT size, count(*), sum(w) FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p) GROUP BY size HAVING count(*) > 3',
    'SELECT p FROM part WHERE p IN (SELECT l.p FROM line l WHERE l.q > (SELECT 1.5 * avg(i.q) FROM line i WHERE i.p = l.p AND i.z = l.z))',
    'SELECT p FROM part WHERE EXISTS (SELECT FROM line l WHERE l.p = part.p AND l.q > (SELECT 1.5 * avg(i.q) FROM line i WHERE i.p = l.p))',
    'WITH t AS (SELECT p, kind, sum(q) AS s FROM line GROUP BY p, kind) SELECT * FROM t a WHERE a.s > (SELECT 1.2 * avg(s) FROM t b WHERE b.kind = a.kind)',
    'WITH t AS (SELECT * FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind)) SELECT kind, count(*) FROM t GROUP BY kind',
    'SELECT x.p, l.n FROM part x LEFT JOIN line l ON l.p = x.p WHERE l.q < (SELECT avg(q) FROM line i WHERE i.kind = l.kind)',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p) AND size < (SELECT max(z) FROM line WHERE line.kind = part.kind)',
    'SELECT p FROM part WHERE NOT (w <= (SELECT avg(n) FROM line WHERE line.p = part.p))',
    'SELECT p FROM part WHERE size > (SELECT avg(line.w) FROM line WHERE line.w = part.p)',
    'SELECT p FROM part WHERE size < 20 AND w > (SELECT avg(n) FROM line WHERE line.p = part.p AND d >= date ''2024-02-01'' - interval ''10 days'') ORDER BY p LIMIT 30',
    'SELECT * FROM (SELECT p, size FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p)) AS x UNION ALL SELECT p, n FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind)',
    'SELECT p FROM (SELECT a.* FROM part a JOIN part b USING (w) WHERE a.z > b.size OR b.kind = a.kind) d WHERE d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'WITH d AS (SELECT a.* FROM part a JOIN part b USING (w) WHERE a.z > b.size OR b.kind = a.kind) SELECT p FROM d WHERE d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p, x FROM (SELECT p, w, sum(100 / (z + 1)) AS x FROM part GROUP BY p, w) d WHERE d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM part d WHERE EXISTS (SELECT FROM line o WHERE o.n > 400 AND o.z = d.z) AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM part d WHERE d.z IN (SELECT o.z FROM line o WHERE 100 / (o.z + 1) > 20) AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM part d WHERE d.z > (SELECT min(100 / (z + 1)) FROM line) AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM (SELECT * FROM part WHERE size < 20) d WHERE 100 / (d.z + 1) > 20 AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM part d WHERE 100 / (d.z + 1) > 20 AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

CREATE TABLE tiny AS SELECT i AS z, i AS y FROM generate_series(1, 3) AS i;
ANALYZE tiny;
CREATE VIEW seen AS SELECT a.* FROM part a WHERE a.w <> (SELECT max(n) FROM line WHERE line.p = a.p);
CREATE FUNCTION joined_parts() RETURNS SETOF part LANGUAGE sql STABLE AS $$ SELECT a.* FROM part a, part b WHERE a.w = b.w AND b.c = 'c3' AND 1000 / (a.z - 3) > b.size - 1000 $$;
-- Those that stay: true without rows, more than equalities between columns, what may fail, what is more than an aggregate of tables.
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT p FROM part WHERE (SELECT count(*) FROM line WHERE line.p = part.p) < 2',
    'SELECT p FROM part WHERE (SELECT count(*) FROM line WHERE line.p = part.p) = 0',
    'SELECT p FROM part WHERE size < (SELECT count(*) FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE 5 > (SELECT coalesce(max(z), 0) FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE (SELECT max(z) FROM line WHERE line.p = part.p) IS NULL',
    'SELECT p FROM part WHERE coalesce((SELECT max(z) FROM line WHERE line.p = part.p), 1) = 1',
    'SELECT p FROM part WHERE size < 3 OR w > (SELECT avg(n) FROM line WHERE line.p = part.p)',
    'SELECT p, (SELECT avg(n) FROM line WHERE line.p = part.p) FROM part WHERE size < 3',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p < part.p) AND size < 3',
    'SELECT p FROM part WHERE w > (SELECT avg(n + part.size) FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p + 1 = part.p)',
    'SELECT p FROM part WHERE w > (SELECT sum(line.f) FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE w > (SELECT 100 / (count(*) + 1) FROM line WHERE line.p = part.p AND n > 600)',
    'SELECT p FROM part WHERE w > (SELECT avg(100 / nullif(n, 3)) FROM line WHERE line.p = part.p AND n <> 0)',
    'SELECT p FROM part WHERE 100 / (size + 1) > (SELECT max(n) FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p AND random() >= 0)',
    'SELECT p FROM part WHERE w > (SELECT n FROM line WHERE line.p = part.p ORDER BY n LIMIT 1)',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p GROUP BY line.p)',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p HAVING count(*) > 2)',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM (SELECT * FROM line LIMIT 500) AS line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p AND line.z = (SELECT max(o.z) FROM part o WHERE o.p = part.p))',
    'SELECT p FROM part WHERE part.f > (SELECT max(n) FROM line LEFT JOIN part o ON o.p = part.p WHERE line.p = part.p)',
    'SELECT p FROM part WHERE part.kind > (SELECT string_agg(kind, '','') FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE 100 / (SELECT count(*) FROM line WHERE line.p = part.p) > 3 AND p < 300',
    'SELECT p FROM part WHERE false AND w > (SELECT max(n) + 1/0 FROM line WHERE line.p = part.p)',
    'SELECT p FROM part WHERE CASE WHEN 1 = 1 THEN w > 5 ELSE w > (SELECT max(n) + 1/0 FROM line WHERE line.p = part.p) END',
    'SELECT p FROM part WHERE w > (SELECT max(n) FROM line WHERE line.p = part.p AND d < date ''infinity'' - interval ''100000 years'') AND false',
    'SELECT p FROM part WHERE p < 200 AND (SELECT max(ARRAY[point(1, n)]) FROM line WHERE line.p = part.p) IS NOT NULL',
    'SELECT a.p FROM part a, line b WHERE a.p = b.p AND b.n < -400 AND a.w / b.n > 3 AND 0 < (SELECT count(*) FROM line i WHERE i.p = a.p)',
    'WITH t AS NOT MATERIALIZED (SELECT p, w, 100 / z AS s, z FROM line) SELECT * FROM t a WHERE a.z > 0 AND a.w > (SELECT avg(b.s) FROM t b WHERE b.p = a.p AND b.z > 0)',
    'SELECT p FROM part WHERE size < 5 AND (SELECT count(*) > 1 FROM line WHERE line.p = part.p) IS NOT TRUE',
    'SELECT p, x FROM part d LEFT JOIN LATERAL (SELECT 1000 / (d.z + 1) AS x OFFSET 0) l ON true WHERE d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM (SELECT a.* FROM part a, part b WHERE 1000 / (a.z + 1) > b.size + 100 AND b.w = 5) d WHERE d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p, x FROM (SELECT a.*, 1000 / (a.z + b.z + 1) AS x FROM part a JOIN part b ON b.w = a.size) d WHERE x > 90 AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM (SELECT a.*, b.size AS other FROM part a JOIN part b ON b.w = a.size) d WHERE 1000 / (z + other + 1) > 30 AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'WITH d AS (SELECT a.* FROM part a, part b WHERE 1000 / (a.z + 1) > b.size + 100 AND b.w = 5) SELECT p FROM d WHERE d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM part d WHERE EXISTS (SELECT FROM line o WHERE o.n = 1000 / (d.z + 1)) AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM part d WHERE 100 / (d.z + 1) IN (SELECT n FROM line) AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT p FROM part d WHERE d.z < (SELECT max(100 / (o.z + 1)) FROM line o WHERE o.kind = d.kind) AND d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT d.p, b.y FROM (SELECT a.* FROM part a WHERE a.w <> (SELECT max(n) FROM line WHERE line.p = a.p)) d, tiny b WHERE 1000 / (d.z - 3) = 500 * b.y',
    'WITH d AS (SELECT a.* FROM part a WHERE a.w <> (SELECT max(n) FROM line WHERE line.p = a.p)) SELECT d.p, b.y FROM d, tiny b WHERE 1000 / (d.z - 3) = 500 * b.y',
    'WITH d AS (SELECT a.* FROM part a WHERE a.w <> (SELECT max(n) FROM line WHERE line.p = a.p)) SELECT * FROM (SELECT d.p, b.y FROM d, tiny b WHERE 1000 / (d.z - 3) = 500 * b.y) s',
    'SELECT d.p, b.y FROM seen d JOIN tiny b ON 1000 / (d.z - 3) = 500 * b.y',
    'SELECT p FROM joined_parts() d WHERE d.w > (SELECT max(n) FROM line WHERE line.p = d.p)',
    'SELECT a.p, z FROM part a FULL JOIN tiny b USING (z) WHERE 1000 / (z - 3) > 900 AND a.w <> (SELECT max(n) FROM line WHERE line.p = a.p)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- Equal under a collation, but not the same bytes; and types that compare, but are grouped otherwise.
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE word AS SELECT (ARRAY['a', 'A', 'b', 'B', 'c'])[1 + i % 5] COLLATE ignoring_case AS t, i % 37 AS n, (i % 8)::numeric / 2 AS x FROM generate_series(1, 1000) AS i;
UPDATE word SET x = x + 0.000 WHERE n % 2 = 0;
ANALYZE word;
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM word w WHERE n > (SELECT avg(n) FROM word i WHERE i.t = w.t)',
    'SELECT n, t FROM word w WHERE n > (SELECT avg(n) FROM word i WHERE i.x = w.x)']) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- The same instant by clocks that have been changed.
SET timezone = 'Europe/Berlin';
CREATE TABLE clock AS SELECT '2025-01-01'::timestamp + i * interval '1 minute' AS t, i AS v FROM generate_series(1, 800) AS i;
CREATE TABLE instant AS SELECT t::timestamptz AS t, v FROM clock;
INSERT INTO clock VALUES ('2024-03-31 02:30', 1), ('2024-03-31 03:30', 9);
INSERT INTO instant VALUES ('2024-03-31 03:30+02', 20);
ANALYZE clock, instant;
SELECT r.* FROM compare_joined('SELECT * FROM instant o WHERE 1 < (SELECT count(*) FROM clock i WHERE i.t = o.t)') AS r;
RESET timezone;

-- Prepared, with parameters; rows that are locked; not at all.
PREPARE dear (integer) AS SELECT count(*), sum(n) FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind AND i.z < $1) AND z <> $1;
EXECUTE dear(7);
SET gpujoin.decorrelate = off;
EXECUTE dear(7);
SELECT bool_or(line ~ 'SubPlan') AS loops FROM plan_of('SELECT * FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind)') AS line;
RESET gpujoin.decorrelate;
SELECT bool_or(line ~ 'SubPlan') AS loops FROM plan_of('SELECT * FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind) FOR UPDATE') AS line;

-- A cursor whose rows are updated by their place.
BEGIN;
DECLARE dear CURSOR FOR SELECT p, size FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.c = part.c);
MOVE 3 FROM dear;
UPDATE part SET size = -1 WHERE CURRENT OF dear;
SELECT count(*) FROM part WHERE size = -1;
ROLLBACK;

-- gpujoin_why() tells of the plan that is taken.
SELECT DISTINCT node, reason ~ 'not asked' AS is_unasked FROM gpujoin_why('SELECT * FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind)') ORDER BY 1;

-- Where an index finds a key's rows, or its least, only what is clearly cheaper is a join.
CREATE INDEX ON line (p, n);
SELECT bool_or(line ~ 'SubPlan') AS loops FROM plan_of('SELECT * FROM part WHERE w > (SELECT min(n) FROM line WHERE line.p = part.p)') AS line;
SELECT bool_or(line ~ 'SubPlan') AS loops FROM plan_of('SELECT * FROM part WHERE w > (SELECT avg(n) FROM line WHERE line.p = part.p)') AS line;

-- On the inner side of a loop it runs for each row of the other one.
CREATE TABLE item AS SELECT i AS id, 'k' || i % 10 AS kind, (i % 113)::numeric(8, 2) AS price FROM generate_series(1, 2000) AS i;
CREATE TABLE sale AS SELECT i * 7 % 2000 + 1 AS item FROM generate_series(1, 3000) AS i;
ALTER TABLE item ADD PRIMARY KEY (id);
VACUUM ANALYZE item, sale;
SELECT r.* FROM compare_joined('SELECT count(*), sum(price) FROM sale, item i WHERE i.id = sale.item AND i.price > 1.2 * (SELECT avg(price) FROM item j WHERE j.kind = i.kind)') AS r;

-- Row security holds within the subquery, which stays as it is: its conditions may fail.
CREATE ROLE gpujoin_reader;
GRANT SELECT ON part, line TO gpujoin_reader;
ALTER TABLE line ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON line USING (z < 4);
SET ROLE gpujoin_reader;
SELECT count(*), sum(n) FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind);
SET gpujoin.decorrelate = off;
SELECT count(*), sum(n) FROM line l WHERE q > (SELECT avg(q) FROM line i WHERE i.kind = l.kind);
RESET ROLE;
DROP FUNCTION compare_joined, compare_once, compare_all, compare_nodes, rows_or_error;
DROP FUNCTION joined_parts;
DROP VIEW seen;
DROP TABLE item, sale, part, line, tiny, word, clock, instant;
DROP COLLATION ignoring_case;
DROP ROLE gpujoin_reader;
