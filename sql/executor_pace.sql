-- How much of its inputs a join reads, and when: for a few wanted rows, with side effects, of dear rows, where an input is
-- empty, and over rescans.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA pace;
SET search_path = pace, public;
CREATE SEQUENCE calls;
CREATE TABLE m AS SELECT i AS id, i % 10 AS k FROM generate_series(1, 20000) i;
ANALYZE m;
-- One that is VOLATILE, one that takes a millisecond (STABLE: reading less is all that tells), both counted.
CREATE FUNCTION volatile_id(int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM nextval('calls'); RETURN $1; END $$;
CREATE FUNCTION dear_id(int) RETURNS int LANGUAGE plpgsql STABLE AS
    $$ BEGIN PERFORM nextval('calls'), pg_sleep(0.001); RETURN $1; END $$;
CREATE FUNCTION calls_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setval('calls', 1, false);
    EXECUTE query;
    RETURN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM calls);
END $$;
CREATE FUNCTION joins_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint := (SELECT joins FROM gpujoin_statistics());
BEGIN
    EXECUTE query;
    RETURN (SELECT joins FROM gpujoin_statistics()) - before;
END $$;
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT volatile_id(id) AS id FROM m OFFSET 0) p LEFT JOIN m USING (id) LIMIT 10;

-- A LIMIT above a probe side with side effects: core calls the function ten times.
SELECT calls_of('SELECT * FROM (SELECT volatile_id(id) AS id FROM m OFFSET 0) p LEFT JOIN m USING (id) LIMIT 10') BETWEEN 10 AND 40;
SELECT calls_of('SELECT * FROM (SELECT id FROM m WHERE volatile_id(k) = 3 OFFSET 0) p LEFT JOIN m USING (id) LIMIT 10') BETWEEN 94 AND 500;
SELECT calls_of('SELECT * FROM (SELECT id, (SELECT volatile_id(x.k)) FROM m x OFFSET 0) p LEFT JOIN m USING (id) LIMIT 10') BETWEEN 10 AND 40;
-- Some 200 rows, of which core calls it for 200; and all of them.
SELECT calls_of('SELECT * FROM (SELECT volatile_id(id) AS id FROM m OFFSET 0) p LEFT JOIN m USING (id) LIMIT 200') BETWEEN 200 AND 1000;
SELECT calls_of('SELECT count(*) FROM (SELECT volatile_id(id) AS id FROM m OFFSET 0) p LEFT JOIN m USING (id)');
-- Rows that are locked.
BEGIN;
SELECT count(*) FROM (SELECT * FROM (SELECT * FROM m FOR UPDATE) p LEFT JOIN m USING (id) LIMIT 10) s;
SELECT count(*) BETWEEN 10 AND 40 FROM m WHERE xmax::text <> '0';
ROLLBACK;
-- Rows that take long, computed or filtered.
SELECT calls_of('SELECT * FROM (SELECT dear_id(id) AS id FROM m OFFSET 0) p LEFT JOIN m USING (id) LIMIT 10') BETWEEN 10 AND 100;
SELECT calls_of('SELECT * FROM (SELECT id FROM m WHERE dear_id(id) > 0 OFFSET 0) p LEFT JOIN m USING (id) LIMIT 10') BETWEEN 10 AND 100;
-- What a filter takes with an array that is computed, PostgreSQL 17.0 could not say to an executor.
SELECT count(*) FROM (SELECT id FROM m WHERE id = ANY (array_append(NULL, id)) OFFSET 0) p LEFT JOIN m USING (id);
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM (SELECT dear_id(id) AS id FROM m OFFSET 0) p LEFT JOIN m USING (id);
SELECT calls_of('FETCH 5 FROM c') BETWEEN 5 AND 100;
COMMIT;

-- Nothing is opened at the server where an input turns out to be empty, as in core however often that is.
SELECT joins_of('SELECT n, (SELECT count(*) FROM m a JOIN m b USING (id) WHERE b.k = -n) FROM generate_series(1, 50) n');
SELECT joins_of('SELECT n, (SELECT count(*) FROM m a LEFT JOIN m b USING (id) WHERE a.k = -n) FROM generate_series(1, 50) n');
-- What was found to be empty stays so over rescans: the function is called for 100 rows, not for each of five scans.
CREATE TABLE five AS SELECT generate_series(1, 5) AS n;
CREATE TABLE hundred AS SELECT i AS id FROM generate_series(1, 100) i;
ANALYZE five, hundred;
SET enable_material = off;
SELECT calls_of('SELECT n, s.id FROM five LEFT JOIN (SELECT a.id FROM m a JOIN (SELECT id FROM hundred WHERE volatile_id(id) < 0 OFFSET 0) b USING (id) OFFSET 0) s ON n <> s.id');
RESET enable_material;
SELECT * FROM compare('SELECT n, (SELECT count(*) FROM m a JOIN m b USING (id) WHERE b.k = few.n - 2) FROM five AS few');

-- The recursive term of a CTE: core keeps a hash table over the iterations, so what reads the working table is its own.
CREATE TABLE emp AS SELECT i AS id, i - 1 AS boss FROM generate_series(1, 50000) i;
ALTER TABLE emp ADD PRIMARY KEY (id);
ANALYZE emp;
RESET gpujoin.force;
CREATE FUNCTION uses_gpujoin(query text) RETURNS boolean LANGUAGE sql AS
    $$ SELECT bool_or(line LIKE '%GPU Join%') FROM plan_of(query) AS line $$;
-- Nothing stands in the way, neither costs of ours nor a better plan of core's, whatever was measured here: it would be taken.
SET gpujoin.startup_cost = 0;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT uses_gpujoin('SELECT count(*) FROM emp a JOIN emp b ON a.id = b.boss');
SELECT uses_gpujoin('WITH RECURSIVE up (id, boss, d) AS (SELECT id, boss, 0 FROM emp WHERE id BETWEEN 40000 AND 40040
    UNION ALL SELECT e.id, e.boss, d + 1 FROM up JOIN emp e ON e.id = up.boss WHERE d < 30) SELECT count(*) FROM up');
SELECT uses_gpujoin('WITH RECURSIVE up (id, boss, d) AS (SELECT id, boss, 0 FROM emp WHERE id BETWEEN 40000 AND 40040
    UNION ALL SELECT e.id, e.boss, d + 1 FROM (SELECT boss, d FROM up OFFSET 0) u JOIN emp e ON e.id = u.boss WHERE d < 30)
    SELECT count(*) FROM up');
-- Joins in it that do not read the working table may be ours, and so may those of the rest of the query.
SELECT uses_gpujoin('WITH RECURSIVE up (id, boss, d) AS (SELECT id, boss, 0 FROM emp WHERE id BETWEEN 40000 AND 40040
    UNION ALL SELECT e.id, e.boss, d + 1 FROM up JOIN (SELECT a.id, b.boss FROM emp a JOIN emp b ON a.id = b.boss OFFSET 0) e ON e.id = up.boss WHERE d < 30)
    SELECT count(*) FROM up');
SELECT uses_gpujoin('WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 10)
    SELECT count(*) FROM up, emp a JOIN emp b ON a.id = b.boss');
SET gpujoin.force = on;
SELECT * FROM compare('WITH RECURSIVE up (id, boss, d) AS (SELECT id, boss, 0 FROM emp WHERE id BETWEEN 40000 AND 40040
    UNION ALL SELECT e.id, e.boss, d + 1 FROM up JOIN emp e ON e.id = up.boss WHERE d < 5) SELECT * FROM up');
SET client_min_messages = warning;
DROP SCHEMA pace CASCADE;
