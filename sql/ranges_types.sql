-- Conditions on range types: exact as comparisons of bounds where the range has a canonical form, narrowed down by them
-- elsewhere. All kinds of join on all algorithms.
\set ECHO none
\i sql/include/algorithms.sql
\set ECHO all
SET timezone = 'UTC';
CREATE TYPE floatrange AS RANGE (subtype = float8);
CREATE TABLE l AS
SELECT i AS id, i % 3 AS g, i * 7 % 90 AS x, (i * 7 % 90)::bigint AS b, CASE WHEN i % 20 = 0 THEN 'NaN' ELSE (i * 7 % 90) / 4.0 END AS n,
       CASE WHEN i % 20 = 0 THEN 'infinity' ELSE date '2013-01-01' + i * 7 % 90 END AS d,
       CASE WHEN i % 20 = 0 THEN '-infinity' ELSE timestamp '2013-01-01' + i * 7 % 90 * interval '1 day' END AS ts,
       timestamptz '2013-01-01 00:00+00' + i * 7 % 90 * interval '1 day' AS tz, (i * 7 % 90)::float8 AS f,
       bounds, int4range(i * 7 % 90, i * 7 % 90 + i % 4, bounds) AS r4, int8range(i * 7 % 90, i * 7 % 90 + i % 4, bounds) AS r8,
       numrange((i * 7 % 90) / 4.0, (i * 7 % 90 + i % 4) / 4.0, bounds) AS rn,
       daterange(date '2013-01-01' + i * 7 % 90, date '2013-01-01' + i * 7 % 90 + i % 4, bounds) AS rd,
       tsrange(timestamp '2013-01-01' + i * 7 % 90 * interval '1 day', timestamp '2013-01-01' + (i * 7 % 90 + i % 4) * interval '1 day', bounds) AS rts,
       tstzrange(timestamptz '2013-01-01' + i * 7 % 90 * interval '1 day', timestamptz '2013-01-01' + (i * 7 % 90 + i % 4) * interval '1 day', bounds) AS rtz,
       floatrange(i * 7 % 90, i * 7 % 90 + i % 4, bounds) AS rf
FROM generate_series(1, 80) AS i, LATERAL (SELECT (ARRAY['[)', '[]', '(]', '()'])[1 + i / 4 % 4] AS bounds) AS b;
INSERT INTO l (id, g, r4, r8, rn, rd, rts, rtz, rf)
VALUES (901, 0, 'empty', 'empty', 'empty', 'empty', 'empty', 'empty', 'empty'),
       (902, 1, '(,)', '(,)', '(,)', '(,)', '(,)', '(,)', '(,)'),
       (903, 2, '(,10)', '[80,)', '(,2]', '(,2013-01-04]', '(2013-03-28,)', '[2013-03-28,)', '(,5)'),
       (904, 0, '[5,5]', '[5,5]', '[1,1]', '[2013-01-05,2013-01-05]', '[2013-01-05,2013-01-05]', '[2013-01-05,2013-01-05]', '[5,5]'),
       (905, 1, '[-2147483648,0)', '[-9223372036854775808,0)', '(-Infinity,0]', '[-infinity,2013-01-02)', '[-infinity,2013-01-02)', '(-infinity,2013-01-02)', '[-Infinity,0)'),
       (906, 2, '[80,2147483647)', '[80,9223372036854775807)', '[20,NaN]', '[2013-03-28,infinity)', '[2013-03-28,infinity]', '(2013-03-28,infinity)', '[80,NaN]'),
       (907, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE r AS SELECT * FROM l WHERE id % 3 <> 0;
UPDATE r SET id = id + 1000, x = x + 1, b = b - 1, n = n + 0.25, d = d + 1, ts = ts + interval '1 day', tz = tz - interval '1 day' WHERE id % 2 = 0;
ANALYZE l, r;
SET max_parallel_workers_per_gather = 0;

-- Elements, from either side, and overlaps.
SELECT condition, c.*
FROM unnest(ARRAY['l.r4 @> r.x', 'r.x <@ l.r4', 'r.r4 @> l.x', 'l.x <@ r.r4', 'l.r8 @> r.b', 'r.r8 @> l.b', 'l.rn @> r.n', 'l.n <@ r.rn',
    'l.rd @> r.d', 'l.d <@ r.rd', 'l.rts @> r.ts', 'l.ts <@ r.rts', 'r.rtz @> l.tz', 'l.r4 && r.r4', 'l.r8 && r.r8', 'l.rn && r.rn', 'l.rd && r.rd',
    'l.rts && r.rts', 'l.rtz && r.rtz', 'l.g = r.g AND l.r4 && r.r4', 'l.g = r.g AND r.rn @> l.n', 'l.rd @> r.d AND l.rn @> r.n'])
    WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c
ORDER BY i;
-- What else ranges can be compared by, beside something that drives the join.
SELECT condition, c.*
FROM unnest(ARRAY['l.rf @> r.f', 'l.rf && r.rf', 'l.r4 @> r.r4', 'l.r8 <@ r.r8', 'l.rn @> r.rn', 'l.rd <@ r.rd', 'l.r4 << r.r4', 'l.rn >> r.rn',
    'l.r4 &< r.r4', 'l.rn &> r.rn', 'l.r4 -|- r.r4', 'l.rts -|- r.rts', 'l.r4 = r.r4', 'l.rn <> r.rn', 'l.r4 < r.r4',
    'int4multirange(l.r4) && int4multirange(r.r4)', 'int4multirange(l.r4) @> r.x',
    'int4range(l.x, l.x + 3) @> r.x', 'tsrange(l.ts, l.ts, ''[]'') && r.rts'])
    WITH ORDINALITY AS conditions (condition, i), compare_kinds('l.g = r.g AND ' || condition) AS c
ORDER BY i;

SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.r4 @> r.x;
EXPLAIN (COSTS OFF) SELECT l.id FROM l FULL JOIN r ON l.g = r.g AND l.rn && r.rn;
RESET gpujoin.force;
DROP TABLE l, r;
DROP TYPE floatrange;
RESET timezone;
