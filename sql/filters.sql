-- Conditions over both sides that the engine evaluates pair by pair: arithmetic, comparisons, three-valued logic, on
-- every kind of join and every algorithm. Pairs whose evaluation fails are PostgreSQL's to decide, with its own error.
\set ECHO none
\i sql/include/algorithms.sql
\set ECHO all
CREATE TABLE l AS SELECT i AS n, CASE WHEN i % 11 <> 0 THEN (i * 37) % 100 - 20 END AS a, (i * 7 % 20)::int2 AS s, (i * 29 % 60)::int8 AS b, i % 3 = 0 AS p, i % 4 AS g,
    CASE WHEN i % 13 <> 0 THEN i % 7 / 2.0::float4 END AS f4, (i % 11) * 0.3::float8 AS f8, date '2024-01-01' + i % 40 AS d, timestamp '2024-01-01' + i * interval '7 hours' AS ts, time '00:00' + i * interval '11 minutes' AS t, 't' || i % 5 AS x
FROM generate_series(1, 60) AS i;
CREATE TABLE r AS SELECT i AS n, CASE WHEN i % 7 <> 0 THEN (i * 53) % 110 - 30 END AS a, (i * 3 % 25)::int2 AS s, (i * 31 % 70)::int8 AS b, CASE WHEN i % 5 <> 0 THEN i % 2 = 0 END AS p, i % 5 AS g,
    i % 9 / 2.0::float4 AS f4, CASE WHEN i % 8 <> 0 THEN (i % 13) * 0.3::float8 END AS f8, date '2024-01-10' + i % 30 AS d, timestamp '2024-01-03' + i * interval '5 hours' AS ts, time '01:00' + i * interval '13 minutes' AS t, 't' || i % 6 AS x
FROM generate_series(1, 45) AS i;
INSERT INTO l (n, f4, f8, ts) VALUES (1001, 'NaN', 'NaN', '-infinity'), (1002, 'Infinity', '-Infinity', NULL), (1003, '-0', '-0', NULL);
INSERT INTO r (n, f4, f8, ts) VALUES (2001, 'NaN', 'Infinity', NULL), (2002, '-Infinity', 'NaN', NULL), (2003, '0', '-0', 'infinity');
ANALYZE l, r;
-- Small joins stay with core.
SET gpujoin.startup_cost = 1000;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON abs(l.a - r.a) < 10 OR l.b = r.b;
RESET gpujoin.startup_cost;
-- What an engine evaluates, and what it does not.
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON abs(l.a - r.a) < 10 OR l.b = r.b;
EXPLAIN (COSTS OFF) SELECT FROM l LEFT JOIN r ON l.g = r.g AND (l.a + r.a) % 3 = 1 AND l.s <> r.s AND l.x || r.x <> 't1t2';
EXPLAIN (COSTS OFF) SELECT FROM l FULL JOIN r ON l.a * r.a > 50;
EXPLAIN (COSTS OFF) SELECT FROM l WHERE EXISTS (SELECT FROM r WHERE l.ts - r.ts < interval '3 hours' AND r.ts - l.ts < interval '3 hours' OR l.p AND r.p IS NULL);
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.a <> r.a;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.x || r.x = 't1t2';
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON random() < 0.5 OR l.a = r.a;
EXPLAIN (COSTS OFF) SELECT FROM l FULL JOIN r ON l.a IS NOT DISTINCT FROM r.a;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.g = r.g AND l.a IS DISTINCT FROM r.a AND l.x IS DISTINCT FROM r.x;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.g = r.g AND l.a + r.a IN (30, 31) AND l.a - r.a <> ALL (ARRAY[l.s, r.b]) AND l.a * r.a IN (40, NULL) AND l.x || r.x IN ('t1t2', 't2t1');
EXPLAIN (COSTS OFF) SELECT FROM l FULL JOIN r ON l.a IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40) OR l.b = r.b;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.g = r.g AND (l.d > r.ts OR l.s = r.s) AND l.d + r.g <= r.ts;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.g = r.g AND CASE WHEN l.a > r.a THEN l.b = r.b ELSE r.s < l.s END AND 10 < CASE WHEN l.b > r.b THEN l.a WHEN l.p THEN r.a ELSE 5 END AND CASE WHEN l.a > r.a THEN l.b = r.b END AND CASE l.b WHEN r.b THEN 1 ELSE 2 END > l.g;
RESET gpujoin.force;
-- Rows as core has them, in every kind of join.
SELECT condition, c.* FROM unnest(ARRAY[
    'l.a + r.a = 30', 'l.a - r.a = l.s', 'l.a * r.a > 500', 'l.s / (r.s + 1) = 2', '(l.a + r.a) % 7 = 3', '(l.s + r.s)::int2 > 30::int2', '-l.a < r.a + l.s', 'abs(l.a - r.a) < 10 OR l.b = r.b', '@(l.b - r.b) = 5', 'mod(l.b, r.b + 1) = 0',
    'l.a + r.b = 25', 'l.s * r.b = l.b', 'l.b::int4 - r.a = 3', '(l.s + l.a) * (r.s + r.a) - l.b > (r.b - l.s) * (l.s + r.s)',
    'l.f4 + r.f4 = 3', 'l.f8 - r.f8 > 2.5', 'l.f8 * r.f4 < 1', 'l.f4 / (r.f4 - 10) < l.f8', '-(l.f8 - r.f8) < 0.1', 'abs(l.f4 - r.f8) <= 0.25', 'l.f8 * 1 <> r.f8 * 1', 'l.f4 * 2 >= r.f4 + l.f8', 'l.a * r.f8 > 20', 'l.a + l.f4 > r.b::float8',
    'l.a = r.a OR l.b = r.b', 'l.a < r.a AND l.b > r.b OR l.g = r.g AND l.s = r.s', 'NOT (l.a < r.a OR l.b < r.b)', 'l.a = r.a OR r.a IS NULL', '(l.a + r.a IS NULL) = true', '(l.a < r.a) IS NOT TRUE AND l.b = r.b', '(l.a < r.a) IS UNKNOWN', '(l.a < r.a AND r.p) IS FALSE',
    '(l.p OR r.p) AND l.a = r.b', 'l.p = r.p OR l.a > r.a + 60', 'l.p AND r.p OR l.a = r.a', 'l.p <> r.p AND l.a + r.a > 60', 'l.a + r.a IS NOT NULL AND NOT r.p',
    'l.d - r.d = 5', 'l.d + r.g > r.d - l.g + 20', 'l.d + l.g = r.d', 'l.ts - r.ts BETWEEN interval ''-3 hours'' AND interval ''4 hours'' AND l.n < 1000 AND r.n < 2000', 'l.t - r.t > interval ''2 hours''', 'l.t - r.t = r.t - l.t', 'l.ts + interval ''1 day 2 hours'' < r.ts OR l.ts > r.ts',
    'l.a IS NOT DISTINCT FROM r.a', 'l.a IS DISTINCT FROM r.a AND l.b = r.b', 'l.g = r.g AND l.a + r.a IS DISTINCT FROM 30', 'l.f8 IS NOT DISTINCT FROM r.f4', 'l.a < r.a AND l.p IS NOT DISTINCT FROM r.p', 'l.a BETWEEN r.a - 9 AND r.a + 9 AND l.f4 IS DISTINCT FROM r.f8', 'l.ts IS NOT DISTINCT FROM r.d', 'l.ts - r.ts IS NOT DISTINCT FROM r.ts - l.ts AND l.n < 1000 AND r.n < 2000',
    'l.a + r.a IN (30, 31, 45)', 'l.a + r.a NOT IN (30, 31) AND l.g = r.g', 'l.a = ANY (ARRAY[r.a, r.b, l.b])', 'l.a * r.a > ALL (ARRAY[100, 200])', 'l.a + r.a IN (30, NULL) OR l.g = r.s', 'NOT l.a - r.a IN (1, 2, l.s, NULL) AND l.b = r.b', 'l.a + r.a NOT IN (30, NULL) IS UNKNOWN AND l.b = r.b', 'l.d - r.d = ANY (''{5,6}'')', 'l.f8 + r.f8 < ANY (ARRAY[1, 2.5]::float8[])', 'coalesce(l.a, r.a) = ANY (''{}'') OR l.b = r.b', 'l.a IN (3, 17) AND r.s = 4 OR l.a = r.a',
    'l.d > r.ts OR l.g = r.g', 'l.d + r.g = r.ts', 'r.ts < l.d + r.g AND l.g = r.g', 'l.ts <> r.d + l.g AND l.g = r.g', 'l.a < r.a AND (l.ts >= r.d OR l.d = r.ts)',
    'CASE WHEN l.a > r.a THEN l.b = r.b ELSE l.g = r.g AND l.s < r.s END', 'NOT CASE WHEN l.a > r.a THEN l.b < r.b WHEN r.p THEN true ELSE l.s < r.s END', 'l.g = r.g AND CASE WHEN l.a > r.a THEN l.b WHEN r.p THEN r.b + l.s ELSE l.s END > 50', '10 > CASE WHEN l.b > r.b THEN l.a ELSE r.a * l.a END', 'CASE WHEN l.a > r.a THEN l.b = r.b END', 'l.g = r.g AND l.b = CASE l.s WHEN r.s THEN r.b ELSE r.s END', 'l.b < CASE WHEN l.a > r.a THEN r.b END OR l.a = r.b', 'l.g = r.g AND CASE WHEN r.s = 0 THEN l.s > 3 ELSE l.a / r.s = 3 END',
    'l.g = r.g AND l.a + r.a > 40', 'l.a < r.a AND (l.b + r.b) % 2 = 0', 'l.g = r.g AND l.x <= r.x AND l.a + r.a > 40', 'coalesce(l.a, 5) + coalesce(r.a, 7) = 40', 'l.x = ''t1'' AND r.x = ''t2'' OR l.a = r.a', 'l.a = 3 OR r.a = 3', 'l.n + r.n = 0'
    ]) WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c ORDER BY i;
-- Values that are far apart or special.
CREATE TABLE edges (i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, d date);
INSERT INTO edges VALUES (-32768, -2147483648, -9223372036854775808, '-3.4e38', '-1.7e308', '4714-11-24 BC'), (32767, 2147483647, 9223372036854775807, '3.4e38', '1.7e308', '5874897-12-31'),
    (0, 0, 0, 0, 0, '2000-01-01'), (1, 1, 1, '1e-44', '5e-324', 'infinity'), (-1, -1, -1, 'NaN', 'NaN', '-infinity'), (2, 2, 2, 'Infinity', '-Infinity', NULL);
-- The outcome of a condition for a pair by core and by GPU Join: rows, or the error.
CREATE FUNCTION outcome(query text, gpu boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    PERFORM set_config('gpujoin.enabled', gpu::text, true), set_config('gpujoin.force', gpu::text, true);
    EXECUTE query INTO found;
    RETURN found;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
CREATE FUNCTION outcomes(condition text, OUT pairs bigint, OUT errors text[], OUT differ bigint) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE found ON COMMIT DROP AS
    SELECT outcome(q, false) AS core, outcome(q, true) AS gpu
    FROM edges a, edges b, format('SELECT count(*) FROM (SELECT %L::edges AS v OFFSET 0) x, LATERAL (SELECT (x.v).*) l JOIN (SELECT (%L::edges).* OFFSET 0) r ON %s', a, b, condition) AS q;
    SELECT count(*), array_agg(DISTINCT core ORDER BY core) FILTER (WHERE core !~ '^[01]$'), count(*) FILTER (WHERE core IS DISTINCT FROM gpu) INTO pairs, errors, differ FROM found;
    DROP TABLE found;
END $$;
SELECT condition, c.* FROM unnest(ARRAY['l.i2 + r.i2 > 5', '(l.i2 - r.i2) % 5 = 1', 'l.i2 * r.i2 = 4', 'l.i2 / r.i2 = 2', 'l.i2 % r.i2 = 0', 'l.i4 + r.i4 > 5', '(l.i4 - r.i4) % 5 = 1', 'l.i4 * r.i4 = 4', 'l.i4 / r.i4 = 2', 'l.i4 % r.i4 = 0',
    'l.i8 + r.i8 > 5', '(l.i8 - r.i8) % 5 = 1', 'l.i8 * r.i8 = 4', 'l.i8 / r.i8 = 2', 'l.i8 % r.i8 = 0', 'abs(l.i4) < r.i4 * 1', '-l.i8 < r.i8 * 1', '(l.i8 + r.i2)::int4 > 0', 'l.i4 * r.i8 < 0', 'l.i2 + r.i4 > 7',
    'l.f4 + r.f4 > 1', 'l.f4 - r.f4 < 1', 'l.f4 * r.f4 = 0', 'l.f4 / r.f4 < 0', 'l.f8 + r.f8 > 1', 'l.f8 - r.f8 < 1', 'l.f8 * r.f8 = 0', 'l.f8 / r.f8 < 0', 'l.f4 * r.f8 > 0', 'l.f4 / r.f8 > 0', 'l.i8 * r.f4 < 5',
    'l.d - r.d > 5', 'l.d + r.i4 > r.d', 'l.d - r.i4 < r.d + l.i2', 'r.i4 <> 0 AND l.i4 / r.i4 > 1', 'r.i4 = 0 OR l.i4 / r.i4 > 1', 'l.i4 / r.i4 > 1 OR true', 'NOT (l.i4 / r.i4 > 1) AND r.i4 <> 0',
    'CASE WHEN r.i4 <> 0 THEN l.i4 / r.i4 > 1 ELSE l.i4 > r.i2 END', 'CASE WHEN l.i4 / r.i4 > 1 THEN l.i2 > 0 ELSE r.i2 > 0 END', 'l.i4 + r.i4 IS DISTINCT FROM 0', 'l.f8 IS NOT DISTINCT FROM r.f4', 'l.d IS DISTINCT FROM r.d', 'l.i4 + r.i4 IN (0, 3)', 'l.i8 - r.i8 <> ALL (ARRAY[l.i4, r.i2])', 'l.i2 = l.i2 * r.i2 OR l.i4 = ANY (ARRAY[r.i4, l.i4 / r.i4])', 'l.i2 >= r.i2 AND l.i4 = ANY (ARRAY[r.i4, l.i4 / r.i4])', 'CASE WHEN l.i4 > r.i4 THEN l.i2 END < l.i4 / r.i4', 'l.i4 / r.i4 = ANY (''{}''::int[]) OR l.i2 = r.i2', 'l.i4 / r.i4 <> ALL (''{}''::int[])',
    'l.d + r.i2 > timestamp ''2000-01-01''', 'l.d > r.d::timestamp OR l.i2 = r.i4', 'l.d + r.i2 = r.d + interval ''1 day'''
    ]) WITH ORDINALITY AS conditions (condition, i), outcomes(condition) AS c ORDER BY i;
DROP FUNCTION outcomes, outcome;
-- Every kind of join with pairs that fail only where another condition lets none through, and with those that do fail.
SELECT condition, c.* FROM unnest(ARRAY['r.s <> 0 AND l.a / r.s = 3', 'l.g = r.g AND r.s <> 0 AND 100 / r.s > l.s + r.g', '(r.s = 0 OR l.a / r.s = 3) AND l.b + r.b > 40']) WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c ORDER BY i;
SET gpujoin.force = on;
SELECT count(*) FROM l JOIN r ON l.a / (l.s - r.s) = 3;
SELECT count(*) FROM l LEFT JOIN r ON l.a / (l.s - r.s) = 3;
SELECT count(*) FROM l FULL JOIN r ON l.a / (l.s - r.s) = 3;
SELECT count(*) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.a + r.a + 2147483600 > 0);
SELECT count(*) FROM l WHERE l.n < 1000 AND EXISTS (SELECT FROM r WHERE l.a + r.a > 0 OR l.a + r.a + 2147483600 > 0);
-- Parameters, rescans, prepared statements.
SET plan_cache_mode = force_generic_plan;
PREPARE near (int) AS SELECT count(*) FROM l JOIN r ON abs(l.a - r.a) < $1 OR l.b - r.b = $1;
EXPLAIN (COSTS OFF) EXECUTE near (3);
EXECUTE near (3);
EXECUTE near (5);
DEALLOCATE near;
RESET plan_cache_mode;
SELECT w, (SELECT count(*) FROM l JOIN r ON abs(l.a - r.a) < w OR l.b - r.b = w) FROM generate_series(1, 4) AS w;
RESET gpujoin.force;
SELECT w, (SELECT count(*) FROM l JOIN r ON abs(l.a - r.a) < w OR l.b - r.b = w) FROM generate_series(1, 4) AS w;
DROP TABLE l, r, edges;
