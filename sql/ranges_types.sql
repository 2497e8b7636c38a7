-- Conditions on range types as comparisons of bounds, which may be included, excluded or missing, and of empty ranges.
-- All kinds of join on all algorithms.
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

-- Elements, from either side, overlaps and ranges within ranges.
SELECT condition, c.*
FROM unnest(ARRAY['l.r4 @> r.x', 'r.x <@ l.r4', 'r.r4 @> l.x', 'l.x <@ r.r4', 'l.r8 @> r.b', 'r.r8 @> l.b', 'l.rn @> r.n', 'l.n <@ r.rn',
    'l.rd @> r.d', 'l.d <@ r.rd', 'l.rts @> r.ts', 'l.ts <@ r.rts', 'r.rtz @> l.tz', 'l.r4 && r.r4', 'l.r8 && r.r8', 'l.rn && r.rn', 'l.rd && r.rd',
    'l.rts && r.rts', 'l.rtz && r.rtz', 'l.g = r.g AND l.r4 && r.r4', 'l.g = r.g AND r.rn @> l.n', 'l.rd @> r.d AND l.rn @> r.n',
    'l.rf @> r.f', 'l.f <@ r.rf', 'l.rf && r.rf', 'l.r4 @> r.r4', 'l.rts <@ r.rts', 'l.g = r.g AND l.rn @> r.rn', 'l.r4 && r.r4 AND NOT l.r4 @> r.r4', 'l.r4 && r.r4 AND l.r4 @> r.r4',
    -- elements that are computed
    'l.x + 2 <@ r.r4', 'l.r8 @> (3 - r.b)', 'l.d + 7 <@ r.rd', 'l.ts - interval ''36 hours'' <@ r.rts', 'l.n * 2 <@ r.rn'])
    WITH ORDINALITY AS conditions (condition, i), compare_kinds(condition) AS c
ORDER BY i;
-- What else ranges can be compared by, beside something that drives the join.
SELECT condition, c.*
FROM unnest(ARRAY['l.r4 << r.r4', 'l.rn >> r.rn',
    'l.r4 &< r.r4', 'l.rn &> r.rn', 'l.r4 -|- r.r4', 'l.rts -|- r.rts', 'l.r4 = r.r4', 'l.rn <> r.rn', 'l.r4 < r.r4',
    'int4multirange(l.r4) && int4multirange(r.r4)', 'int4multirange(l.r4) @> r.x',
    'int4range(l.x, l.x + 3) @> r.x', 'tsrange(l.ts, l.ts, ''[]'') && r.rts'])
    WITH ORDINALITY AS conditions (condition, i), compare_kinds('l.g = r.g AND ' || condition) AS c
ORDER BY i;

SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.r4 @> r.x;
EXPLAIN (COSTS OFF) SELECT l.id FROM l FULL JOIN r ON l.g = r.g AND l.rn && r.rn;
EXPLAIN (COSTS OFF) SELECT l.id FROM l JOIN r ON l.rts @> r.rts AND l.r8 && r.r8 AND l.x + 2 <@ r.r4;
RESET gpujoin.force;
DROP TABLE l, r;

-- Bounds next to each other and at the ends of their types, in all combinations; numbers that begin alike.
CREATE TYPE bigrange AS RANGE (subtype = int8);  -- without a canonical form
CREATE TYPE smallrange AS RANGE (subtype = int2);
CREATE TYPE realrange AS RANGE (subtype = float4);
CREATE TYPE timerange AS RANGE (subtype = time);
CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
CREATE FUNCTION make_ranges(type text, points text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    element text := rngsubtype::regtype FROM pg_range WHERE rngtypid = type::regtype;
BEGIN
    EXECUTE format('CREATE TABLE l AS SELECT row_number() OVER () AS id, %1$s(a, b, bounds) AS r
        FROM unnest(%3$L::%2$s[]) AS a, unnest(%3$L::%2$s[]) AS b, unnest(ARRAY[''[)'', ''[]'', ''(]'', ''()'']) AS bounds
        WHERE (a <= b) IS NOT FALSE', type, element, points);
    EXECUTE format('CREATE TABLE r AS SELECT id, r, x FROM l FULL JOIN unnest(%L::%s[]) WITH ORDINALITY AS p (x, i) ON id = i', points, element);
    ANALYZE l, r;
END $$;
CREATE FUNCTION compare_points(type text, points text[]) RETURNS TABLE (condition text, taken boolean, rows bigint, differ text)
LANGUAGE plpgsql SET client_min_messages = warning AS $$
BEGIN
    DROP TABLE IF EXISTS l, r;
    PERFORM make_ranges(type, points);
    FOREACH condition IN ARRAY ARRAY['l.r @> r.x', 'l.r && r.r', 'l.r @> r.r', 'l.r <@ r.r'] LOOP
        SELECT c.* INTO taken, rows, differ FROM compare_algorithms(join_of('INNER', condition, false), join_of('INNER', condition, true)) AS c;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT type, c.*
FROM (VALUES ('int4range', ARRAY[NULL, '-2147483648', '-1', '0', '2147483646']), ('int8range', ARRAY[NULL, '-9223372036854775808', '-1', '0', '9223372036854775806']),
    ('numrange', ARRAY[NULL, '-1.00000001', '-1', '0', '1', '1.00000001', 'NaN']),
    ('daterange', ARRAY[NULL, '-infinity', '2000-01-01', '2000-01-02', 'infinity']),
    ('tsrange', ARRAY[NULL, '-infinity', '2000-01-01 00:00', '2000-01-01 00:00:00.000001', '294276-12-31 23:59:59.999999', 'infinity']),
    ('bigrange', ARRAY[NULL, '-9223372036854775808', '-9223372036854775807', '7', '9223372036854775806', '9223372036854775807']),
    ('smallrange', ARRAY[NULL, '-32768', '7', '8', '32767']), ('floatrange', ARRAY[NULL, '-5e-324', '-0', '0', '5e-324', 'NaN']),
    ('realrange', ARRAY[NULL, '-1e-45', '0', '1e-45']), ('timerange', ARRAY[NULL, '00:00', '23:59:59.999999', '24:00']))
    AS types (type, points), compare_points(type, points) AS c;
-- Ranges whose bounds have no encoding.
SELECT bool_or(taken), count(differ) FROM compare_points('textrange', ARRAY[NULL, '', 'a', 'aa', 'b']);
DROP TABLE l, r;
DROP FUNCTION make_ranges, compare_points;
DROP TYPE floatrange, bigrange, smallrange, realrange, timerange, textrange;
RESET timezone;
