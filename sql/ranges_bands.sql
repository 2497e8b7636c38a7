-- Bands and other inequalities between the sides, alone and beside equalities: all kinds of join on all algorithms.
\set ECHO none
\i sql/include/algorithms.sql
\set ECHO all
CREATE TABLE l AS
SELECT i AS id, i % 4 AS g, 'group ' || i % 3 AS t, CASE WHEN i % 13 = 0 THEN NULL ELSE i * 7 % 100 END AS x,
       (i * 11 % 60)::int2 AS y, (i * 7 % 100)::bigint AS b, (i * 7 % 100) / 4.0::float4 AS f4, (i * 3 % 80) / 4.0::float8 AS f8,
       (i * 7 % 100) / 8.0 AS n, date '2013-07-01' + i * 7 % 40 AS d, timestamp '2013-07-01' + i * interval '5 hours' AS ts,
       timestamptz '2013-07-01 00:00+00' + i * interval '5 hours' AS tz, time '00:00' + i * interval '11 minutes' AS ti,
       chr(97 + i % 26) COLLATE "C" AS c, md5(i::text)::uuid AS u
FROM generate_series(1, 90) AS i;
CREATE TABLE r AS SELECT * FROM l WHERE id % 3 <> 0;
UPDATE r SET id = id + 1000, x = x + 40, b = b + 40, n = n + 5, d = d + 20, ts = ts + interval '9 days' WHERE id % 2 = 0;
ANALYZE l, r;
SET max_parallel_workers_per_gather = 0;

SELECT condition, c.*
FROM unnest(ARRAY[
    -- bands, written either way round
    'l.x BETWEEN r.x - 2 AND r.x + 2', 'r.x BETWEEN l.x - 2 AND l.x + 2', 'l.x - 2 <= r.x AND r.x <= l.x + 2',
    'l.x > r.x - 1 AND l.x < r.x + 3', 'abs(l.x - r.x) <= 2', '2 > abs(r.x - l.x)',
    'NOT (l.x < r.x - 2 OR l.x > r.x + 2)', 'NOT l.x NOT BETWEEN r.x AND r.x + 1',
    'l.x BETWEEN SYMMETRIC r.x + 2 AND r.x - 2', 'l.x BETWEEN SYMMETRIC r.x AND r.y', 'l.g = r.g AND r.y BETWEEN SYMMETRIC l.b AND l.b + 3',
    'NOT l.x NOT BETWEEN SYMMETRIC r.x AND 30', 'l.f8 BETWEEN SYMMETRIC r.f8 AND -r.f8', 'l.n BETWEEN SYMMETRIC r.n + 1 AND r.n - 1',
    'l.ts BETWEEN SYMMETRIC r.ts AND r.ts - interval ''1 day''', 'l.c BETWEEN SYMMETRIC r.c AND ''m''', 'l.g = r.g AND l.x NOT BETWEEN SYMMETRIC r.x AND r.y',
    'l.x BETWEEN SYMMETRIC l.y AND r.y AND l.g = r.g', 'l.d BETWEEN SYMMETRIC r.d AND date ''2013-07-20''',
    'l.x - r.x BETWEEN -1 AND 4', '3 > r.y - l.y AND l.y - r.b >= -2 AND l.y < 50', 'l.x - r.b = 7', 'l.d - r.d BETWEEN -1 AND 1',
    'l.ts - r.ts BETWEEN interval ''-6 hours'' AND interval ''5 hours''', 'interval ''1 month'' < l.tz - r.tz',
    'l.ts - r.ts < interval ''-10 days 5 hours''', 'l.x - 1 - r.x <= 2 AND r.x - l.x <= 2',
    -- of other types and across types
    'l.y BETWEEN r.y - 1 AND r.y + 1', 'l.b BETWEEN r.x - 2 AND r.x + 2', 'l.x BETWEEN r.b - 2 AND r.b + 2',
    'l.y BETWEEN r.b AND r.x', 'l.f4 BETWEEN r.f4 - 1 AND r.f4 + 1', 'l.f8 BETWEEN r.f8 - 0.3 AND r.f8 + 0.3',
    'l.f4 BETWEEN r.f8 AND r.f8 * 1.1', 'l.n BETWEEN r.n - 0.2 AND r.n + 0.2', 'l.x BETWEEN r.n - 1 AND r.n * 1.1',
    'l.d BETWEEN r.d - 1 AND r.d + 1', 'l.d BETWEEN r.ts - interval ''1 day'' AND r.ts',
    'l.ts BETWEEN r.ts - interval ''1 hour'' AND r.ts + interval ''6 hours''', 'l.tz BETWEEN r.tz - interval ''1 hour'' AND r.tz',
    'l.ti BETWEEN r.ti AND r.ti', 'l.c BETWEEN r.c AND chr(ascii(r.c) + 1)',
    -- computed of several columns of one side
    'l.x * l.y < r.x + r.y', 'l.x BETWEEN r.y - r.g AND r.y + r.g * 2', '-l.x <= abs(r.y) - 60', 'l.x * l.y BETWEEN r.x * 50 - 5 AND r.x * 50 + 5',
    'l.x % 7 > r.b / 9', 'l.x * l.y * l.g < r.x AND l.g = r.g', 'l.b + l.x < r.x AND l.g = r.g', '100 - l.x BETWEEN r.x AND r.x + r.g',
    -- beside equalities
    'l.g = r.g AND l.x BETWEEN r.x - 2 AND r.x + 2', 'l.t = r.t AND l.g = r.g AND l.x BETWEEN r.x - 9 AND r.x + 9',
    'l.n = r.n AND l.f8 > r.f8 - 5', 'l.t = r.t AND l.n BETWEEN r.n - 1 AND r.n + 1', 'l.g = r.g AND l.x < r.x',
    -- one-sided
    'l.x < r.x - 60', 'r.x <= l.x - 90', 'l.n > r.n + 10', 'l.ts >= r.ts + interval ''15 days''', 'l.c > r.c AND l.y < r.y - 50',
    -- in two dimensions, the wide band first or last, beside what is tested on pairs alone
    'l.x BETWEEN r.x - 5 AND r.x + 5 AND l.y BETWEEN r.y - 5 AND r.y + 5', 'l.x BETWEEN r.x - 40 AND r.x + 40 AND l.y BETWEEN r.y - 1 AND r.y + 1',
    'l.y BETWEEN r.y - 1 AND r.y + 1 AND l.x BETWEEN r.x - 40 AND r.x + 40', 'l.g = r.g AND abs(l.x - r.x) <= 40 AND abs(l.b - r.b) < 3', 'l.g = r.g AND abs(l.b - r.b) < 3 AND abs(l.x - r.x) <= 40',
    'l.n > r.n - 4 AND l.f8 BETWEEN r.f8 AND r.f8 AND l.n < r.n + 4 AND l.c <= r.c', 'l.x BETWEEN r.x - 5 AND r.x + 5 AND l.g <> r.g',
    'l.x BETWEEN r.x - 5 AND r.x + 5 AND (l.y + r.y) % 3 = 0', 'l.x BETWEEN r.x - 5 AND r.x + 5 AND (l.id, l.y) < (r.id, r.y)',
    'l.x > r.x AND l.x < r.x', 'l.x BETWEEN r.x - 2 AND r.x + 2 AND l.g = 1 AND r.y > 10',
    'l.u BETWEEN r.u AND r.u', 'l.u < r.u AND l.g = r.g'
    ]) WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c
ORDER BY i;

-- What they are put into.
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON r.x BETWEEN l.x - 2 AND l.x + 2;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.g = r.g AND abs(l.x - r.x) <= 2;
-- (Before 17, where differences of timestamps wrap, such a condition is a filter as well.)
SELECT line FROM plan_of('SELECT l.id FROM l JOIN r ON l.x - r.x BETWEEN -1 AND 4 AND l.ts - r.ts < interval ''1 month 2 hours'' AND l.u > r.u') AS line WHERE line !~ 'Filter Cond';
EXPLAIN (COSTS OFF) SELECT l.id FROM l FULL JOIN r ON l.x BETWEEN r.x - 5 AND r.x + 5 AND l.g <> r.g AND (l.id, l.y) < (r.id, r.y);
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON NOT (l.x < r.x - 2 OR l.x > r.x + 2);
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.ts BETWEEN r.ts - interval '1 hour' AND r.ts + interval '1 hour';
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.x BETWEEN SYMMETRIC r.x + 2 AND r.x - 2;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.g = r.g AND l.x NOT BETWEEN SYMMETRIC r.x AND r.y;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.x * l.y + 1 < r.b - 5 AND l.x % 7 > -r.y;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.g = r.g AND l.b + l.x < r.x AND l.x / l.y < r.x;
-- Core has no such FULL JOIN.
SET gpujoin.enabled = off;
SELECT count(*) FROM l FULL JOIN r ON l.x BETWEEN r.x - 2 AND r.x + 2;
SET gpujoin.enabled = on;

-- Algorithms that can do the join run when they are forced; others are replaced.
CREATE FUNCTION algorithm_of(query text, forced text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    PERFORM set_config('gpujoin.algorithm', forced, true);
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    PERFORM set_config('gpujoin.algorithm', 'auto', true);
    RETURN plan->0->'Plan'->>'Algorithm';
END $$;
SELECT condition, algorithm_of('SELECT l.id FROM l JOIN r ON ' || condition, 'hash') AS hash,
       algorithm_of('SELECT l.id FROM l JOIN r ON ' || condition, 'index') AS index,
       algorithm_of('SELECT l.id FROM l JOIN r ON ' || condition, 'nested_loop') AS nested_loop
FROM unnest(ARRAY['l.x BETWEEN r.x - 2 AND r.x + 2', 'l.g = r.g AND l.x BETWEEN r.x - 2 AND r.x + 2']) AS condition;
DROP FUNCTION algorithm_of;
RESET gpujoin.force;
DROP TABLE l, r;

-- More rows than a batch, bands that hold many rows, and results of several blocks.
CREATE TABLE l AS SELECT i AS id, i % 100 AS g, (i * 7919::bigint % 400000)::int AS x FROM generate_series(1, 150000) AS i;
CREATE TABLE r AS SELECT i AS id, i % 100 AS g, (i * 104729::bigint % 400000)::int AS x FROM generate_series(1, 150000) AS i;
INSERT INTO r SELECT 1000000 + i, 0, 77777 FROM generate_series(1, 20000) AS i;
CREATE INDEX ON r (x);
ANALYZE l, r;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT condition, c.*
FROM unnest(ARRAY['r.x BETWEEN l.x - 1 AND l.x + 1', 'l.g = r.g AND r.x BETWEEN l.x - 20 AND l.x + 20']) AS condition,
     compare('SELECT count(*), sum(l.id) AS l, sum(r.id) AS r, sum(hashint8(l.id::bigint * r.id)) AS pairs FROM l JOIN r ON ' || condition) AS c;
-- Of two bands one holds a tenth of the rows, the other five.
DROP INDEX r_x_idx;
CREATE INDEX ON r (id);
SELECT condition, c.*
FROM unnest(ARRAY['r.x BETWEEN l.x - 20000 AND l.x + 20000 AND r.id BETWEEN l.id - 2 AND l.id + 2', 'r.id BETWEEN l.id - 2 AND l.id + 2 AND r.x BETWEEN l.x - 20000 AND l.x + 20000']) AS condition,
     compare('SELECT count(*), sum(l.id) AS l, sum(r.id) AS r, sum(hashint8(l.id::bigint * r.id)) AS pairs FROM l JOIN r ON ' || condition) AS c;
DROP TABLE l, r;
