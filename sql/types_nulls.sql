-- NULLs in any key column, sides whose keys are all NULL, and empty sides: every kind of join on every algorithm, over
-- fixed-width keys, keys of bytes, hashed keys, and several keys.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE l AS SELECT i AS n, CASE WHEN i % 3 <> 0 THEN i % 20 END AS a, CASE WHEN i % 4 <> 0 THEN i % 15 END AS b, CASE WHEN i % 5 <> 0 THEN 't' || i % 12 END AS t,
    CASE WHEN i % 6 <> 0 THEN ARRAY[i % 9, NULL] END AS ar, (CASE WHEN i % 7 <> 0 THEN i % 11 END)::numeric AS nu, NULL::integer AS none
FROM generate_series(1, 120) AS i;
CREATE TABLE r AS SELECT n + 1000 AS n, CASE WHEN n % 5 <> 0 THEN a END AS a, b + 3 AS b, t, ar, nu, none FROM l WHERE n % 2 = 0;
CREATE TABLE nulls AS SELECT i AS n, NULL::integer AS a, NULL::integer AS b, NULL::text AS t, NULL::integer[] AS ar, NULL::numeric AS nu, NULL::integer AS none FROM generate_series(1, 7) AS i;
CREATE TABLE empty AS SELECT * FROM l LIMIT 0;
ANALYZE l, r, nulls, empty;
CREATE FUNCTION compare_null_keys(left_table text, right_table text, conditions text[], algorithm text DEFAULT 'auto')
RETURNS TABLE (condition text, kinds bigint, taken boolean, "rows" numeric, missing numeric, extra numeric) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpujoin.algorithm', algorithm, true);
    RETURN QUERY SELECT cond, count(*), bool_and(c.taken), sum(c.rows), sum(c.missing), sum(c.extra)
        FROM unnest(conditions) WITH ORDINALITY AS conditions (cond, i), unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL', 'EXISTS', 'NOT EXISTS']) AS kind,
            compare(CASE WHEN kind LIKE '%EXISTS' THEN format('SELECT l.* FROM %s l WHERE %s (SELECT FROM %s r WHERE %s)', left_table, kind, right_table, cond)
                         ELSE format('SELECT l.*, r.n AS rn, r.a AS ra FROM %s l %s JOIN %s r ON %s', left_table, kind, right_table, cond) END) AS c
        GROUP BY i, cond ORDER BY i;
END $$;
SELECT * FROM compare_null_keys('l', 'r', ARRAY['l.a = r.a', 'l.a = r.a AND l.b = r.b', 'l.t = r.t', 'l.ar = r.ar', 'l.nu = r.nu', 'l.a = r.a AND l.t = r.t AND l.nu = r.nu AND l.ar = r.ar',
    'l.none = r.none', 'l.a = r.none', 'l.none = r.a AND l.b = r.b', 'l.a = r.a AND l.b < r.b', 'l.t = r.t AND l.nu <> r.nu', 'l.a = r.a AND (l.b = r.b OR l.b IS NULL)',
    'l.a = r.a AND l.none IS NULL', 'l.a = r.a AND r.b IS NOT NULL AND l.b IS NULL', 'coalesce(l.a, -1) = coalesce(r.a, -1)', 'nullif(l.a, 5) = nullif(r.a, 7)']);
SELECT algorithm, count(*), bool_and(c.taken) AS taken, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM unnest(ARRAY['hash', 'sort_merge', 'index', 'nested_loop']) WITH ORDINALITY AS algorithms (algorithm, i),
     compare_null_keys('l', 'r', ARRAY['l.a = r.a', 'l.t = r.t AND l.b = r.b', 'l.ar = r.ar', 'l.a = r.a AND l.nu >= r.nu', 'l.none = r.a', 'l.a = r.a AND l.b + r.b > 12'], algorithm) AS c
GROUP BY i, algorithm ORDER BY i;
SELECT a.t AS left_table, b.t AS right_table, count(*), bool_and(c.taken) AS taken, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM unnest(ARRAY['l', 'nulls', 'empty']) WITH ORDINALITY AS a(t, i), unnest(ARRAY['r', 'nulls', 'empty']) WITH ORDINALITY AS b(t, i),
     compare_null_keys(a.t, b.t, ARRAY['l.a = r.a', 'l.t = r.t', 'l.ar = r.ar AND l.a = r.a', 'l.a = r.a AND l.b < r.b', 'l.nu = r.nu AND l.b IS DISTINCT FROM r.b']) AS c
GROUP BY a.i, a.t, b.i, b.t ORDER BY a.i, b.i;
-- Ranges: nothing lies above or below NULL.
SELECT kind, condition, c.*
FROM unnest(ARRAY['LEFT', 'INNER']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.a < r.a', 'l.a BETWEEN r.a AND r.b', 'l.nu >= r.nu AND l.a <= r.b', 'l.a > r.none', 'l.none <= r.a']) WITH ORDINALITY AS conditions (condition, b),
     compare(format('SELECT l.n, r.n AS rn FROM l %s JOIN r ON %s', kind, condition)) AS c
ORDER BY a, b;
-- IS NOT DISTINCT FROM is no join condition; written as two, its equality is.
SELECT * FROM compare('SELECT l.n, r.n AS rn FROM l JOIN r ON l.a IS NOT DISTINCT FROM r.a AND l.b = r.b');
DROP FUNCTION compare_null_keys;
DROP TABLE l, r, nulls, empty;
