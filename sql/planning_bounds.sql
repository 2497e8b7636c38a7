-- Comparisons that the planner rewrites: bounds of range types, and sums that would overflow on rows without a
-- partner. Extreme values, infinities, NaN, missing bounds and empty ranges.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE values_of AS
SELECT i::int AS i, i AS b, CASE WHEN i % 5 = 0 THEN 'NaN' ELSE i::numeric / 2 END AS n, d, d::timestamp AS ts,
       d::timestamptz AS tz, i::int2 AS s
FROM (SELECT i, CASE i % 9 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE '2020-01-01'::date + i::int END AS d
      FROM generate_series(-40::bigint, 40) i) AS x;
INSERT INTO values_of VALUES
    (2147483647, 9223372036854775807, 'Infinity', '5874897-12-31', 'infinity', 'infinity', 32767),
    (-2147483648, -9223372036854775808, '-Infinity', '4713-01-01 BC', '-infinity', '-infinity', -32768),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE ranges_of AS
SELECT CASE i % 7 WHEN 0 THEN 'empty' WHEN 1 THEN int4range(NULL, i) WHEN 2 THEN int4range(i, NULL, '()')
       ELSE int4range(i, i + i % 4, '[]') END AS r4,
       CASE i % 7 WHEN 0 THEN 'empty' WHEN 1 THEN int8range(NULL, i) WHEN 2 THEN int8range(i, NULL, '(]')
       ELSE int8range(i, i + i % 4, '()') END AS r8,
       CASE i % 7 WHEN 0 THEN 'empty' WHEN 1 THEN numrange(NULL, i, '(]') WHEN 2 THEN numrange(i, NULL)
       ELSE numrange(i, i + i % 4, (ARRAY['[]', '()', '[)', '(]'])[i % 4 + 1]) END AS n,
       CASE i % 7 WHEN 0 THEN 'empty' WHEN 1 THEN daterange(NULL, '2020-01-01'::date + i)
       WHEN 2 THEN daterange('2020-01-01'::date + i, 'infinity', (ARRAY['[]', '[)'])[i % 2 + 1])
       ELSE daterange('2020-01-01'::date + i, '2020-01-03'::date + i, '[]') END AS d,
       CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN tsrange('-infinity', '2020-01-01', '(]')
       ELSE tsrange('2020-01-01'::timestamp + i * interval '1 day', NULL) END AS ts
FROM generate_series(0, 60) i;
INSERT INTO ranges_of VALUES
    ('(,)', '(,)', '(,)', '(,)', '(,)'), (NULL, NULL, NULL, NULL, NULL),
    ('[-2147483648,-2147483648]', '[-9223372036854775808,-9223372036854775808]', '[NaN,]', '[infinity,]', '[infinity,]'),
    ('[2147483646,2147483647)', '[9223372036854775806,9223372036854775807)', '(,NaN)', '(,-infinity]', '(,infinity)');
ANALYZE values_of, ranges_of;

SELECT kind, condition, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['r.r4 @> v.i', 'v.b <@ r.r8', 'r.n @> v.n', 'v.d <@ r.d', 'r.ts @> v.ts']) WITH ORDINALITY
     AS conditions (condition, c),
     compare(format('SELECT * FROM values_of v %s JOIN ranges_of r ON %s', kind, condition)) AS c
ORDER BY a, conditions.c;
SELECT condition, c.*
FROM unnest(ARRAY['l.r4 && r.r4', 'l.r8 && r.r8', 'l.n && r.n', 'l.d && r.d', 'l.ts && r.ts']) WITH ORDINALITY
     AS conditions (condition, c),
     compare(format('SELECT * FROM ranges_of l JOIN ranges_of r ON %s', condition)) AS c
ORDER BY conditions.c;
SELECT c.* FROM compare('SELECT * FROM values_of v WHERE NOT EXISTS (SELECT FROM ranges_of r WHERE r.n @> v.n)') AS c;
-- Dates against timestamps, also beyond the timestamps' range.
SELECT condition, c.*
FROM unnest(ARRAY['l.d = r.ts', 'l.d < r.ts', 'l.ts >= r.d', 'l.ts <= r.d AND l.i = r.i']) WITH ORDINALITY
     AS conditions (condition, c),
     compare(format('SELECT * FROM values_of l JOIN values_of r ON %s', condition)) AS c
ORDER BY conditions.c;

-- A band whose upper bound overflows on a row without a partner: no error, as in core.
SELECT c.* FROM compare(
    'SELECT * FROM values_of l JOIN values_of r ON l.i BETWEEN r.i - 3 AND r.i + 3 WHERE l.i < 1000 AND r.i > 0') AS c;
SELECT c.* FROM compare(
    'SELECT * FROM values_of l LEFT JOIN values_of r ON l.s > r.s + 1::int2 AND l.s < 100::int2 + r.s AND r.s < 32000') AS c;
-- A bounded distance is a band.
SELECT condition, c.*
FROM unnest(ARRAY['abs(l.i - r.i) <= 2', 'abs(r.s - l.i) < 3 AND l.n < r.n', '5::bigint >= abs(r.b - l.i)',
                  'abs(l.i - r.i) < 0', 'abs(l.b - r.b) <= 0']) WITH ORDINALITY AS conditions (condition, c),
     compare(format('SELECT * FROM values_of l JOIN values_of r ON %s AND l.s BETWEEN -99 AND 99 AND r.s BETWEEN -99 AND 99', condition)) AS c
ORDER BY conditions.c;

-- Sums of bigints beyond all bigints compare as numbers do. Core only knows them as numeric.
CREATE FUNCTION count_of(condition text, enabled text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    result bigint;
BEGIN
    PERFORM set_config('gpujoin.enabled', enabled, true), set_config('gpujoin.force', enabled, true);
    EXECUTE 'SELECT count(*) FROM values_of l JOIN values_of r ON ' || condition INTO result;
    RETURN result;
END $$;
SELECT condition, found, found = expected AS is_right
FROM unnest(ARRAY['l.b %s r.b + 1', 'l.b %s r.b - 1', 'l.b %s 5 + r.b', 'l.b - 2 %s r.b + 9', 'l.b %s r.b + 4 - 4'])
     WITH ORDINALITY AS conditions (pattern, a),
     unnest(ARRAY['<', '<=', '=', '>=', '>']) WITH ORDINALITY AS operators (op, b),
     format(pattern, op) AS condition, count_of(condition, 'on') AS found,
     count_of(replace(replace(condition, 'l.b', 'l.b::numeric'), 'r.b', 'r.b::numeric'), 'off') AS expected
ORDER BY a, operators.b;
DROP FUNCTION count_of;
DROP TABLE values_of, ranges_of;
