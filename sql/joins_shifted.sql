-- Range conditions on a column plus or minus constants, at the edges of their types: rows without a partner raise
-- no error, and infinity stays where it is.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE l AS SELECT i AS n, i % 5 AS g, i::int2 AS i2, i AS i4, i::int8 AS i8, date '2020-02-20' + i AS d,
    timestamp '2020-02-20' + i * interval '12 hours' AS ts, timestamptz '2020-02-20 00:00+00' + i * interval '12 hours' AS tz
FROM generate_series(-50, 50) AS i;
INSERT INTO l VALUES (101, 77, 32767, 2147483647, 9223372036854775807, 'infinity', 'infinity', 'infinity'),
    (102, 78, -32768, -2147483648, -9223372036854775808, '-infinity', '-infinity', '-infinity'),
    (103, 79, NULL, NULL, 9223372036854775806, '5874897-12-31', '294276-12-31 23:59', '294276-12-30'),
    (104, 80, NULL, NULL, NULL, '4714-11-24 BC', '4714-11-24 BC', '4714-11-25 BC');
CREATE TABLE r AS SELECT * FROM l WHERE n % 3 <> 0;
UPDATE r SET g = g + 10 WHERE n > 100;
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY[
    'l.i2 BETWEEN r.i2 - 3 AND r.i2 + 3', 'l.i2 + 1 < r.i4 - 3', 'l.i4 BETWEEN r.i4 - 3 AND r.i4 + 3', 'l.i4 > r.i8 + 7',
    'l.i8 BETWEEN r.i8 - 3 AND r.i8 + 3', 'l.i8 >= 5 - r.i8', 'l.i8 - 3 <= (r.i8 + 1) - 2', '100 - l.i4 < r.i8',
    'l.d BETWEEN r.d - 3 AND r.d + 3', 'l.d < r.d', 'l.ts BETWEEN r.ts - interval ''1 day'' AND r.ts + interval ''1 day 1 hour''',
    'l.tz BETWEEN r.tz - interval ''36 hours'' AND r.tz', 'l.tz > r.tz + interval ''1 day''', 'l.ts > r.ts - interval ''1 month''',
    'l.d < r.ts', 'l.ts <= r.d']) WITH ORDINALITY AS conditions (condition, i),
    unnest(ARRAY['', 'l.g = r.g AND ']) WITH ORDINALITY AS prefixes (prefix, j),
    compare(format('SELECT l.n, r.n AS rn FROM (SELECT * FROM l %1$s) l JOIN (SELECT * FROM r %1$s) r ON %2$s%3$s',
        CASE WHEN j = 1 THEN 'WHERE n <= 100' END, prefix, condition)) AS c
ORDER BY i, j;
-- A join whose keys can also be matched by the range's expressions.
SELECT * FROM compare('SELECT l.n, r.n AS rn, r.i8 FROM l JOIN r ON l.g = r.g AND r.i8 + 4 >= l.i8 AND r.i8 <= l.i8');
DROP TABLE l, r;
