-- Joins above joins: planning many of them, keys over several relations of one side, joins that cannot be
-- reordered, placeholders, and empty target lists.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g, i % 4 AS x, 'a' || i AS t FROM generate_series(1, 200) AS i;
CREATE TABLE b AS SELECT i AS k, i % 15 AS g, i % 3 AS y, 'b' || i AS t FROM generate_series(1, 300, 2) AS i;
CREATE TABLE c AS SELECT i AS k, i % 5 AS g, i % 6 AS z, 'c' || i AS t FROM generate_series(1, 50) AS i;
INSERT INTO a VALUES (NULL, NULL, 1, NULL);
INSERT INTO b VALUES (NULL, NULL, 1, NULL);
INSERT INTO c VALUES (NULL, NULL, 1, NULL);
ANALYZE a, b, c;

-- Twelve relations are planned without a noticeable delay, and all joins are taken.
CREATE TABLE chain AS SELECT i AS k, i + 1 AS next, i % 7 AS g FROM generate_series(1, 300) AS i;
ANALYZE chain;
SET join_collapse_limit = 12;
SET from_collapse_limit = 12;
SET geqo = off;
SET gpujoin.force = on;
CREATE FUNCTION plan_twelve(OUT joins bigint, OUT in_time boolean) LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp();
BEGIN
    SELECT count(*) INTO joins FROM plan_of((SELECT 'SELECT count(*) FROM ' || string_agg('chain t' || i, ', ' ORDER BY i) || ' WHERE '
        || string_agg(format('t%s.next = t%s.k', i - 1, i), ' AND ' ORDER BY i) FILTER (WHERE i > 1) FROM generate_series(1, 12) AS i)) AS line
    WHERE line LIKE '%Custom Scan (GPU Join)%';
    in_time := clock_timestamp() - began < interval '10 s';
END $$;
SELECT * FROM plan_twelve();
RESET gpujoin.force;
SET geqo = on;
SELECT * FROM compare((SELECT 'SELECT t1.k, t12.k AS k12 FROM ' || string_agg('chain t' || i, ', ' ORDER BY i) || ' WHERE '
    || string_agg(format('t%s.next = t%s.k', i - 1, i), ' AND ' ORDER BY i) FILTER (WHERE i > 1) FROM generate_series(1, 12) AS i));
SELECT * FROM compare((SELECT 'SELECT t1.k, t8.k AS k8 FROM chain t1 ' || string_agg(format('LEFT JOIN chain t%s ON t%s.next = t%s.k AND t%s.g < %s', i, i - 1, i, i, i), ' ' ORDER BY i)
    FROM generate_series(2, 8) AS i));
RESET join_collapse_limit;
RESET from_collapse_limit;
RESET geqo;

SELECT query, c.*
FROM unnest(ARRAY[
    -- Keys over several relations of one side.
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a JOIN b ON a.k = b.k JOIN c ON a.g + b.g = c.z',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a CROSS JOIN b JOIN c ON a.x + b.y = c.k',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a JOIN b ON a.k = b.k LEFT JOIN c ON a.g + b.g = c.k AND a.x < b.y + c.z',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM (a LEFT JOIN b ON a.k = b.k) FULL JOIN c ON coalesce(a.k, 0) + coalesce(b.g, 0) = c.k',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a JOIN b ON a.g = b.g JOIN c ON c.k BETWEEN a.k + b.k - 1 AND a.k + b.k + 1',
    -- Outer joins in every position.
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a LEFT JOIN (b JOIN c ON b.g = c.k) ON a.k = b.k',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a LEFT JOIN (b LEFT JOIN c ON b.g = c.k AND c.z <> 2) ON a.k = b.k AND (c.z > 1 OR c.z IS NULL)',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a LEFT JOIN b ON a.k = b.k RIGHT JOIN c ON a.k = c.k AND b.k IS NULL',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a FULL JOIN b ON a.k = b.k FULL JOIN c ON c.k = coalesce(a.k, b.k)',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a FULL JOIN b ON a.k = b.k LEFT JOIN c ON c.k = b.k WHERE a.x = 1 OR c.z = 2',
    'SELECT a.k, b.k AS bk, c.k AS ck FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.k = c.k WHERE coalesce(c.z, 9) > 3',
    'SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.k = b.k AND a.x = 1',
    'SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.k = b.k AND b.y = 1',
    'SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.k = b.k AND a.x = 1 AND b.y = 1',
    'SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.k = b.k AND false',
    'SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.k = b.k AND 1 / (b.k - b.k + 1) = 1',
    -- Placeholders: expressions that must be computed below an outer join.
    'SELECT a.k, s.v, s.w FROM a LEFT JOIN (SELECT k, 42 AS v, coalesce(t, ''none'') AS w FROM b) s ON a.k = s.k',
    'SELECT a.k, s.v, c.k AS ck FROM a LEFT JOIN (SELECT k, g + 1 AS v FROM b OFFSET 0) s ON a.k = s.k LEFT JOIN c ON coalesce(s.v, 3) = c.k',
    'SELECT a.k, s.v, c.k AS ck FROM a LEFT JOIN (SELECT k, coalesce(g, 5) AS v FROM b) s ON a.k = s.k LEFT JOIN c ON s.v = c.k',
    'SELECT a.k, s.v, u.v AS uv FROM a LEFT JOIN (SELECT k, coalesce(g, 5) AS v FROM b) s ON a.k = s.k FULL JOIN (SELECT k, coalesce(z, 5) AS v FROM c) u ON s.v = u.v',
    'SELECT a.k, s FROM a LEFT JOIN (SELECT b.k, c.t FROM b JOIN c ON b.g = c.k) s ON a.k = s.k',
    -- Nothing wanted, the same twice, junk alone, whole rows.
    'SELECT FROM a JOIN b USING (k)', 'SELECT FROM a FULL JOIN b USING (k)', 'SELECT 1 AS one FROM a LEFT JOIN b USING (k)',
    'SELECT a, a.*, b, b.k + b.k AS s, b.t || a.t AS u FROM a LEFT JOIN b USING (k)',
    'SELECT a.ctid, a.tableoid, b.ctid AS bc, b.tableoid AS bt, a.xmin, b.cmax FROM a FULL JOIN b USING (k)',
    'SELECT a.k FROM a JOIN b ON a.ctid = b.ctid', 'SELECT a.k FROM a JOIN b ON a.ctid = b.ctid AND a.tableoid <> b.tableoid',
    'SELECT p.k, q.k AS qk FROM a p JOIN a q ON p = q', 'SELECT p FROM a p JOIN a q ON p::text = q::text AND p.k = q.k',
    -- Self joins and repeated clauses.
    'SELECT x.k FROM a x JOIN a y ON x.k = y.k AND x.k = y.k AND y.k = x.k', 'SELECT x.k FROM a x JOIN a y ON x.k = y.k AND x.k = y.g AND x.g = y.k',
    'SELECT x.k FROM a x JOIN a y ON x.k = y.k AND x.k <= y.k AND x.k >= y.k AND x.k <> y.g']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;

-- Joins without anything to search by are core's.
SELECT query, c.*
FROM unnest(ARRAY['SELECT a.k FROM a, c', 'SELECT a.k FROM a JOIN c ON a.k <> c.k', 'SELECT a.k FROM a JOIN c ON a.k = c.k OR a.g = c.g',
    'SELECT a.k FROM a LEFT JOIN c ON a.g = 3', 'SELECT a.k FROM a JOIN c ON a.k + c.k = 10', 'SELECT a.k FROM a JOIN c ON a.k IS NOT DISTINCT FROM c.k',
    'SELECT a.k FROM a JOIN c ON (a.k = c.k) IS NOT FALSE']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;

-- More conditions than a join may have terms: the rest is residual.
SELECT taken, rows, missing, extra FROM compare((SELECT 'SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON ' || string_agg(format('a.k + %s = b.k + %s', i, i), ' AND ') || ' AND '
    || string_agg(format('a.k * 2 < b.k * 3 + %s', i), ' AND ') FROM generate_series(1, 70) AS i));
DROP FUNCTION plan_twelve;
DROP TABLE a, b, c, chain;
