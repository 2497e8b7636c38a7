-- What a snapshot sees of pages in every state: versions, deletes, aborts, subtransactions, locks; and of pages
-- that change while a join reads them.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA heap_visibility;
SET search_path = heap_visibility, public;
CREATE TABLE t (k int, v int, s text) WITH (fillfactor = 60, autovacuum_enabled = off);
CREATE TABLE o WITH (autovacuum_enabled = off) AS SELECT i AS k FROM generate_series(1, 2000) AS i;
INSERT INTO t SELECT i, i % 10, 'row ' || i FROM generate_series(1, 2000) AS i;
ANALYZE t, o;
CREATE FUNCTION both_sides() RETURNS TABLE (taken bool, rows bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT c.* FROM compare('SELECT t.* FROM t JOIN o ON t.k = o.k') AS c
    UNION ALL SELECT c.* FROM compare('SELECT t.* FROM o LEFT JOIN t ON t.k = o.k') AS c $$;

-- Versions on the same page (HOT) and on others, deletes, and what was rolled back.
UPDATE t SET v = v + 100 WHERE k % 3 = 0;
UPDATE t SET k = k + 5000, s = s || ' moved' WHERE k % 50 = 0;
DELETE FROM t WHERE k % 11 = 0;
BEGIN;
INSERT INTO t SELECT i, -1, 'aborted' FROM generate_series(1, 500) AS i;
UPDATE t SET v = -2 WHERE k % 5 = 0;
DELETE FROM t WHERE k % 7 = 0;
ROLLBACK;
SELECT * FROM both_sides();
VACUUM t;
SELECT * FROM both_sides();
VACUUM FREEZE t;
UPDATE t SET v = v + 1 WHERE k % 13 = 0;
SELECT * FROM both_sides();

-- This transaction's own changes, in savepoints that live on or were rolled back.
BEGIN;
UPDATE t SET v = 1000 WHERE k % 4 = 0;
SAVEPOINT a;
INSERT INTO t SELECT i, 2000, 'kept' FROM generate_series(1, 100) AS i;
SAVEPOINT b;
UPDATE t SET v = 3000 WHERE k % 6 = 0;
DELETE FROM t WHERE k % 9 = 0;
ROLLBACK TO b;
DELETE FROM t WHERE k % 17 = 0;
RELEASE a;
SELECT * FROM both_sides();
-- Changes made after a cursor was opened stay invisible to it, before and after it reads.
DECLARE seen NO SCROLL CURSOR FOR SELECT count(*), sum(t.v), sum(t.k) FROM t JOIN o ON t.k = o.k;
SET LOCAL gpujoin.force = on;
DECLARE gpu_seen NO SCROLL CURSOR FOR SELECT count(*), sum(t.v), sum(t.k) FROM t JOIN o ON t.k = o.k;
DECLARE gpu_rows NO SCROLL CURSOR FOR SELECT t.* FROM o JOIN t ON t.k = o.k;
MOVE 10 IN gpu_rows;
DELETE FROM t WHERE k % 2 = 0;
UPDATE t SET v = v + 7, s = repeat(s, 30);
INSERT INTO t SELECT * FROM t;
FETCH seen;
FETCH gpu_seen;
MOVE ALL IN gpu_rows;
COMMIT;
RESET gpujoin.force;
SELECT * FROM both_sides();

-- A join into the table it reads does not see what it writes.
BEGIN;
SET LOCAL gpujoin.force = on;
INSERT INTO t SELECT t.k, t.v, 'again' FROM t JOIN o ON t.k = o.k WHERE t.k < 300;
SELECT count(*) FROM t WHERE s = 'again';
WITH changed AS (UPDATE t SET v = t.v + 1 FROM o WHERE t.k = o.k RETURNING t.k)
SELECT count(*) = (SELECT count(*) FROM t JOIN o ON t.k = o.k) AS all_changed FROM changed;
DELETE FROM t USING o WHERE t.k = o.k AND t.s = 'again';
COMMIT;
SELECT * FROM both_sides();

-- Rows locked by this and by other (sub)transactions, together.
BEGIN;
SELECT count(*) FROM (SELECT FROM t WHERE k % 3 = 0 FOR SHARE) locked;
SAVEPOINT a;
SELECT count(*) FROM (SELECT FROM t WHERE k % 15 = 0 FOR UPDATE) locked;
SAVEPOINT b;
SELECT count(*) FROM (SELECT FROM t WHERE k % 9 = 0 FOR NO KEY UPDATE) locked;
UPDATE t SET v = v - 1 WHERE k % 18 = 0;
SELECT * FROM both_sides();
ROLLBACK TO b;
SELECT * FROM both_sides();
COMMIT;
SELECT * FROM both_sides();

-- New files: truncated, rewritten; and pages of nothing but dead rows.
BEGIN;
TRUNCATE t;
INSERT INTO t SELECT i, i, 'new' FROM generate_series(1, 50) AS i;
SELECT * FROM both_sides();
ROLLBACK;
SELECT * FROM both_sides();
VACUUM FULL t;
SELECT * FROM both_sides();
DELETE FROM t;
SELECT * FROM both_sides();

-- A scan counts what core's counts, whether it looks for a page's buffer or finds it behind the last one's, as it does from the
-- sixth time on.
CREATE TABLE counted WITH (autovacuum_enabled = off) AS SELECT i AS k, repeat('x', 100) AS s FROM generate_series(1, 5000) AS i;
VACUUM ANALYZE counted;
CREATE FUNCTION counters() RETURNS bigint[] LANGUAGE sql AS $$
    SELECT ARRAY[pg_stat_get_xact_numscans(c), pg_stat_get_xact_tuples_returned(c), pg_stat_get_xact_blocks_fetched(c),
                 pg_stat_get_xact_blocks_hit(c)] FROM CAST('counted'::regclass AS oid) AS c $$;
CREATE FUNCTION count_scans(enabled text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    earlier bigint[] := counters();
    found bigint;
BEGIN
    PERFORM set_config('gpujoin.enabled', enabled, true), set_config('gpujoin.force', 'on', true);
    FOR i IN 1 .. 9 LOOP
        EXECUTE 'SELECT count(*) FROM counted JOIN o ON counted.k = o.k' INTO found;
        IF found <> 2000 THEN RAISE WARNING 'found % rows', found; END IF;
    END LOOP;
    RETURN ARRAY(SELECT now - before FROM unnest(counters(), earlier) AS c (now, before));
END $$;
SELECT count_scans('on') = count_scans('off') AS same;
