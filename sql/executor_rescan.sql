-- A join that is run again, stopped early, or fetched from piecemeal.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g, 'a' || i AS t FROM generate_series(1, 5000) AS i;
CREATE TABLE b AS SELECT i AS k, i % 20 AS g, 'b' || i AS t FROM generate_series(1, 5000, 2) AS i;
CREATE TABLE few AS SELECT i AS n FROM generate_series(1, 5) AS i;
ANALYZE a, b, few;
SET gpujoin.force = on;

-- Rescans: the build side unchanged, the build side changed, the probe side changed, early stop in between.
SELECT * FROM compare('SELECT n, (SELECT count(*) FROM a JOIN b USING (k) WHERE a.g = few.n) FROM few');
SELECT * FROM compare('SELECT n, (SELECT count(*) FROM a JOIN b USING (k) WHERE b.g = few.n) FROM few');
SELECT * FROM compare('SELECT n, (SELECT count(*) FROM a JOIN b ON a.k = b.k + few.n) FROM few');
SELECT * FROM compare('SELECT n, (SELECT a.t || b.t FROM a JOIN b USING (k) WHERE b.g = few.n ORDER BY k LIMIT 1) FROM few');
SELECT * FROM compare('SELECT n, s.* FROM few, LATERAL (SELECT a.t, b.t AS bt FROM a JOIN b USING (k) WHERE a.g = few.n OFFSET 0) s');
SELECT * FROM compare('SELECT n, s.* FROM few LEFT JOIN LATERAL (SELECT a.t FROM a WHERE a.g < few.n AND NOT EXISTS (SELECT FROM b WHERE a.k = b.k AND (b.g + a.g + few.n) % 2 = 0) OFFSET 0) s ON true');
SELECT * FROM compare('SELECT n, s.* FROM few LEFT JOIN LATERAL (SELECT a.t, b.t AS bt FROM (SELECT * FROM a WHERE k < 40 + few.n) a FULL JOIN (SELECT * FROM b WHERE k < 50) b ON a.k = b.k OFFSET 0) s ON true');
SELECT * FROM compare('SELECT n FROM few WHERE EXISTS (SELECT FROM a JOIN b ON a.k = b.k WHERE a.g + b.g > few.n * 6)');
-- The inner side of a nested loop, unchanged between scans.
SET enable_material = off;
SELECT * FROM compare('SELECT n, s.c FROM few JOIN (SELECT a.g AS c FROM a JOIN b USING (k) WHERE a.k < 100 OFFSET 0) s ON n <> c');
RESET enable_material;

-- LIMIT, and a cursor that is left open, rewound, closed.
SELECT count(*) FROM (SELECT a.t FROM a JOIN b USING (k) LIMIT 10) s;
SELECT count(*) FROM (SELECT a.t FROM a LEFT JOIN b USING (k) LIMIT 1000 OFFSET 3999) s;
BEGIN;
DECLARE forward NO SCROLL CURSOR FOR SELECT a.k, b.t FROM a JOIN b USING (k) ORDER BY a.k;
FETCH 3 FROM forward;
MOVE 2000 IN forward;
FETCH 2 FROM forward;
DECLARE back SCROLL CURSOR FOR SELECT count(*), b.g FROM a JOIN b USING (k) GROUP BY b.g ORDER BY b.g;
FETCH 2 FROM back;
FETCH BACKWARD 1 FROM back;
DECLARE plain NO SCROLL CURSOR FOR SELECT 1 FROM a JOIN b USING (k);
MOVE 10 IN plain;
MOVE 10 IN plain;
MOVE ALL IN plain;
DECLARE held CURSOR WITH HOLD FOR SELECT a.k FROM a JOIN b USING (k) ORDER BY 1 LIMIT 4;
COMMIT;
FETCH ALL FROM held;
CLOSE held;
-- Closed by an error, and by a savepoint.
BEGIN;
DECLARE lost CURSOR FOR SELECT a.k FROM a JOIN b USING (k);
MOVE 5 IN lost;
SAVEPOINT s;
DECLARE inner_lost CURSOR FOR SELECT a.k FROM a JOIN b USING (k);
MOVE 5 IN inner_lost;
SELECT sum(1 / (b.k - 3)) FROM a JOIN b USING (k);
ROLLBACK TO s;
MOVE 5 IN lost;
COMMIT;

-- Prepared statements with custom and generic plans.
PREPARE joined(integer) AS SELECT count(*), min(b.t) FROM a JOIN b ON a.k = b.k AND a.g <> $1 WHERE a.k < $1 * 100;
SET plan_cache_mode = force_generic_plan;
EXECUTE joined(3);
EXECUTE joined(30);
SET plan_cache_mode = force_custom_plan;
EXECUTE joined(3);
EXECUTE joined(30);
RESET plan_cache_mode;
DEALLOCATE joined;

-- plpgsql: a loop over a query, left early; an exception in the middle.
DO $$
DECLARE
    r record;
    seen integer := 0;
BEGIN
    FOR i IN 1..3 LOOP
        FOR r IN SELECT a.k FROM a JOIN b USING (k) LOOP
            seen := seen + 1;
            EXIT WHEN seen % 100 = 0;
        END LOOP;
        BEGIN
            PERFORM 1 / (a.k - 7) FROM a JOIN b USING (k);
        EXCEPTION WHEN division_by_zero THEN
            seen := seen + 1000;
        END;
    END LOOP;
    RAISE NOTICE 'seen %', seen;
END $$;

-- Writing statements.
BEGIN;
UPDATE a SET t = b.t FROM b WHERE a.k = b.k AND b.g < 5;
SELECT count(*) FROM a WHERE t LIKE 'b%';
DELETE FROM a USING b WHERE a.k = b.k;
SELECT count(*) FROM a;
MERGE INTO a USING b ON a.k = b.k WHEN NOT MATCHED THEN INSERT VALUES (b.k, b.g, 'merged');
SELECT count(*), count(*) FILTER (WHERE t = 'merged') FROM a;
INSERT INTO few SELECT a.g FROM a JOIN b USING (k) WHERE a.k < 10;
SELECT count(*) FROM few;
SELECT a.k FROM a JOIN b USING (k) WHERE a.k < 6 ORDER BY 1 FOR UPDATE OF a;
ROLLBACK;

-- Volatile functions, InitPlans and Params beside the join; set operations.
SELECT * FROM compare('SELECT a.k FROM a JOIN b ON a.k = b.k + (SELECT min(n) FROM few)');
SELECT * FROM compare('SELECT a.k FROM a JOIN b ON a.k = b.k AND a.g + b.g > (SELECT max(n) FROM few)');
SELECT * FROM compare('SELECT a.k FROM a JOIN b USING (k) UNION ALL SELECT b.k FROM a RIGHT JOIN b ON a.k = b.k + 3');
SELECT * FROM compare('WITH x AS MATERIALIZED (SELECT * FROM a WHERE g > 4) SELECT x.t, y.t AS yt FROM x JOIN x y ON x.k = y.k + 2');
SELECT * FROM compare('SELECT a.k, v.x FROM a JOIN (VALUES (1, 1.5), (2, 2.5), (NULL, 3.5)) v(k, x) ON a.k = v.k');
SELECT * FROM compare('SELECT a.k, f FROM a JOIN generate_series(10, 5000, 10) f ON a.k = f');
DROP TABLE a, b, few;
