-- Whatever can be an input of a join: functions, VALUES, CTEs, set operations, aggregates, window functions,
-- samples, foreign tables, views, sequences and catalogs; and what can be above one.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g, 'a' || i AS t FROM generate_series(1, 300) AS i;
CREATE TABLE b AS SELECT i AS k, i % 15 AS g, 'b' || i AS t FROM generate_series(1, 300, 2) AS i;
CREATE INDEX ON a (k);
CREATE VIEW v AS SELECT k, g, count(*) OVER (PARTITION BY g) AS n FROM b;
CREATE MATERIALIZED VIEW mv AS SELECT k + 1 AS k, t FROM b;
CREATE TEMP TABLE temporary AS SELECT * FROM b;
ANALYZE a, b, mv, temporary;
CREATE FUNCTION pairs(n integer) RETURNS TABLE (k integer, w text) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..n LOOP
        k := i; w := 'w' || i;
        RETURN NEXT;
    END LOOP;
END $$;

SELECT query, c.*
FROM unnest(ARRAY[
    'SELECT a.k, f FROM a JOIN generate_series(10, 500, 10) f ON a.k = f',
    'SELECT a.k, f.w FROM a LEFT JOIN pairs(20) f ON a.k = f.k',
    'SELECT a.k, f.w, f.ordinality FROM a JOIN pairs(20) WITH ORDINALITY f ON a.k = f.ordinality + 1',
    'SELECT a.k, f.x, f.y FROM a FULL JOIN ROWS FROM (generate_series(1, 5), generate_series(100, 110)) f(x, y) ON a.k = f.y',
    'SELECT a.k, j.x FROM a JOIN jsonb_to_recordset(''[{"x": 1}, {"x": 7}, {"x": null}]'') j(x integer) ON a.k = j.x',
    'SELECT a.k, u FROM a RIGHT JOIN unnest(ARRAY[1, 3, NULL, 1000]) u ON a.k = u',
    'SELECT a.k, v.* FROM a FULL JOIN (VALUES (1, ''x''), (NULL, ''y''), (2, NULL), (9999, ''z'')) v(k, w) ON a.k = v.k',
    'SELECT v.*, w.x FROM (VALUES (1), (2), (3)) v(k) JOIN (VALUES (2, 2.5), (3, 3.5)) w(k, x) ON v.k = w.k',
    'WITH x AS MATERIALIZED (SELECT * FROM a WHERE g > 4) SELECT x.t, y.t AS yt FROM x JOIN x y ON x.k = y.k + 2',
    'WITH x AS NOT MATERIALIZED (SELECT * FROM a WHERE g > 4) SELECT x.t, y.t AS yt FROM x LEFT JOIN x y ON x.k = y.k + 2',
    'WITH x AS (SELECT a.k, b.t FROM a JOIN b USING (k)), y AS MATERIALIZED (SELECT x.k, a.t FROM x JOIN a ON x.k = a.g) SELECT * FROM x FULL JOIN y USING (k)',
    'WITH RECURSIVE r(k, depth) AS (SELECT 1, 0 UNION ALL SELECT b.k, depth + 1 FROM r JOIN b ON b.k = r.k + 2) SELECT r.*, a.t FROM r JOIN a USING (k)',
    'SELECT a.k, s.k AS sk FROM a JOIN (SELECT k FROM b UNION ALL SELECT g FROM b) s ON a.k = s.k',
    'SELECT a.k, s.k AS sk FROM a JOIN (SELECT k FROM b UNION SELECT g FROM b) s ON a.k = s.k',
    'SELECT a.k, s.k AS sk FROM a LEFT JOIN (SELECT k FROM a EXCEPT SELECT k FROM b) s ON a.k = s.k',
    'SELECT a.k, s.k AS sk FROM a LEFT JOIN (SELECT k FROM a INTERSECT ALL SELECT k FROM b) s ON a.k = s.k',
    'SELECT a.k FROM a JOIN b USING (k) UNION SELECT b.g FROM a RIGHT JOIN b ON a.k = b.k + 3',
    'SELECT a.k FROM a JOIN b USING (k) INTERSECT SELECT b.k FROM a JOIN b ON a.g = b.g EXCEPT ALL SELECT a.g FROM a JOIN b USING (k)',
    'SELECT a.k, s.n FROM a JOIN (SELECT g, count(*) AS n FROM b GROUP BY g HAVING count(*) > 3) s ON a.k = s.n',
    'SELECT a.g, sum(b.k) AS s, array_agg(b.k ORDER BY b.k) AS l, count(DISTINCT b.g) AS d FROM a JOIN b USING (k) GROUP BY a.g',
    'SELECT a.g, b.g AS bg, count(*) FROM a FULL JOIN b USING (k) GROUP BY GROUPING SETS ((a.g), (b.g), ())',
    'SELECT DISTINCT b.g FROM a JOIN b USING (k)', 'SELECT DISTINCT ON (b.g) b.g, a.k FROM a JOIN b USING (k) ORDER BY b.g, a.k',
    'SELECT a.k, row_number() OVER (PARTITION BY b.g ORDER BY a.k) AS r FROM a JOIN b USING (k)',
    'SELECT a.k, s.r FROM a JOIN (SELECT k, rank() OVER (ORDER BY g) AS r FROM b) s ON a.k = s.r',
    'SELECT a.k, v.n FROM a LEFT JOIN v ON a.k = v.k AND a.g < v.n', 'SELECT a.k, mv.t FROM a JOIN mv USING (k)',
    'SELECT a.k, x.t FROM a JOIN temporary x USING (k)', 'SELECT a.k, s.t FROM a JOIN (SELECT * FROM b ORDER BY t LIMIT 40) s USING (k)',
    'SELECT a.k FROM a TABLESAMPLE SYSTEM (100) JOIN b USING (k)', 'SELECT a.k FROM a JOIN b USING (k) ORDER BY a.t, b.k LIMIT 7 OFFSET 3',
    'SELECT a.k, b.t FROM a JOIN b USING (k) WHERE a.k BETWEEN 5 AND 50 ORDER BY a.k DESC FETCH FIRST 5 ROWS WITH TIES',
    'SELECT c.relname, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname LIKE ''pg_am%''',
    'SELECT a.attname, t.typname FROM pg_attribute a LEFT JOIN pg_type t ON a.atttypid = t.oid WHERE a.attrelid = ''pg_am''::regclass',
    'SELECT a.k, generate_series(1, b.g) AS s FROM a JOIN b USING (k)', 'SELECT a.k, unnest(ARRAY[a.g, b.g]) AS u, b.t FROM a LEFT JOIN b USING (k)'
    ]) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;

-- LATERAL: an input that depends on the other side is core's; a join inside it may be taken.
SELECT query, c.*
FROM unnest(ARRAY[
    'SELECT a.k, s.t FROM a, LATERAL (SELECT b.t FROM b WHERE b.k = a.k LIMIT 1) s',
    'SELECT a.k, s.t FROM a LEFT JOIN LATERAL (SELECT b.t, a.g + b.g AS x FROM b) s ON s.x = a.k',
    'SELECT a.k, f FROM a, LATERAL generate_series(a.g, a.g + 1) f WHERE a.k < 20',
    'SELECT a.k, f, b.t FROM a, LATERAL generate_series(a.g, a.g + 1) f, b WHERE b.k = f AND a.k < 20',
    'SELECT a.k, s.n FROM a, LATERAL (SELECT count(*) AS n FROM b JOIN mv USING (k) WHERE b.g = a.g) s WHERE a.k < 20',
    'SELECT a.k, s.* FROM a LEFT JOIN LATERAL (SELECT b.k AS bk, mv.k AS mk FROM b FULL JOIN mv ON b.k = mv.k + 1 WHERE b.g = a.k) s ON true WHERE a.k < 12']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;

-- A parameterised inner side is no input, but the join above it takes the whole nested loop.
SET enable_seqscan = off;
SELECT * FROM compare('SELECT b.k, a.t, mv.t AS mt FROM b JOIN a ON a.k = b.k AND a.k < 40 LEFT JOIN mv ON mv.k = a.k + b.g');
RESET enable_seqscan;

-- Every kind of scan, and other nodes, as an input: the node's rows are read, whatever makes them.
CREATE TABLE ranged (k integer, g integer) PARTITION BY RANGE (k);
CREATE TABLE ranged_1 PARTITION OF ranged FOR VALUES FROM (0) TO (150);
CREATE TABLE ranged_2 PARTITION OF ranged FOR VALUES FROM (150) TO (400);
INSERT INTO ranged SELECT k, g FROM a;
CREATE INDEX ON ranged (k);
CREATE INDEX ON b (g);
VACUUM ANALYZE a, b, ranged;
CREATE FUNCTION compare_input(node text, query text, off text[], OUT has_node boolean, OUT taken boolean, OUT "rows" bigint, OUT missing bigint, OUT extra bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('enable_' || name, 'off', true) FROM unnest(off) AS name;
    PERFORM set_config('gpujoin.force', 'on', true);
    SELECT bool_or(line LIKE '%->  ' || node || '%') INTO has_node FROM plan_of(query) AS line;
    SELECT c.* INTO taken, rows, missing, extra FROM compare(query) AS c;
    PERFORM set_config('enable_' || name, 'on', true) FROM unnest(off) AS name;
END $$;
SELECT node, c.*
FROM (VALUES ('Index Only Scan', 'SELECT x.k, b.t FROM (SELECT k FROM a WHERE k < 100) x LEFT JOIN b ON x.k = b.k', ARRAY['seqscan', 'bitmapscan']),
        ('Index Scan', 'SELECT x.k, x.t, b.t AS bt FROM (SELECT * FROM a WHERE k < 100) x LEFT JOIN b ON x.k = b.k', ARRAY['seqscan', 'bitmapscan']),
        ('Bitmap Heap Scan', 'SELECT n, x.t FROM generate_series(1, 40) AS n RIGHT JOIN (SELECT * FROM b WHERE g IN (3, 5)) x ON n = x.k', ARRAY['seqscan', 'indexscan']),
        ('Tid Scan', 'SELECT a.k, x.t FROM a JOIN (SELECT * FROM b WHERE ctid = ANY (ARRAY[''(0,1)'', ''(0,9)'']::tid[])) x ON a.k = x.k', ARRAY['seqscan']),
        ('Tid Range Scan', 'SELECT a.k, x.t FROM a JOIN (SELECT * FROM b WHERE ctid < ''(0,90)'') x ON a.k = x.k', ARRAY['seqscan']),
        ('ProjectSet', 'SELECT x.k, x.s, b.t FROM (SELECT k, generate_series(1, g) AS s FROM a) x JOIN b ON x.k = b.k AND x.s = b.g', NULL),
        ('LockRows', 'SELECT x.k, b.t FROM (SELECT * FROM a WHERE g = 3 FOR UPDATE) x LEFT JOIN b ON x.k = b.k', NULL),
        ('Append', 'SELECT x.k, b.t FROM (SELECT * FROM ranged ORDER BY k LIMIT 200) x LEFT JOIN b ON x.k = b.k', ARRAY['seqscan', 'bitmapscan']),
        ('Merge Append', 'SELECT x.k, b.t FROM (SELECT * FROM (SELECT k FROM a UNION ALL SELECT k + 7 FROM b) u ORDER BY k LIMIT 200) x LEFT JOIN b ON x.k = b.k', ARRAY['bitmapscan']),
        ('Unique', 'SELECT x.g, b.t FROM (SELECT DISTINCT g FROM a GROUP BY ROLLUP (g)) x FULL JOIN b ON x.g = b.k', ARRAY['hashagg']),
        ('Result', 'SELECT x.k, b.t FROM (SELECT * FROM a WHERE false) x FULL JOIN b ON x.k = b.k', NULL),
        ('Result', 'SELECT x.k, b.t FROM (SELECT * FROM a WHERE current_setting(''server_version_num'')::integer < 0 OFFSET 0) x RIGHT JOIN b ON x.k = b.k', NULL),
        ('WindowAgg', 'SELECT x.n, b.t FROM (SELECT count(*) OVER (PARTITION BY g ORDER BY k) AS n FROM a) x JOIN b ON x.n = b.k', NULL)) AS inputs (node, query, off),
     compare_input(node, query, off) AS c;
DROP FUNCTION compare_input;

-- Foreign tables.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS file_fdw;
RESET client_min_messages;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE numbers (k integer, w text) SERVER files OPTIONS (program 'seq -f "%g,w" 1 3 400', format 'csv');
SELECT * FROM compare('SELECT a.k, a.t, n.w FROM a LEFT JOIN numbers n ON a.k = n.k');
SELECT * FROM compare('SELECT x.k, y.w FROM numbers x JOIN numbers y ON x.k = y.k + 3');
SELECT * FROM compare('SELECT a.k FROM a WHERE NOT EXISTS (SELECT FROM numbers n WHERE n.k BETWEEN a.k - 1 AND a.k)');
DROP SERVER files CASCADE;
DROP EXTENSION file_fdw;
DROP FUNCTION pairs;
DROP MATERIALIZED VIEW mv;
DROP VIEW v;
DROP TABLE a, b, temporary, ranged;
