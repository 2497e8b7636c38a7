-- Big values: keys and output columns that are compressed, stored out of line, or of tens of MB, rows wider than a block, on
-- both sides and in every kind of join; and rows of very many columns.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE stored (k integer, external text, compressed text, plain text, j jsonb, ar integer[]);
ALTER TABLE stored ALTER external SET STORAGE EXTERNAL;
ALTER TABLE stored ALTER plain SET STORAGE MAIN;
INSERT INTO stored SELECT i, repeat(md5(i::text), 300), repeat('abc' || i, 5000), repeat(md5(i::text), 50), jsonb_build_object('a', repeat('x' || i, 3000)), array_fill(i, ARRAY[4000])
FROM generate_series(1, 30) AS i;
INSERT INTO stored (k) VALUES (100), (NULL);
CREATE TABLE same AS SELECT k + 10 AS k, external || '' AS external, compressed || '' AS compressed, plain || '' AS plain, j || '{}' AS j, ar || '{}' AS ar FROM stored;
ANALYZE stored, same;
SELECT kind, condition, c.*
FROM unnest(ARRAY['INNER', 'FULL']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['a.external = b.external', 'a.compressed = b.compressed', 'a.plain = b.plain', 'a.j = b.j', 'a.ar = b.ar', 'a.external = b.external AND a.compressed = b.compressed AND a.ar = b.ar',
        'a.k = b.k', 'a.k = b.k AND a.external <> b.external', 'a.k = b.k AND length(a.compressed) >= length(b.external)', 'left(a.external, 40) = left(b.external, 40)']) WITH ORDINALITY AS conditions (condition, b),
     compare(format('SELECT a.k, b.k AS bk, md5(a.external || b.compressed) AS m, a.j = b.j AS js, b.ar[3999] AS x, md5(b::text) AS bm FROM stored a %s JOIN same b ON %s', kind, condition)) AS c
ORDER BY a, b;
SELECT * FROM compare('SELECT a, b FROM stored a LEFT JOIN same b ON a.k = b.k');
SELECT * FROM compare('SELECT md5(a.external) AS e FROM stored a WHERE EXISTS (SELECT FROM same b WHERE a.compressed = b.compressed AND a.k < b.k)');
SELECT * FROM compare('SELECT md5(a::text) AS e FROM stored a WHERE NOT EXISTS (SELECT FROM same b WHERE a.external = b.external AND b.k % 2 = 0)');
SELECT * FROM compare('SELECT a.k, md5(b.external) AS e FROM stored a LEFT JOIN same b ON b.external COLLATE "C" BETWEEN a.external AND a.external || ''zzz''');

-- A value of 32 MB among small ones, stored and computed: as output column of either side, as key, in residuals.
CREATE TABLE huge AS SELECT i AS k, CASE WHEN i = 7 THEN repeat(md5(i::text), 1000000) ELSE 'small ' || i END AS t FROM generate_series(1, 30) AS i;
ANALYZE huge;
SELECT max(length(t)) FROM huge;
CREATE FUNCTION sums(OUT core text, OUT gpu text, query text) RETURNS record LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE query INTO core;
    PERFORM set_config('gpujoin.enabled', 'on', true);
    PERFORM set_config('gpujoin.force', 'on', true);
    IF NOT EXISTS (SELECT FROM plan_of(query) AS line WHERE line LIKE '%Custom Scan (GPU Join)%') THEN
        RAISE EXCEPTION 'not taken: %', query;
    END IF;
    EXECUTE query INTO gpu;
    PERFORM set_config('gpujoin.force', 'off', true);
END $$;
SELECT core, core = gpu AS same
FROM unnest(ARRAY[
    'SELECT count(*) || ''/'' || sum(length(a.t)) || ''/'' || sum(length(b.t)) FROM huge a JOIN huge b USING (k)',
    'SELECT count(*) || ''/'' || sum(length(a.t || ''x'')) || ''/'' || sum(hashtext(b.x)) FROM huge a LEFT JOIN (SELECT k + 1 AS k, t || ''x'' AS x FROM huge) b ON a.k = b.k',
    'SELECT count(*) || ''/'' || sum(length(a.x)) || ''/'' || sum(length(b.x)) FROM (SELECT k, t || ''x'' AS x FROM huge) a FULL JOIN (SELECT k + 1 AS k, t || ''x'' AS x FROM huge) b ON a.k = b.k',
    'SELECT count(*) || ''/'' || sum(length(a.t)) FROM huge a JOIN huge b ON a.t = b.t',
    'SELECT count(*) || ''/'' || count(b.k) FROM huge a LEFT JOIN huge b ON a.k = b.k AND a.t < b.t || ''x'' AND length(b.t) > 100']) WITH ORDINALITY AS queries (query, i), sums(query) ORDER BY i;

-- Rows of 12 MB, each column smaller than a block.
CREATE TABLE wide AS SELECT i AS k, repeat('a' || i, 1500000) AS a, repeat('b' || i, 1500000) AS b, repeat('c' || i, 1000000) AS c FROM generate_series(1, 4) AS i;
SELECT core, core = gpu AS same
FROM unnest(ARRAY['SELECT count(*) || ''/'' || sum(length(x.a || y.a || y.b || y.c)) FROM wide x JOIN wide y USING (k)',
    'SELECT count(*) || ''/'' || sum(hashtext(y.a || y.b || y.c)) FROM wide x RIGHT JOIN (SELECT k + 2 AS k, a || ''1'' AS a, b || ''1'' AS b, c || ''1'' AS c FROM wide) y USING (k)',
    'SELECT count(*) || ''/'' || sum(length(y.c)) FROM wide x JOIN wide y ON x.a = y.a AND x.b = y.b AND x.c = y.c']) WITH ORDINALITY AS queries (query, i), sums(query) ORDER BY i;

-- As many columns as a table can have, on both sides; joins of more than a join can send are core's.
DO $$
BEGIN
    EXECUTE (SELECT 'CREATE TABLE columns AS SELECT i AS k, ' || string_agg(format('(CASE WHEN i %% %s <> 0 THEN i + %s END)::int2 AS c%s', n % 7 + 2, n, n), ', ') || ' FROM generate_series(1, 20) AS i'
             FROM generate_series(1, 1500) AS n);
END $$;
SELECT * FROM compare('SELECT a.k, hashtext(a::text || b::text) AS h FROM columns a LEFT JOIN columns b ON a.k = b.k + 3');
SELECT * FROM compare((SELECT 'SELECT b.*, a.c7 AS again FROM columns a LEFT JOIN columns b ON a.k = b.k + 3 AND a.c7 + 1 < b.c1 + 1000'));
-- (Inputs that are joins themselves, of 1,640 columns: with a few keys, and with more than a join has room for.)
SELECT keys, taken, rows, missing, extra
FROM unnest(ARRAY[2, 60]) AS keys, compare((
    SELECT 'SELECT a.k, hashtext(ARRAY[' || string_agg(format('a.c%1$s, b.c%1$s, c.c%1$s, d.c%1$s', n), ', ') || ']::text) AS h
    FROM (columns a JOIN columns b ON a.k = b.k) FULL JOIN (columns c JOIN columns d ON c.k = d.k) ON a.k + 1 = c.k + 1 AND '
    || string_agg(format('coalesce(a.c%1$s, %1$s) = coalesce(d.c%1$s, %1$s)', n), ' AND ') FILTER (WHERE n < keys) FROM generate_series(1, 820) AS n));
DROP FUNCTION sums;
DROP TABLE stored, same, huge, wide, columns;
