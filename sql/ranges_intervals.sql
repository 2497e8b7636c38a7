-- Points in intervals, intervals that overlap, contain or are contained: with a few that span everything, some that
-- end before they start, and bounds that are NULL or infinite. All kinds of join on all algorithms.
\set ECHO none
\i sql/include/algorithms.sql
\set ECHO all
CREATE TABLE l AS
SELECT i AS id, i % 3 AS g, i * 37 % 500 AS s, i * 37 % 500 + i % 9 AS e, (i * 37 % 500) / 8.0 AS ns, (i * 37 % 500 + i % 7) / 8.0 AS ne,
       date '2013-01-01' + i * 37 % 500 AS ds, date '2013-01-01' + i * 37 % 500 + i % 9 AS de,
       timestamptz '2013-01-01 00:00+00' + i * 37 % 500 * interval '1 hour' AS ts,
       timestamptz '2013-01-01 00:00+00' + i * 37 % 500 * interval '1 hour' + i % 9 * interval '20 minutes' AS te,
       to_char(i * 37 % 500, 'FM000') COLLATE "C" AS cs, to_char(i * 37 % 500 + i % 9, 'FM000') COLLATE "C" AS ce
FROM generate_series(1, 150) AS i;
CREATE TABLE r AS SELECT * FROM l WHERE id % 3 <> 1;
UPDATE r SET id = id + 1000, s = s + 3, e = e + 4, ns = ns - 0.25, ds = ds + 2, ts = ts + interval '1 hour', te = te + interval '2 hours'
WHERE id % 2 = 0;
-- Spanning everything; ending before the start; without one bound or both; unbounded.
INSERT INTO r (id, g, s, e, ns, ne, ds, de, ts, te)
SELECT 2000 + i, i, i, 499 - i, 0, 100, '2012-01-01', '2015-01-01', '2012-01-01', '2015-01-01' FROM generate_series(0, 2) AS i;
INSERT INTO r (id, g, s, e, ns, ne, ds, de, ts, te)
SELECT 2010 + i, i, 300 + i, 200 - i, 50, 40, '2014-01-01', '2013-01-01', '2014-01-01', '2013-01-01' FROM generate_series(0, 2) AS i;
INSERT INTO r (id, g, s, e, ns, ne, ds, de, ts, te)
VALUES (2020, 0, NULL, 100, NULL, 40, NULL, '2013-02-01', NULL, '2013-01-05'),
       (2021, 1, 400, NULL, 60, NULL, '2014-05-01', NULL, '2013-01-20', NULL), (2022, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
       (2023, 0, -2147483600, 20, '-Infinity', 1, '-infinity', '2013-01-05', '-infinity', '2013-01-02'),
       (2024, 1, 480, 2147483600, 61, 'NaN', '2014-05-05', 'infinity', '2013-01-21', 'infinity');
INSERT INTO l SELECT id + 5000, g, s, e, ns, ne, ds, de, ts, te FROM r WHERE id >= 2000;
ANALYZE l, r;
SET max_parallel_workers_per_gather = 0;

SELECT condition, c.*
FROM unnest(ARRAY[
    -- points in intervals, the intervals on either side
    'l.s BETWEEN r.s AND r.e', 'r.s BETWEEN l.s AND l.e', 'l.s > r.s AND l.s < r.e', 'l.s >= r.s AND l.s < r.e',
    'l.ns BETWEEN r.ns AND r.ne', 'r.ds BETWEEN l.ds AND l.de', 'l.ts >= r.ts AND l.ts < r.te', 'l.cs BETWEEN r.cs AND r.ce',
    'l.g = r.g AND l.s BETWEEN r.s AND r.e', 'l.g = r.g AND r.ts BETWEEN l.ts AND l.te', 'l.s BETWEEN r.s - 1 AND r.e + 1',
    'l.s BETWEEN r.s AND r.s + 20 - r.g', 'l.s + 2 BETWEEN r.s AND r.e AND l.e % 2 = r.e % 2 AND l.id <> r.id',
    -- overlaps
    'l.s <= r.e AND l.e >= r.s', 'l.s < r.e AND r.s < l.e', 'l.ns <= r.ne AND l.ne >= r.ns', 'l.ds <= r.de AND l.de >= r.ds',
    'l.g = r.g AND l.s <= r.e AND l.e >= r.s', 'l.s <= r.e AND l.e >= r.s AND l.ds <= r.de AND l.de >= r.ds',
    'l.ts < r.te AND r.ts < l.te AND l.g <> r.g',
    -- one within the other
    'l.s >= r.s AND l.e <= r.e', 'l.s < r.s AND l.e > r.e', 'l.g = r.g AND l.ts <= r.ts AND l.te >= r.te'
    ]) WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c
ORDER BY i;
-- A row constructor's overlap is for PostgreSQL to decide.
SELECT c.* FROM compare_kinds('l.g = r.g AND (l.ts, l.te) OVERLAPS (r.ts, r.te)') AS c;

SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT l.id FROM l LEFT JOIN r ON l.g = r.g AND l.s BETWEEN r.s AND r.e;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.ts < r.te AND r.ts < l.te AND l.g <> r.g;
EXPLAIN (COSTS OFF) SELECT l.id FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.s > r.s AND r.e > l.e AND (l.g = 0 OR r.g = 0));
RESET gpujoin.force;
DROP TABLE l, r;

-- Many intervals, of which a hundred span everything, and a few points.
CREATE TABLE r AS SELECT i AS id, (i * 7919::bigint % 1000000)::int AS s, (i * 7919::bigint % 1000000)::int + i % 20 AS e
FROM generate_series(1, 20000) AS i;
INSERT INTO r SELECT 100000 + i, i, 1000000 - i FROM generate_series(1, 100) AS i;
CREATE TABLE l AS SELECT i AS id, (i * 104729::bigint % 1000000)::int AS s, (i * 104729::bigint % 1000000)::int + i % 30 AS e
FROM generate_series(1, 400) AS i;
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY['l.s BETWEEN r.s AND r.e', 'l.s <= r.e AND l.e >= r.s', 'l.s >= r.s AND l.e <= r.e']) AS condition,
     compare_algorithms('SELECT l.id, r.id AS rid FROM l JOIN r ON ' || condition, 'SELECT l.id, r.id AS rid FROM l JOIN r ON ' || condition) AS c;
DROP TABLE l, r;
