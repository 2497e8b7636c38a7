-- Every kind of join, with NULLs, duplicates and rows without a partner on both sides, with and without
-- residual conditions and conditions above the join.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE left_rows AS
SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE i % 60 END AS k, i % 3 AS g, i AS v,
       CASE WHEN i % 5 = 0 THEN NULL ELSE 'left ' || i END AS t
FROM generate_series(1, 300) AS i;
CREATE TABLE right_rows AS
SELECT CASE WHEN i % 11 = 0 THEN NULL ELSE 30 + i % 50 END AS k, i % 4 AS g, i AS v,
       CASE WHEN i % 5 = 1 THEN NULL ELSE repeat('right ', i % 9) || i END AS t
FROM generate_series(1, 200) AS i;
CREATE TABLE no_rows (k integer, g integer, v integer, t text);
CREATE TABLE null_keys AS SELECT NULL::integer AS k, i AS v FROM generate_series(1, 5) AS i;
ANALYZE left_rows, right_rows, no_rows, null_keys;

-- Outer and inner joins: no residual, one that passes some pairs, none, all; two keys; a filter above.
SELECT kind, condition, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.k = r.k',
                  'l.k = r.k AND l.g = r.g',
                  'l.k = r.k AND (l.v::numeric + r.v) % 3 = 0',
                  'l.k = r.k AND (l.v::numeric + r.v) < 0',
                  'l.k = r.k AND coalesce(l.t, r.t, '''') IS NOT NULL',
                  'l.k + 1 = r.k - 1']) WITH ORDINALITY AS conditions (condition, b),
     compare(format(
    'SELECT l.*, r.* FROM left_rows l %s JOIN right_rows r ON %s', kind, condition)) AS c
WHERE NOT (kind = 'FULL' AND condition LIKE '%coalesce%')
ORDER BY a, b;

SELECT kind, filter, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['r.t IS NULL', 'coalesce(l.v, 0) + coalesce(r.v, 0) > 200']) WITH ORDINALITY AS filters (filter, b),
     compare(format(
    'SELECT l.v, r.v AS rv, r.t FROM left_rows l %s JOIN right_rows r ON l.k = r.k AND (l.v * r.v) %% 5 <> 1 WHERE %s',
    kind, filter)) AS c
ORDER BY a, b;

-- Semi and anti joins.
SELECT kind, condition, c.*
FROM unnest(ARRAY['EXISTS', 'NOT EXISTS']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.k = r.k',
                  'l.k = r.k AND l.g = r.g',
                  'l.k = r.k AND (l.v::numeric + r.v) % 3 = 0',
                  'l.k = r.k AND (l.v::numeric + r.v) < 0',
                  'l.k = r.k AND r.t > l.t']) WITH ORDINALITY AS conditions (condition, b),
     compare(format(
    'SELECT l.* FROM left_rows l WHERE %s (SELECT FROM right_rows r WHERE %s)', kind, condition)) AS c
ORDER BY a, b;
SELECT * FROM compare('SELECT * FROM left_rows WHERE k IN (SELECT k FROM right_rows)');
SELECT * FROM compare('SELECT * FROM left_rows WHERE k NOT IN (SELECT k FROM right_rows WHERE k IS NOT NULL)');
SELECT * FROM compare('SELECT l.v FROM left_rows l LEFT JOIN right_rows r ON l.k = r.k WHERE r.k IS NULL');

-- Sides that are empty or have NULL keys alone.
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT * FROM left_rows l %s JOIN no_rows r ON l.k = r.k', kind)) AS c;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT * FROM no_rows l %s JOIN right_rows r ON l.k = r.k', kind)) AS c;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT * FROM left_rows l %s JOIN null_keys r ON l.k = r.k', kind)) AS c;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT * FROM no_rows l %s JOIN no_rows r ON l.k = r.k', kind)) AS c;
SELECT kind, c.*
FROM unnest(ARRAY['EXISTS', 'NOT EXISTS']) AS kind,
     compare(format('SELECT * FROM left_rows l WHERE %s (SELECT FROM no_rows r WHERE l.k = r.k)', kind)) AS c;

-- Nothing wanted from one side, or from both.
SELECT * FROM compare('SELECT count(*) FROM left_rows l JOIN right_rows r ON l.k = r.k');
SELECT * FROM compare('SELECT FROM left_rows l JOIN right_rows r ON l.k = r.k');
SELECT * FROM compare('SELECT r.t FROM left_rows l LEFT JOIN right_rows r ON l.k = r.k');
SELECT * FROM compare('SELECT l.t FROM left_rows l FULL JOIN right_rows r ON l.k = r.k');

-- Whole rows, system columns, the same column twice, constants and expressions above.
SELECT * FROM compare('SELECT l, r, r.v, r.v AS again, 7, l.v + r.v AS sum FROM left_rows l LEFT JOIN right_rows r ON l.k = r.k');
SELECT * FROM compare('SELECT l.ctid, r.ctid AS rctid, l.tableoid, r.xmin FROM left_rows l JOIN right_rows r ON l.k = r.k');
SELECT * FROM compare('SELECT l.v, s.x, s.t FROM left_rows l LEFT JOIN (SELECT k, 42 AS x, coalesce(t, ''none'') AS t FROM right_rows) s ON l.k = s.k');

-- Joins above joins.
SELECT * FROM compare('SELECT a.v, b.v AS bv, c.t FROM left_rows a JOIN right_rows b ON a.k = b.k LEFT JOIN left_rows c ON b.v = c.v');
SELECT * FROM compare('SELECT a.v FROM left_rows a FULL JOIN right_rows b ON a.k = b.k FULL JOIN left_rows c ON c.v = coalesce(a.v, b.v)');
SELECT * FROM compare('SELECT a.v, c.v AS cv FROM left_rows a, right_rows b, left_rows c WHERE a.v + b.v = c.v + 5 AND b.k = c.k');

-- Many duplicates of one key: a probe row's matches span results.
CREATE TABLE skewed AS SELECT 1 AS k, i AS v, repeat('x', 500) AS t FROM generate_series(1, 40000) AS i;
CREATE TABLE few AS SELECT i % 4 AS k, i AS v FROM generate_series(0, 11) AS i;
ANALYZE skewed, few;
SET enable_mergejoin = off;
SET enable_hashjoin = off;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT']) AS kind,
     compare(format('SELECT f.v, sum(s.v) AS s, count(*) AS n, max(length(s.t)) FROM few f %s JOIN skewed s ON f.k = s.k GROUP BY f.v', kind)) AS c;
SELECT condition, c.*
FROM unnest(ARRAY['(f.v + s.v) % 1000 = 0', 'f.v > s.v + length(s.t)']) AS condition,
     compare(format('SELECT f.v, sum(s.v) AS s, count(*) AS n FROM few f LEFT JOIN skewed s ON f.k = s.k AND %s GROUP BY f.v', condition)) AS c;
SELECT kind, condition, c.*
FROM unnest(ARRAY['EXISTS', 'NOT EXISTS']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['length(s.t) + f.v > 0', '(f.v + s.v) % 40000 = 39999', 'f.v > s.v + length(s.t)']) WITH ORDINALITY AS conditions (condition, b),
     compare(format('SELECT f.* FROM few f WHERE %s (SELECT FROM skewed s WHERE f.k = s.k AND %s)', kind, condition)) AS c
ORDER BY a, b;
RESET enable_mergejoin;
RESET enable_hashjoin;
DROP TABLE left_rows, right_rows, no_rows, null_keys, skewed, few;
