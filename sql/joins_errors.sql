-- Conditions whose expressions may raise an error: it must come up where core's does, and nowhere else.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE l AS SELECT i AS k, i % 100 AS v, i::float8 AS f, i::bigint AS big, date '2020-01-01' + i AS d,
    timestamp '2020-01-01' + i * interval '1 day' AS t FROM generate_series(1, 1000) AS i;
CREATE TABLE r AS SELECT i AS k, 1 + i % 99 AS v, i::float8 AS f, i::bigint AS big, date '2020-01-01' + i AS d,
    timestamp '2020-01-01' + i * interval '1 day' AS t FROM generate_series(501, 1500) AS i;
-- Rows that have no partner, at the ends of their types or with a divisor of zero.
UPDATE l SET v = 1 WHERE v = 0;
UPDATE l SET v = 0, f = -1.7e308, big = 9223372036854775807, d = '5874897-12-31' WHERE k = 200;
UPDATE r SET v = 0, f = 1.7e308, big = -9223372036854775808, d = '5874897-12-31', t = '294276-12-31' WHERE k = 1200;
ANALYZE l, r;

SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.v < 100 / r.v');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND 100 / l.v > r.v');
SELECT * FROM compare('SELECT l.k FROM l LEFT JOIN r ON l.k = r.k AND l.v <> 100 / r.v');
SELECT * FROM compare('SELECT l.k FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.k = r.k AND l.v >= 100 / r.v)');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.f < r.f * 2');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.f < r.f + 2.5');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.big * 2 <= r.big * 2');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.big + 1 > r.big - 5');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.d + 1 > r.d - 5');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.d < r.t');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.t < r.t + interval ''400 days''');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.t < r.t + interval ''1 month''');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND r.t > l.d - interval ''1 year''');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.t < coalesce(r.t + interval ''1 month'', ''2020-01-01'')');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND (r.t + interval ''1 month'' > ''2022-01-01'' OR l.v < r.v)');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND (l.d - interval ''1 year'' > ''2022-01-01'' OR l.v < r.v)');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND int4range(99 - r.v, 99) @> l.v');
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND int4range(r.v, 100 / r.v + 100) @> l.v');
SELECT * FROM compare('SELECT l.k FROM l FULL JOIN r ON l.k = r.k AND r.v > 0 AND 100 / r.v > 3');
SELECT * FROM compare('SELECT l.k FROM l LEFT JOIN r ON l.k = r.k AND 100 / l.v > 3');
-- Equalities: as core's hash join.
SELECT * FROM compare('SELECT l.k FROM l JOIN r ON l.k = r.k AND l.v = 100 / r.v');
SET gpujoin.force = on;
SELECT count(*) FROM l JOIN r ON l.k = r.k AND l.v = 100 / r.v;
-- A pair that fails.
UPDATE r SET v = 0 WHERE k = 700;
SELECT count(*) FROM l JOIN r ON l.k = r.k AND l.v < 100 / r.v;
SELECT count(*) FROM l LEFT JOIN r ON l.k = r.k AND l.v < 100 / r.v;
-- A constant less a column, beyond bigint: a range where the end of bigint stands for what lies beyond it.
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON 5 - r.big >= l.big;
SELECT count(*) FROM l JOIN r ON 5 - r.big >= l.big;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON 5 - r.big > l.big;
SELECT count(*) FROM l JOIN r ON 5 - r.big > l.big;
-- What is a range all the same, and what is decided by the residual.
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.f BETWEEN r.f - 1 AND r.f + 1;
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.t BETWEEN r.t AND r.t + interval '1 month';
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.v BETWEEN least(r.v, 5) AND coalesce(r.k, 9);
EXPLAIN (COSTS OFF) SELECT FROM l JOIN r ON l.k = r.k AND l.v < 100 / r.v;
RESET gpujoin.force;

-- More columns than a batch has: declined.
\set ECHO none
SELECT format('CREATE TABLE wide_%s AS SELECT %s FROM generate_series(1, 10) AS i', side,
              string_agg('i + ' || n || ' AS c' || n, ', '))
FROM (VALUES ('l'), ('r')) AS sides(side), generate_series(1, 1590) AS n GROUP BY side \gexec
\set ECHO all
ANALYZE wide_l, wide_r;
CREATE FUNCTION wide_join(terms integer) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT %s FROM wide_l JOIN wide_r ON %s',
        (SELECT string_agg(format('wide_l.c%s + wide_r.c%s', n, n), ', ') FROM generate_series(1, 1590) AS n),
        (SELECT string_agg(format('wide_l.c%s %s wide_r.c%s', n + n % 3, CASE n % 3 WHEN 0 THEN '=' WHEN 1 THEN '>=' ELSE '<>' END, n), ' AND ')
         FROM generate_series(1, terms) AS n))
$$;
SELECT terms, compare.* FROM (VALUES (60), (74), (75), (120)) AS made(terms), compare(wide_join(terms));
DROP TABLE l, r, wide_l, wide_r;
DROP FUNCTION wide_join;
