-- Sublinks: those that core turns into semijoins and antijoins, what is above such a join, and those that stay
-- subplans beside a GPU Join or have one inside.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g, (i % 7)::numeric AS v, 'a' || i % 40 AS t FROM generate_series(1, 400) AS i;
CREATE TABLE b AS SELECT i AS k, i % 15 AS g, (i % 9)::numeric(9, 2) AS v, 'a' || i % 60 AS t FROM generate_series(1, 300, 2) AS i;
CREATE TABLE c AS SELECT i AS k, i % 5 AS g, 'a' || i AS t FROM generate_series(1, 50) AS i;
INSERT INTO a VALUES (NULL, 1, NULL, NULL), (1000, NULL, 'NaN', '');
INSERT INTO b VALUES (NULL, 1, NULL, NULL), (1001, NULL, 'NaN', '');
ANALYZE a, b, c;

SELECT query, c.*
FROM unnest(ARRAY[
    'SELECT * FROM a WHERE k IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE (k, g) IN (SELECT k, g FROM b)',
    'SELECT * FROM a WHERE v = ANY (SELECT v FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)',
    'SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE a.k = b.k)',
    'SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE a.t = b.t AND a.k < b.k)',
    'SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE a.k > b.k AND a.k < b.k + 3)',
    'SELECT * FROM a WHERE EXISTS (SELECT FROM b JOIN c ON b.g = c.g WHERE a.k = b.k + c.k)',
    'SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b WHERE a.k = b.k)',
    'SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b WHERE a.k = b.k AND a.g > b.g)',
    'SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b LEFT JOIN c ON b.k = c.k WHERE a.g = b.g AND c.g IS NULL)',
    'SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE a.k = b.k) AND NOT EXISTS (SELECT FROM c WHERE a.t = c.t)',
    'SELECT * FROM a LEFT JOIN b ON a.k = b.k AND EXISTS (SELECT FROM c WHERE c.k = b.k)',
    'SELECT a.*, b.k AS bk FROM a JOIN b ON a.k = b.k WHERE b.g IN (SELECT g FROM c)',
    'SELECT a.* FROM a LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL',
    'SELECT a.* FROM a LEFT JOIN b ON a.k = b.k AND a.g < b.g WHERE b.k IS NULL']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;
-- Correlated, a semijoin from 17 on.
SELECT taken = since(17) AS taken_since_17, rows, missing, extra
FROM compare('SELECT * FROM a WHERE k IN (SELECT k + 1 FROM b WHERE b.g < a.g)');

-- Above a semijoin its inner side's columns stand for the outer ones that they equal.
CREATE FUNCTION compare_above_semijoins() RETURNS TABLE (query text, taken boolean, "rows" bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT query, c.*
    FROM unnest(ARRAY[
        'SELECT b.k, c.k AS ck FROM c LEFT JOIN b ON coalesce(b.t, b.t) = c.t WHERE b.k IS NOT NULL AND coalesce(b.t, b.t) IN (SELECT t FROM a)',
        'SELECT b.k, c.k AS ck FROM c LEFT JOIN b ON coalesce(b.t, b.t) = c.t WHERE b.k > 7 AND coalesce(b.t, b.t) IN (SELECT t FROM a WHERE g > 2)',
        'SELECT b.k, c.k AS ck FROM c LEFT JOIN b ON coalesce(b.t, b.t) = c.t WHERE b.k IS NOT NULL AND coalesce(b.t, b.t) IN (SELECT t FROM a WHERE g > 8)',
        'SELECT b.k, c.v AS cv FROM a c JOIN b ON abs(b.v) = c.v WHERE abs(b.v) IN (SELECT v FROM a WHERE k < 5)',
        'SELECT b.k FROM b JOIN a x ON x.k = b.k + 1 JOIN a y ON y.k = b.k + 1 WHERE b.k + 1 IN (SELECT k FROM a WHERE g > 3)']) WITH ORDINALITY AS queries (query, i),
         compare(query) AS c
    ORDER BY i
$$;
SELECT * FROM compare_above_semijoins();
-- Where rows cannot be made unique, the join is a semijoin.
SET enable_hashagg = off;
SET enable_sort = off;
SELECT * FROM compare_above_semijoins();
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT b.k, c.k AS ck FROM c LEFT JOIN b ON coalesce(b.t, b.t) = c.t WHERE b.k IS NOT NULL AND coalesce(b.t, b.t) IN (SELECT t FROM a WHERE g > 8);
RESET gpujoin.force;
RESET enable_hashagg;
RESET enable_sort;
DROP FUNCTION compare_above_semijoins;

-- The variants that make one side unique first.
SELECT query, c.*
FROM unnest(ARRAY[
    'SELECT a.* FROM a WHERE g IN (SELECT g FROM b)',
    'SELECT c.* FROM c WHERE t IN (SELECT t FROM a)',
    'SELECT a.k, c.k AS ck FROM a, c WHERE a.k = c.k AND (a.g, c.g) IN (SELECT g, v FROM b)',
    'SELECT a.k, c.k AS ck FROM a, c WHERE (a.t, c.k) IN (SELECT t, k FROM b)']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;

-- Subplans in the target list, in keys, in residuals, and with a GPU Join inside.
SELECT query, c.*
FROM unnest(ARRAY[
    'SELECT a.k, (SELECT max(c.k) FROM c WHERE c.g = a.g) AS m FROM a JOIN b USING (k)',
    'SELECT a.k, (SELECT count(*) FROM b JOIN c ON b.g = c.g WHERE b.k = a.k) AS m FROM a WHERE a.k < 50',
    'SELECT a.k, ARRAY(SELECT b.k + c.k FROM b JOIN c ON b.k = c.k WHERE c.g = a.g ORDER BY 1) AS m FROM a JOIN b USING (k)',
    'SELECT a.k FROM a JOIN b ON a.k = b.k + (SELECT min(k) FROM c)',
    'SELECT a.k FROM a JOIN b ON a.k = b.k + (SELECT count(*) FROM c WHERE c.k = b.g)',
    'SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.k = b.k AND a.g > (SELECT min(g) FROM c)',
    'SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.k = b.k AND a.g > (SELECT avg(g) FROM c WHERE c.k = b.g)',
    'SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.k = b.k AND a.g > (SELECT avg(g) FROM c WHERE c.k > 3)',
    'SELECT a.k FROM a JOIN b USING (k) WHERE a.g = ANY (SELECT g FROM c WHERE c.k < b.k) OR a.g = 9',
    'SELECT a.k FROM a WHERE EXISTS (SELECT FROM b WHERE a.k = b.k) OR a.g = 3',
    'SELECT a.k FROM a WHERE a.k > ALL (SELECT b.k FROM b JOIN c ON b.k = c.k)',
    'SELECT (SELECT count(*) FROM a JOIN b USING (k)) AS n, c.k FROM c']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;
DROP TABLE a, b, c;
