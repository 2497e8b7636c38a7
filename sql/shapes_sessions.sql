-- Plans that are kept, run again, fetched from piecemeal, nested, and ended by errors.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g, 'a' || i AS t FROM generate_series(1, 3000) AS i;
CREATE TABLE b AS SELECT i AS k, i % 15 AS g, 'b' || i AS t FROM generate_series(1, 4000, 2) AS i;
ANALYZE a, b;
SET gpujoin.force = on;

-- Prepared statements: Params in keys, in residuals, below the join and above it; plans of both modes.
PREPARE in_key(integer) AS SELECT count(*), min(b.t) FROM a JOIN b ON a.k = b.k + $1;
PREPARE in_range(integer) AS SELECT count(*), sum(b.k) FROM a JOIN b ON b.k BETWEEN a.k - $1 AND a.k WHERE a.k < 100;
PREPARE in_residual(integer) AS SELECT count(*), count(b.k), sum(b.k) FROM a LEFT JOIN b ON a.k = b.k AND a.g::numeric + b.g > $1;
PREPARE below(integer) AS SELECT count(*), count(a.k) FROM a RIGHT JOIN (SELECT * FROM b WHERE g = $1) b ON a.k = b.k;
PREPARE above(integer) AS SELECT count(*) FROM a FULL JOIN b ON a.k = b.k WHERE coalesce(a.g, b.g) < $1;
PREPARE untyped AS SELECT count(*) FROM a JOIN b ON a.k = b.k AND a.t <> $1::text;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE in_residual(3);
EXECUTE in_key(1);
EXECUTE in_key(100);
EXECUTE in_key(NULL);
EXECUTE in_range(3);
EXECUTE in_range(-1);
EXECUTE in_residual(3);
EXECUTE in_residual(20);
EXECUTE in_residual(NULL);
EXECUTE below(4);
EXECUTE below(99);
EXECUTE above(3);
EXECUTE untyped('a1');
-- A table that changes under a cached plan.
ALTER TABLE b ADD COLUMN late integer DEFAULT 5;
EXECUTE in_key(1);
CREATE INDEX ON b (k);
EXECUTE in_key(1);
DELETE FROM b WHERE k > 2000;
EXECUTE in_key(1);
-- A cached plan outlives the setting under which it was made.
SET gpujoin.enabled = off;
EXECUTE in_residual(3);
EXPLAIN (COSTS OFF) SELECT count(*) FROM a JOIN b USING (k);
RESET gpujoin.enabled;
RESET plan_cache_mode;
EXECUTE in_key(1);
EXECUTE in_residual(3);
DEALLOCATE ALL;

-- Cursors: scrollable ones, held ones, two at a time, positions, updates through one.
BEGIN;
DECLARE x SCROLL CURSOR FOR SELECT a.k, b.k FROM a LEFT JOIN b ON a.k = b.k AND a.g <> 1 ORDER BY a.k;
DECLARE y SCROLL CURSOR FOR SELECT a.k FROM a JOIN b USING (k) ORDER BY a.k;
FETCH ABSOLUTE 5 FROM x;
FETCH 2 FROM y;
FETCH RELATIVE -2 FROM x;
FETCH LAST FROM y;
FETCH PRIOR FROM y;
FETCH FIRST FROM x;
FETCH BACKWARD 3 FROM x;
MOVE FORWARD ALL IN x;
FETCH BACKWARD 2 FROM x;
CLOSE x;
FETCH ABSOLUTE 500 FROM y;
COMMIT;
BEGIN;
DECLARE unsorted SCROLL CURSOR FOR SELECT a.k FROM a JOIN b USING (k);
MOVE 10 IN unsorted;
MOVE BACKWARD ALL IN unsorted;
MOVE ALL IN unsorted;
DECLARE held CURSOR WITH HOLD FOR SELECT a.k FROM a JOIN b USING (k) WHERE a.k < 10 ORDER BY 1;
DECLARE target CURSOR FOR SELECT a.k FROM a JOIN b USING (k) WHERE a.k = 7 FOR UPDATE OF a;
FETCH target;
UPDATE a SET t = 'updated' WHERE CURRENT OF target;
COMMIT;
SELECT k, t FROM a WHERE t = 'updated';
DROP TABLE IF EXISTS nowhere;
FETCH 2 FROM held;
FETCH ALL FROM held;
CLOSE held;

-- plpgsql: loops left early, loops in loops, exceptions in the middle, cursors, dynamic statements.
CREATE FUNCTION loops() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    s record;
    c refcursor;
    seen integer := 0;
    failed integer := 0;
BEGIN
    FOR r IN SELECT a.k FROM a JOIN b USING (k) ORDER BY a.k LOOP
        EXIT WHEN r.k > 20;
        FOR s IN SELECT b.g, x.t FROM b JOIN a x USING (k) WHERE b.k <= r.k LOOP
            seen := seen + s.g;
            CONTINUE WHEN s.g < 5;
            EXIT;
        END LOOP;
        BEGIN
            PERFORM 1 / (a.k - 7) FROM a JOIN b USING (k);
        EXCEPTION WHEN division_by_zero THEN
            failed := failed + 1;
        END;
        BEGIN
            INSERT INTO b SELECT a.k, 1 / (b.g - 14), 'never' FROM a JOIN b USING (k);
        EXCEPTION WHEN OTHERS THEN
            failed := failed + 1;
        END;
    END LOOP;
    OPEN c FOR EXECUTE 'SELECT a.k FROM a JOIN b USING (k) WHERE a.g = $1 ORDER BY 1' USING 3;
    MOVE 4 FROM c;
    FETCH c INTO r;
    CLOSE c;
    RETURN format('seen %s, failed %s, fifth %s', seen, failed, r.k);
END $$;
SELECT loops();
SET gpujoin.enabled = off;
SELECT loops();
RESET gpujoin.enabled;

-- Savepoints: joins that are open when one is rolled back to, and after it.
BEGIN;
DECLARE outside CURSOR FOR SELECT a.k FROM a JOIN b USING (k) ORDER BY a.k;
FETCH 2 FROM outside;
SAVEPOINT one;
DECLARE inside CURSOR FOR SELECT a.k FROM a JOIN b USING (k) ORDER BY a.k DESC;
FETCH 1 FROM inside;
FETCH 1 FROM outside;
SAVEPOINT two;
SELECT 1 / (count(*) - count(*)) FROM a JOIN b USING (k);
ROLLBACK TO two;
FETCH 1 FROM inside;
ROLLBACK TO one;
FETCH 1 FROM outside;
FETCH 1 FROM inside;
ROLLBACK;
SELECT count(*) FROM a JOIN b USING (k);

-- Many joins at the same time in one backend: nested, side by side, and inside functions that joins call.
CREATE FUNCTION partners(n integer) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM a JOIN b USING (k) WHERE a.k <= n';
SELECT a.k, partners(a.k) FROM a JOIN b USING (k) WHERE a.k < 10 ORDER BY 1;
SELECT count(*), sum(b.g) FROM a JOIN b ON a.k = b.k AND partners(a.g) + b.g > 3 WHERE a.k < 40;
SELECT count(*) FROM a JOIN b USING (k) JOIN a a2 USING (k) JOIN b b2 USING (k) JOIN a a3 USING (k) JOIN b b3 USING (k) JOIN a a4 USING (k) JOIN b b4 USING (k);
SELECT sum(n) FROM (SELECT count(*) AS n FROM a JOIN b USING (k) UNION ALL SELECT count(*) FROM a LEFT JOIN b USING (k) UNION ALL
    SELECT count(*) FROM a RIGHT JOIN b USING (k) UNION ALL SELECT count(*) FROM a FULL JOIN b USING (k)) s;

-- Volatile functions are called as often as core calls them, and never in a key.
CREATE SEQUENCE calls;
CREATE FUNCTION counted(x integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM nextval('calls');
    RETURN x;
END $$;
EXPLAIN (COSTS OFF) SELECT count(*) FROM a JOIN b ON a.k = counted(b.k);
EXPLAIN (COSTS OFF) SELECT count(*) FROM a JOIN b ON a.k = b.k AND counted(a.g) = counted(b.g);
SELECT count(*) FROM a JOIN b ON a.k = b.k AND counted(a.g) >= counted(b.g) WHERE a.k < 50;
SELECT nextval('calls') - 1 AS calls;
SELECT setval('calls', 1, false);
SET gpujoin.enabled = off;
SELECT count(*) FROM a JOIN b ON a.k = b.k AND counted(a.g) >= counted(b.g) WHERE a.k < 50;
SELECT nextval('calls') - 1 AS calls;
RESET gpujoin.enabled;
SELECT count(DISTINCT r) > 1 AS varies FROM (SELECT random() AS r FROM a JOIN b USING (k)) s;
RESET gpujoin.force;
-- Unsafe in parallel plans: the join is taken all the same, by one process.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.startup_cost = 0;
SET gpujoin.encode_cost = 1;
SELECT * FROM compare('SELECT a.k, partners(5) AS p FROM a JOIN b ON a.k = b.k AND partners(a.g) + b.g > 0 WHERE a.k < 100');
SELECT * FROM compare('SELECT count(*) FROM a LEFT JOIN b ON a.k = b.k AND a.g <> b.g');
SELECT * FROM compare('SELECT count(*), sum(a.k), sum(b.k) FROM a FULL JOIN b ON a.k = b.k AND a.g <> b.g');
DROP FUNCTION counted, partners, loops;
DROP SEQUENCE calls;
DROP TABLE a, b;
