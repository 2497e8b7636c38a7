-- Ranges over inputs and values at the edges: no rows, all rows equal, all NULL, the least and the greatest values,
-- infinities, NaN and -0, and bounds that overflow on rows without a partner. All kinds of join on all algorithms.
\set ECHO none
\i sql/include/algorithms.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;

-- Sides without rows, with one, with equal ones, with NULL alone.
CREATE TABLE l (id int, g int, x int, n numeric, lo int, hi int);
CREATE TABLE r (LIKE l);
CREATE FUNCTION fill(target text, content text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('TRUNCATE %I', target);
    EXECUTE format('INSERT INTO %I SELECT i, %s FROM generate_series(1, 50) AS i %s', target,
        CASE content WHEN 'equal' THEN '1, 5, 5, 4, 6' WHEN 'null' THEN 'NULL, NULL, NULL, NULL, NULL'
        ELSE 'i % 3, i, i / 2.0, i - 1, i + 1' END,
        CASE content WHEN 'none' THEN 'WHERE false' WHEN 'one' THEN 'WHERE i = 5' END);
    EXECUTE format('ANALYZE %I', target);
END $$;
CREATE FUNCTION compare_contents(of_l text, of_r text) RETURNS TABLE (condition text, taken boolean, rows bigint[], differ text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fill('l', of_l), fill('r', of_r);
    FOREACH condition IN ARRAY ARRAY['l.x BETWEEN r.x - 2 AND r.x + 2', 'l.x BETWEEN r.lo AND r.hi',
                                     'l.lo <= r.hi AND l.hi >= r.lo', 'l.g = r.g AND l.n < r.n'] LOOP
        SELECT c.* INTO taken, rows, differ FROM compare_kinds(condition) AS c;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT of_l, of_r, c.*
FROM unnest(ARRAY['many', 'none', 'none', 'many', 'one', 'equal', 'many', 'equal', 'null', 'many', 'null', 'null'],
            ARRAY['none', 'many', 'none', 'one', 'many', 'many', 'equal', 'equal', 'many', 'null', 'null', 'equal'])
     AS contents (of_l, of_r), compare_contents(of_l, of_r) AS c;
DROP TABLE l, r;
DROP FUNCTION fill, compare_contents;

-- Extreme values. Each has a group of its own, where a sum that overflows has no partner.
CREATE TABLE l AS
SELECT i AS id, 'common' AS g, i::int2 AS i2, i AS i4, i::int8 AS i8, i::float4 AS f4, i / 2.0::float8 AS f8, i / 4.0 AS n,
       date '2000-01-01' + i AS d, timestamp '2000-01-01' + i * interval '1 hour' AS ts,
       timestamptz '2000-01-01 00:00+00' + i * interval '1 hour' AS tz
FROM generate_series(-12, 12) AS i;
INSERT INTO l VALUES
    (101, 'greatest', 32767, 2147483647, 9223372036854775807, 'Infinity', 'Infinity', 'Infinity', 'infinity', 'infinity', 'infinity'),
    (102, 'least', -32768, -2147483648, -9223372036854775808, '-Infinity', '-Infinity', '-Infinity', '-infinity', '-infinity', '-infinity'),
    (103, 'greatest', 32766, 2147483646, 9223372036854775806, 3e38, 1.7e308, 1e300, '5874897-12-31', '294276-12-31 23:59:59', '294276-12-31'),
    (104, 'least', -32767, -2147483647, -9223372036854775807, -3e38, -1.7e308, -1e300, '4714-11-24 BC', '4714-11-24 BC', '4714-11-24 BC'),
    (105, 'nan', NULL, NULL, NULL, 'NaN', 'NaN', 'NaN', NULL, NULL, NULL), (106, 'zero', 0, 0, 0, '-0', '-0', '-0.00', NULL, NULL, NULL),
    (107, 'zero', 0, 0, 0, '0', '0', '0', NULL, NULL, NULL), (108, 'small', NULL, NULL, NULL, 1e-45, 5e-324, 1e-300, NULL, NULL, NULL);
CREATE TABLE r AS SELECT * FROM l WHERE id NOT IN (5, 7);
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY['l.i2 BETWEEN r.i2 AND r.i2', 'l.i4 >= r.i4', 'l.i8 < r.i4', 'l.i2 <= r.i8', 'l.i8 > r.i8', 'l.i4 BETWEEN r.i2 AND r.i8',
    'l.f4 BETWEEN r.f4 AND r.f4', 'l.f8 >= r.f8', 'l.f4 < r.f8', 'l.f8 <= r.f4', 'l.n BETWEEN r.n AND r.n', 'l.n > r.n', 'l.n < r.i8',
    'l.d <= r.d', 'l.ts > r.d', 'l.d BETWEEN r.ts AND r.ts', 'l.ts < r.ts', 'l.tz >= r.tz', 'l.g = r.g AND l.f8 BETWEEN r.f8 AND r.f8',
    'l.i4 BETWEEN SYMMETRIC r.i4 AND r.i2', 'l.f4 BETWEEN SYMMETRIC r.f8 AND -r.f8', 'l.n BETWEEN SYMMETRIC r.n AND -r.n',
    'l.d BETWEEN SYMMETRIC r.d AND date ''2000-01-01''', 'l.f8 BETWEEN r.f8 - 1 AND r.f8 + 1', 'l.f4 BETWEEN -r.f4 AND r.f4', 'l.n BETWEEN r.n - 1 AND r.n * 2',
    -- intervals, some of which end before they start, and overlaps
    'l.i8 BETWEEN r.i8 AND r.i4', 'l.f4 BETWEEN r.f4 AND r.f8', 'l.n BETWEEN r.n AND -r.n', 'l.ts BETWEEN r.ts AND r.d', 'l.i2 <= r.i4 AND l.i8 >= r.i2', 'l.f4 <= r.f8 AND l.f8 >= r.f4', 'l.n < r.n AND l.n > -r.n', 'l.g = r.g AND l.f4 <= r.f8 AND l.f8 >= r.f4'])
    WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c
ORDER BY i;

-- Bounds that overflow: core raises no error for a row that its hash join finds no partner for. For both to try, the
-- right side's extreme rows are in groups of their own.
UPDATE r SET g = g || ' of r' WHERE id > 100;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT condition, c.*
FROM unnest(ARRAY['l.i4 BETWEEN r.i4 - 5 AND r.i4 + 5', 'l.i2 BETWEEN r.i2 - 5::int2 AND r.i2 + 5::int2', 'l.i8 BETWEEN r.i8 - 5 AND r.i8 + 5',
    'l.i4 + 5 > r.i4 - 5', 'abs(l.i4 - r.i4) <= 5', 'l.i4 BETWEEN SYMMETRIC r.i4 + 5 AND r.i4 - 5',
    'l.ts BETWEEN SYMMETRIC r.ts - interval ''1 month'' AND r.ts + interval ''5 hours''', 'l.i4 * l.i4 > r.i4 * r.i2',
    'l.i2 + l.i4 <= r.i2 * r.i2', 'abs(l.i4) > -r.i2', 'l.i4 / -1 < r.i4', 'l.d BETWEEN r.d - 5 AND r.d + 5', 'l.i4 < -r.i4', 'l.i8 < r.i8 * 2', 'l.i4 > 100 / r.i4',
    'l.ts BETWEEN r.ts - interval ''5 hours'' AND r.ts + interval ''5 hours''', 'l.tz > r.tz + interval ''1 month''',
    'l.d < r.d + interval ''1 month''', 'l.i4 BETWEEN r.i2 - 5 AND r.i4 + 5', 'l.i4 - 5 <= r.i4 + 5 AND l.i4 + 5 >= r.i4 - 5', 'l.i8 BETWEEN r.i8 - 5 AND r.i8 + 5 AND l.i4 BETWEEN r.i4 - 500 AND r.i4 + 500',
    'l.i4 IS DISTINCT FROM r.i4 AND l.i8 BETWEEN r.i8 - 5 AND r.i8 + 5'])
    WITH ORDINALITY AS conditions (condition, i),
    compare_kinds(format('l.g = r.g AND l.g <> ''zero'' AND %s AND (l.id <> 0 AND r.id <> 0)', condition)) AS c
ORDER BY i;
RESET enable_nestloop;
RESET enable_mergejoin;
-- Without an equality core comes to every pair, and to the error. Here the sum is beyond all integers, as it should be.
SELECT count(*) FROM l JOIN r ON l.i4 <= r.i4 + 5;
SET gpujoin.force = on;
SELECT count(*) FROM l JOIN r ON l.i4 <= r.i4 + 5;
RESET gpujoin.force;
DROP TABLE l, r;

-- The other types that have an encoded order.
CREATE TABLE l AS
SELECT i AS id, (ARRAY[0, 1, 2147483647, 2147483648, 4294967295, NULL])[1 + i % 6]::bigint::oid AS o, decode((ARRAY['', '00', '0000', '7f', '80', 'ff', 'ff00', NULL])[1 + i % 8], 'hex') AS b,
       (ARRAY['', 'Z', 'a', E'\\377', NULL])[1 + i % 5]::"char" AS c, (ARRAY[false, true, NULL])[1 + i % 3] AS t,
       (ARRAY['00:00', '12:00', '23:59:59.999999', '24:00', NULL])[1 + i % 5]::time AS ti, (ARRAY['a', 'a ', 'B', 'b  ', '', NULL])[1 + i % 6]::char(4) COLLATE "C" AS p,
       (ARRAY['00000000-0000-0000-0000-000000000000', '7fffffff-0000-0000-0000-000000000000', '80000000-0000-0000-0000-000000000000', NULL])[1 + i % 4]::uuid AS u
FROM generate_series(1, 30) AS i;
CREATE TABLE r AS SELECT * FROM l WHERE id % 4 <> 0;
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY['l.o < r.o', 'l.b > r.b', 'l.c <= r.c', 'l.t < r.t', 'l.ti BETWEEN SYMMETRIC r.ti AND time ''24:00''', 'l.p >= r.p', 'l.u < r.u'])
    WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c
ORDER BY i;
DROP TABLE l, r;
