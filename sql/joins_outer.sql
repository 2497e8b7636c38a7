-- Outer joins above outer joins: in any order that core may choose, with what is computed below them (and nulled
-- by those above), whole rows, aggregates.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g FROM generate_series(1, 300) i;
CREATE TABLE b AS SELECT i AS k, i % 7 AS g FROM generate_series(100, 400) i;
CREATE TABLE c AS SELECT i AS k, i % 5 AS g FROM generate_series(200, 500) i;
CREATE TABLE d AS SELECT i AS k, i % 3 AS g FROM generate_series(150, 350) i;
CREATE VIEW v AS SELECT k, coalesce(g, 0) + 1 AS h, 7 AS seven FROM b;
ANALYZE a, b, c, d;
SELECT query, q.*
FROM unnest(ARRAY[
    'SELECT a.k, b.g AS bg, c.g AS cg FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.k = c.k',
    'SELECT a.k, b.g AS bg, c.g AS cg FROM a LEFT JOIN (b LEFT JOIN c ON b.k = c.k) ON a.k = b.k',
    'SELECT a.k, b.g AS bg, c.g AS cg, d.k AS dk FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.k = c.k LEFT JOIN d ON c.k = d.k',
    'SELECT a.k, b.g AS bg, c.g AS cg, d.k AS dk FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.k = c.k LEFT JOIN d ON b.g = d.k AND c.g < d.g
     WHERE coalesce(c.g, d.g, 1) > 0',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a RIGHT JOIN b ON a.k = b.k RIGHT JOIN c ON b.k = c.k AND a.g <> c.g',
    'SELECT a.k, b.k AS bk FROM a JOIN b USING (k) LEFT JOIN (c JOIN d USING (k)) ON c.k = a.k AND d.g = b.g',
    'SELECT a.k FROM a FULL JOIN b ON a.k = b.k FULL JOIN c ON a.k = c.k FULL JOIN d ON coalesce(a.k, b.k, c.k) = d.k',
    'SELECT a.k, v.* FROM a LEFT JOIN v ON a.k = v.k',
    'SELECT a.k, v.*, w.h AS wh, w.seven AS ws FROM a LEFT JOIN v ON a.k = v.k LEFT JOIN v w ON w.k = v.k AND w.h = v.h',
    'SELECT a.k, v.*, w.h AS wh FROM a FULL JOIN v ON a.k = v.k LEFT JOIN v w ON w.seven = v.seven AND w.h < v.h',
    'SELECT a, b, v FROM a FULL JOIN b ON a.k = b.k LEFT JOIN v ON v.k = coalesce(a.k, b.k)',
    'SELECT a.k, s.x FROM a LEFT JOIN (SELECT b.k, c.g + b.g AS x FROM b LEFT JOIN c ON b.k = c.k) s ON a.k = s.k AND coalesce(s.x, 1) > a.g
     WHERE s.x IS NULL OR s.x > 2',
    'SELECT a.k FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON c.k = b.k AND c.g > a.g WHERE c.k IS NULL',
    'SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT FROM c LEFT JOIN d ON c.k = d.k WHERE c.k = b.k AND d.g IS NOT NULL)',
    'SELECT count(*) AS n, a.g, b.g AS bg FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.g = c.g AND b.k < c.k GROUP BY a.g, b.g'
    ]) WITH ORDINALITY AS queries (query, i), compare(query) AS q
ORDER BY i;
DROP VIEW v;
DROP TABLE a, b, c, d;
