-- Columns that the server keeps: the same rows as core's, whatever has been done to the table, and when they are used. The
-- cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SELECT current_setting('gpujoin.keep_memory') <> '0' AS keeps;
CREATE TABLE sale (id integer, k integer, v smallint, w bigint, d date, at timestamp, o oid, p numeric(12, 2), t text, c char(4), f float8, x numeric);
INSERT INTO sale SELECT i, i % 40, (i % 300 - 150)::smallint, i * 4294967296 - 7, '2024-01-01'::date + i % 100, '2024-01-01'::timestamp + i * interval '1 minute',
    i % 1000, (i % 5000 - 2500) / 100.0, CASE WHEN i % 9 <> 0 THEN 't' || i % 6 END, 'c' || i % 3, i / 8.0, i / 3.0 FROM generate_series(1, 40000) AS i;
UPDATE sale SET k = NULL, v = NULL, p = NULL WHERE id % 17 = 0;
UPDATE sale SET p = 'NaN' WHERE id % 1001 = 0;
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 7 AS name, i % 5 AS g FROM generate_series(0, 39) AS i;
VACUUM ANALYZE sale, dim;

-- The first scan is an ordinary one, the second keeps the columns, others use them.
SET gpujoin.force = on;
SELECT chunks, read > 128 AS reads FROM kept_by('SELECT k, sum(v) FROM sale GROUP BY k');
SELECT * FROM kept_by('SELECT k, sum(v) FROM sale GROUP BY k');
SELECT * FROM kept_by('SELECT k, sum(v) FROM sale WHERE v > 10 GROUP BY k');
SET gpujoin.force = off;

-- Types as keys, values and in conditions; NULLs; no rows; more columns that join those that are there.
SELECT q, r.* FROM unnest(ARRAY[
    'SELECT k, count(*), count(v), sum(v), min(v), max(v), avg(v) FROM sale GROUP BY k',
    'SELECT v, sum(w), avg(w), min(d), max(at) FROM sale WHERE d >= ''2024-02-01'' AND d < ''2024-03-15'' GROUP BY v',
    'SELECT t, count(*), sum(p), avg(p), min(p), max(p) FROM sale GROUP BY t',
    'SELECT c, t, sum(p * 2), count(*) FILTER (WHERE v < 0) FROM sale WHERE v <> 7 AND k BETWEEN 3 AND 30 GROUP BY c, t',
    'SELECT d, sum(p) FROM sale WHERE at < ''2024-01-20'' AND w > 1000000 AND o <= 700 GROUP BY d',
    'SELECT sum(p), count(*) FROM sale WHERE v > 1000',
    'SELECT sum(p), count(*) FROM sale WHERE k < 20 AND k > 30',
    'SELECT count(*), sum(v) FROM sale WHERE 5 < k AND 30000::bigint > id',
    'SELECT count(*), sum(2), max(7) FROM sale',
    'SELECT name, sum(v), count(*) FROM sale JOIN dim ON sale.k = dim.k WHERE g < 3 GROUP BY name',
    'SELECT name, sum(p), max(d) FROM sale LEFT JOIN dim ON sale.k = dim.k AND g = 1 WHERE v < 50 GROUP BY name',
    'SELECT count(*), sum(w) FROM sale WHERE EXISTS (SELECT FROM dim WHERE dim.k = sale.v)',
    'SELECT count(*), sum(w) FROM sale WHERE NOT EXISTS (SELECT FROM dim WHERE dim.k = sale.v) AND v > 0']) AS q, compare_kept(q) AS r;

-- Constants between two values of a numeric column, beyond all of them, infinite and NaN.
SELECT count(*) AS conditions, min(r.chunks) AS chunks, sum(r.missing) AS missing, sum(r.extra) AS extra
FROM unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) AS op, unnest(ARRAY['3.14', '3.145', '-0.001', '0', '24.99', '9999999999', '-10000000000.5',
    '123456789012345678901234567890', '-12345678901234567890.123', 'NaN', 'Infinity', '-Infinity']) AS c,
    compare_kept(format('SELECT k, count(*), sum(v) FROM sale WHERE p %s %L::numeric GROUP BY k', op, c)) AS r;

-- Days against instants, and instants against days: before and after them, infinite ones, and days that instants do not reach.
CREATE TABLE day (id integer, d date, at timestamp, filler text);
INSERT INTO day SELECT i, '2000-01-01'::date + i % 3 - 1, '2000-01-01'::timestamp + (i % 7 - 3) * interval '12 hours', repeat('x', 60) FROM generate_series(1, 20000) AS i;
INSERT INTO day VALUES (-1, '-infinity', '-infinity', ''), (-2, 'infinity', 'infinity', ''), (-3, '4714-11-24 BC', '4714-11-24 BC', ''), (-4, '5874897-12-31', '294276-12-31 23:59:59.999999', ''), (-5, NULL, NULL, '');
VACUUM ANALYZE day;
SELECT column_name, count(*) AS conditions, min(r.chunks) AS chunks, max(r.rows) AS rows, sum(r.missing) AS missing, sum(r.extra) AS extra
FROM (VALUES ('d', 'timestamp', ARRAY['2000-01-01', '2000-01-01 00:00:00.000001', '1999-12-31 23:59:59.999999', '1999-12-30 12:00', '294276-12-31 23:59:59.999999', '4714-11-24 BC', 'infinity', '-infinity']),
    ('at', 'date', ARRAY['2000-01-01', '1999-12-31', '294276-12-31', '294277-01-01', '5874897-12-31', '4714-11-24 BC', 'infinity', '-infinity'])) AS v (column_name, type, constants),
    unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) AS op, unnest(constants) AS c, unnest(ARRAY['%1$s %2$s %3$s %4$L', '%3$s %4$L %2$s %1$s']) AS form,
    compare_kept('SELECT d, at, count(*), sum(id) FROM day WHERE ' || format(form, column_name, op, type, c) || ' GROUP BY d, at') AS r
GROUP BY column_name ORDER BY column_name;

-- What is computed of columns, as conditions, keys and values, when it is wanted for the second time: where it cannot fail, and gives
-- the same always.
SELECT q, r.* FROM unnest(ARRAY[
    'SELECT k, sum(v) FROM sale WHERE t LIKE ''t1%'' GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE f < 100 GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE t = ''t2'' AND v > 3 GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE t IN (''t2'', ''t5'') OR c = ''c1'' GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE t IS NULL AND c <> ''c1'' GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE id < w AND id IN (1, 5, 700, 30000) GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE NOT (t = ''t2'') GROUP BY k',
    'SELECT extract(year FROM d), extract(month FROM d), count(*), sum(p) FROM sale GROUP BY 1, 2',
    'SELECT substring(t FROM 1 FOR 1), sum(CASE WHEN t = ''t3'' THEN v ELSE 0 END), count(*) FILTER (WHERE c LIKE ''%2%'') FROM sale GROUP BY 1',
    'SELECT name, extract(year FROM d), sum(p) FROM sale JOIN dim ON sale.k = dim.k WHERE t LIKE ''%3'' GROUP BY 1, 2']) AS q, compare_kept(q, 3) AS r;

-- Where they are of no use: what may fail, is not the same always, or is somebody's own; system columns.
CREATE FUNCTION own(integer) RETURNS boolean LANGUAGE sql IMMUTABLE LEAKPROOF AS 'SELECT $1 > 5';
CREATE FUNCTION own_slow(integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 > 5; END';
SELECT q, r.chunks, r.rows, r.missing, r.extra FROM unnest(ARRAY[
    'SELECT k, sum(v) FROM sale WHERE 10 / (id + 1) < 2 GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE d < now() GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE own_slow(k) GROUP BY k',
    'SELECT k, sum(v) FROM sale WHERE p * p > 1 GROUP BY k',
    'SELECT tableoid, sum(v) FROM sale GROUP BY tableoid']) AS q, compare_kept(q, 3) AS r;
SELECT * FROM compare_kept('SELECT k, sum(v) FROM sale WHERE own(k) GROUP BY k', 3);  -- inlined
DROP FUNCTION own, own_slow;

-- Changes cost the blocks they touch, until the table is vacuumed and its columns are kept again.
CREATE FUNCTION all_kept() RETURNS TABLE (chunks integer, "read" integer, "rows" integer, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT r.* FROM compare_kept('SELECT k, d, count(*), sum(v), sum(p), max(w), max(at) FROM sale GROUP BY k, d') AS r $$;
SELECT * FROM all_kept();
UPDATE sale SET p = p + 1000 WHERE id IN (100, 20000, 39999);
SELECT chunks, read BETWEEN 1 AND 8 AS few, rows, missing, extra FROM all_kept();
DELETE FROM sale WHERE id BETWEEN 500 AND 520;
INSERT INTO sale (id, k, v, p) SELECT i, i % 3, 1, 1 FROM generate_series(50001, 50100) AS i;
SELECT chunks, read BETWEEN 1 AND 16 AS few, rows, missing, extra FROM all_kept();
BEGIN;
UPDATE sale SET v = 1 WHERE id % 1000 = 3;
SELECT chunks, read BETWEEN 1 AND 120 AS some, rows, missing, extra FROM all_kept();
SELECT chunks, read BETWEEN 1 AND 120 AS some, rows, missing, extra FROM compare_kept('SELECT count(*) FROM sale');
ROLLBACK;
SELECT chunks, read BETWEEN 1 AND 120 AS some, rows, missing, extra FROM all_kept();
VACUUM sale;
SELECT * FROM all_kept();
VACUUM FREEZE sale;
SELECT * FROM all_kept();
-- (In late minor versions from 17 on a row lock changes the map's page, too.)
SELECT count(*) FROM (SELECT FROM sale WHERE id = 7 FOR UPDATE) AS locked;
SELECT chunks, read <= 1 AS few, rows, missing, extra FROM all_kept();

-- Own changes are seen, and those that come after a cursor's snapshot are not.
BEGIN;
SET LOCAL gpujoin.force = on;
DECLARE before NO SCROLL CURSOR FOR SELECT count(*), sum(v), sum(p) FROM sale;
DELETE FROM sale WHERE id % 2 = 0;
DECLARE behind NO SCROLL CURSOR FOR SELECT count(*), sum(v), sum(p) FROM sale;
FETCH ALL FROM before;
FETCH ALL FROM behind;
ROLLBACK;
SELECT count(*), sum(v), sum(p) FROM sale;

VACUUM sale;

-- What a column is may change without its rows being written, also for a while.
ALTER TABLE sale ADD COLUMN e integer DEFAULT 5;
SELECT * FROM compare_kept('SELECT k, sum(e), count(e) FROM sale GROUP BY k');
BEGIN;
ALTER TABLE sale ADD COLUMN g integer DEFAULT 6;
SELECT * FROM compare_kept('SELECT k, sum(g), count(g) FROM sale GROUP BY k');
ROLLBACK;
ALTER TABLE sale ADD COLUMN g integer DEFAULT 7;
SELECT * FROM compare_kept('SELECT k, sum(g), count(g) FROM sale GROUP BY k');
BEGIN;
ALTER TABLE sale ALTER COLUMN v TYPE integer USING v + 1;
SELECT chunks IS NULL AS unused, missing, extra FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k');
ROLLBACK;
SELECT * FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k');
SELECT * FROM compare_kept('SELECT k, sum(p) FROM sale GROUP BY k');
ALTER TABLE sale ALTER COLUMN p TYPE numeric(14, 2);
SELECT * FROM compare_kept('SELECT k, sum(p) FROM sale GROUP BY k');
ALTER TABLE sale DROP COLUMN d, ADD COLUMN d integer;
SELECT * FROM compare_kept('SELECT d, k, sum(p) FROM sale GROUP BY d, k');
ALTER TABLE sale ALTER COLUMN v TYPE integer USING v * 2;
SELECT chunks, missing, extra FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k');
VACUUM sale;
SELECT * FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k');
BEGIN;
TRUNCATE sale;
INSERT INTO sale (id, k, v) SELECT i, i % 3, i % 7 FROM generate_series(1, 30000) AS i;
SELECT chunks IS NULL AS unused, missing, extra FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k');
ROLLBACK;
SELECT * FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k');

-- Parameters of conditions, subplans that run again and again, and subqueries' results.
SET plan_cache_mode = force_generic_plan;
SET gpujoin.force = on;
PREPARE by_key (integer) AS SELECT count(*), sum(v) FROM sale WHERE k = $1;
EXECUTE by_key (3);
EXECUTE by_key (4);
EXECUTE by_key (NULL);
RESET gpujoin.force;
SELECT rows, missing, extra FROM compare_kept('SELECT g, (SELECT sum(v) FROM sale WHERE sale.k = dim.k AND sale.id > 100) FROM dim WHERE g < 2', 1);
SELECT * FROM compare_kept('SELECT sum(v), count(*) FROM sale WHERE k > (SELECT avg(g)::integer FROM dim)');

-- Columns of tables that are not logged, and of those that this transaction has made, are not kept.
CREATE UNLOGGED TABLE unlogged AS SELECT id, k, v FROM sale;
VACUUM unlogged;
SELECT chunks, missing, extra FROM compare_kept('SELECT k, sum(v) FROM unlogged GROUP BY k');
CREATE TEMPORARY TABLE temporary AS SELECT id, k, v FROM sale;
VACUUM temporary;
SELECT chunks, missing, extra FROM compare_kept('SELECT k, sum(v) FROM temporary GROUP BY k');
BEGIN;
CREATE TABLE made AS SELECT id, k, v FROM sale;
SELECT chunks, missing, extra FROM compare_kept('SELECT k, sum(v) FROM made GROUP BY k');
ROLLBACK;

-- Serializable transactions meet writers at the pages of the table.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT chunks IS NULL AS unused, missing, extra FROM compare_kept('SELECT k, sum(v) FROM sale GROUP BY k');
SELECT mode FROM pg_locks WHERE relation = 'sale'::regclass AND pid = pg_backend_pid() AND mode LIKE 'SI%';
COMMIT;

-- A subquery that core would not ask for is not asked for.
SELECT * FROM compare_kept('SELECT k, sum(v) FROM sale WHERE id > 0 GROUP BY k');
SET gpujoin.force = on;
SELECT sum(v) FROM sale WHERE id < -5 AND k > (SELECT 1 / (count(*) - 5) FROM (SELECT DISTINCT g FROM dim) AS s);
RESET gpujoin.force;

-- Pages whose rows do not fit into a batch are read from the table, and leave nothing behind in the one that is written.
CREATE TABLE wide (id integer, k integer, t text);
ALTER TABLE wide ALTER COLUMN t SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, CASE WHEN NOT is_long THEN i % 10 END, repeat(chr(65 + i % 20), CASE WHEN is_long THEN 30000 ELSE 20 END)
    FROM (SELECT i, i BETWEEN 40001 AND 40200 AS is_long FROM generate_series(1, 50000) AS i) AS rows;
VACUUM ANALYZE wide;
SELECT chunks, read BETWEEN 1 AND 10 AS some, rows, missing, extra
    FROM compare_kept('SELECT t, count(k), sum(k), count(*) FROM wide GROUP BY t', 3);
-- Rows are counted by the narrowest column that can be kept; where there is none, they are read.
CREATE TABLE texts AS SELECT i::text || repeat('x', 300) AS t FROM generate_series(1, 30000) AS i;
CREATE TABLE no_columns ();
INSERT INTO no_columns SELECT FROM generate_series(1, 100000);
VACUUM ANALYZE texts, no_columns;
SELECT chunks, rows, missing, extra FROM compare_kept('SELECT count(*) FROM texts');
SELECT chunks, rows, missing, extra FROM compare_kept('SELECT count(*) FROM no_columns');
ALTER TABLE texts ADD COLUMN is_new bool, ADD COLUMN id integer DEFAULT 7;
VACUUM texts;
SELECT chunks, rows, missing, extra FROM compare_kept('SELECT count(*), sum(1) FROM texts', 3);
ALTER TABLE texts DROP COLUMN is_new;
SELECT chunks, rows, missing, extra FROM compare_kept('SELECT count(*) FROM texts', 3);
DROP TABLE texts, no_columns;

DROP TABLE sale, dim, unlogged, wide;
DROP FUNCTION all_kept, compare_kept, kept_by;
