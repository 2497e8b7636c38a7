-- Nested loops that read all of their inner side for each row of the outer one: a hash join takes their place
-- where it costs about the same.
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET gpujoin.aggregate = off;

CREATE FUNCTION joins_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        line := regexp_replace(substring(line FROM '(Nested Loop|(?:Hash|Merge) (?:\w+ )*Join|GPU Join)'), '(Hash|Merge) .*', '\1 Join');
        IF line IS NOT NULL THEN RETURN NEXT line; END IF;
    END LOOP;
END $$;

-- Three rows are expected of 7,000.
CREATE VIEW years AS
WITH totals AS MATERIALIZED (
    SELECT i / 6 AS customer, i % 2 AS kind, i % 3 AS year, i % 100 AS total
    FROM generate_series(1, 42000) i
)
SELECT a.customer, a.total AS first, b.total AS second, c.total AS third
FROM totals a JOIN totals b USING (customer) JOIN totals c USING (customer)
WHERE a.kind = 0 AND a.year = 1 AND b.kind = 0 AND b.year = 2 AND c.kind = 1 AND c.year = 1;

SELECT joins_of('SELECT * FROM years');
SELECT count(*), sum(first), sum(second), sum(third) FROM years;

-- All kinds of joins, and rows in an order.
CREATE VIEW halves AS SELECT i AS k, i % 2 AS half, i % 5 AS v FROM generate_series(1, 60000) i;
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t a LEFT JOIN t b ON a.k = b.k + 1 AND b.half = 0 AND b.v = 1 WHERE a.half = 1 AND a.v = 2$$);
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t a WHERE a.half = 1 AND a.v = 2
AND EXISTS (SELECT FROM t b WHERE a.k = b.k + 1 AND b.half = 0 AND b.v = 1)$$);
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t a WHERE a.half = 1 AND a.v = 2
AND NOT EXISTS (SELECT FROM t b WHERE a.k = b.k + 1 AND b.half = 0 AND b.v = 1)$$);
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t a JOIN t b ON a.k = b.k + 1 AND b.half = 0 AND b.v = 1 WHERE a.half = 1 AND a.v = 2 ORDER BY a.k$$);

-- Left to core: no equality; less than what matters; more rows than are asked for; loops over an index.
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t a JOIN t b ON a.k < b.k AND b.half = 0 AND b.v = 1 WHERE a.half = 1 AND a.v = 2$$);
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves LIMIT 1000)
SELECT * FROM t a JOIN t b ON a.k = b.k + 1 AND b.half = 0 AND b.v = 1 WHERE a.half = 1 AND a.v = 2$$);
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t a JOIN t b ON a.k = b.k + 1 AND b.half = 0 AND b.v = 1 WHERE a.half = 1 LIMIT 1$$);
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t a JOIN t b ON a.k = b.k + 1 AND b.half = 0 AND b.v = 1 WHERE a.half = 1$$);
CREATE TABLE looked_up (k int PRIMARY KEY, v int);
INSERT INTO looked_up SELECT i, i % 10 FROM generate_series(1, 60000) i;
ANALYZE looked_up;
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t JOIN looked_up USING (k) WHERE t.half = 1 AND t.v = 2$$);

-- A table of a few rows is read as fast as a hash table is looked in.
CREATE TABLE tiny AS SELECT i AS k FROM generate_series(1, 12) i;
ANALYZE tiny;
SELECT joins_of($$WITH t AS MATERIALIZED (SELECT * FROM halves)
SELECT * FROM t JOIN tiny USING (k) WHERE t.half = 1 AND t.v = 2$$);

-- Few rows are expected of large tables, too.
CREATE TABLE large AS SELECT i AS k, i % 20 AS a, i % 20 AS b, i % 20 AS c, i % 20 AS d FROM generate_series(1, 60000) i;
ANALYZE large;
SET gpujoin.startup_cost = 1000000;
SELECT joins_of('SELECT * FROM large x JOIN large y ON x.k = y.k + 1 WHERE x.a = 2 AND x.b = 2 AND x.c = 2 AND x.d = 2 AND y.a = 1 AND y.b = 1 AND y.c = 1 AND y.d = 1');
RESET gpujoin.startup_cost;
DROP TABLE large;

-- The same rows as without us.
SELECT count(*) FROM (
    (SELECT * FROM years EXCEPT ALL
     SELECT (i * 6 + 4) / 6, (i * 6 + 4) % 100, (i * 6 + 2) % 100, (i * 6 + 1) % 100 FROM generate_series(0, 6999) i)
    UNION ALL
    (SELECT (i * 6 + 4) / 6, (i * 6 + 4) % 100, (i * 6 + 2) % 100, (i * 6 + 1) % 100 FROM generate_series(0, 6999) i
     EXCEPT ALL SELECT * FROM years)) d;
SET gpujoin.enabled = off;
SELECT joins_of('SELECT * FROM years');
RESET gpujoin.enabled;

-- What core itself would do, in the place of a path with a GPU Join that it is weighed against, has no such loop either.
CREATE FUNCTION rows_of(seed integer, n integer, region integer)
RETURNS TABLE (id integer, k integer, k2 integer, v integer, p numeric, o integer, t text, c text, pad text, region integer) LANGUAGE sql AS $$
SELECT i, (i * 7 + seed) % 2003, (i * 13 + seed) % 4999, (i + seed) % 300, CASE WHEN i % 31 > 0 THEN (i * 13 + seed) % 9999 / 100.0 END, (i + seed) % 3001,
    CASE WHEN i % 11 <> 0 THEN 't' || (i + seed) % 1709 END, 'c' || (i + seed) % 900, repeat('x', 200), region
FROM generate_series(1, n) AS i $$;
CREATE TABLE g AS SELECT * FROM rows_of(2, 25000, 0);
CREATE INDEX ON g (k);
CREATE TABLE h AS SELECT * FROM rows_of(5, 4000, 0);
CREATE TABLE pt (LIKE g) PARTITION BY LIST (region);
CREATE TABLE pt1 PARTITION OF pt FOR VALUES IN (1);
CREATE TABLE pt2 PARTITION OF pt FOR VALUES IN (2);
INSERT INTO pt SELECT * FROM rows_of(3, 5000, 1);
INSERT INTO pt SELECT * FROM rows_of(4, 5000, 2);
CREATE TABLE dim AS SELECT 't' || i * 3 AS t, 'c' || i * 7 AS c FROM generate_series(0, 60) AS i;
VACUUM ANALYZE g, h, pt, dim;
SET client_min_messages = warning;  -- tables may end with empty blocks
CREATE EXTENSION IF NOT EXISTS gpujoin;
SELECT gpujoin_keep('h') > 0, gpujoin_keep('pt1') > 0, gpujoin_keep('pt2') > 0;
RESET client_min_messages;
SET work_mem = '64kB';
SET gpujoin.startup_cost = 5;
SELECT bool_or(joins = 'Nested Loop') AS loops FROM joins_of($$SELECT a.pad, b.k FROM pt a JOIN pt b ON a.p = b.p JOIN dim e ON a.c = e.c AND length(a.t || e.t) > 5
WHERE NOT EXISTS (SELECT FROM h d WHERE b.k2 = d.k2)
    AND CASE WHEN b.o > 2961 THEN b.c IS NOT NULL ELSE b.o IS DISTINCT FROM 2986 END AND a.id = (SELECT max(z.k) FROM g z WHERE z.v = a.v)$$) AS joins;
RESET work_mem;
RESET gpujoin.startup_cost;
DROP TABLE g, h, pt, dim;
DROP FUNCTION rows_of;
DROP VIEW years, halves;
DROP TABLE looked_up, tiny;
DROP FUNCTION joins_of;
