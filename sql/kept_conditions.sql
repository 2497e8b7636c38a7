-- Conditions of scans that use kept columns: tests of single columns that are connected by AND, OR and NOT, lists of values, NULL, truth
-- values and texts, and what is computed where they are none of these. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE sale (id integer, k integer, v smallint, w bigint, d date, p numeric(12, 2), is_new boolean, t text, c char(8), s varchar(40), o oid, f float8, r float4, x numeric, filler text);
INSERT INTO sale SELECT i, i % 40, (i % 300 - 150)::smallint, i * 4294967296 - 7, '2024-01-01'::date + i % 100, (i % 5000 - 2500) / 100.0, i % 3 = 0,
    't' || i % 6, 'c' || i % 3, 'a name of ' || i % 12, i % 50, i / 8.0, i % 70 / 4.0 - 5, i / 3.0, repeat('x', 50) FROM generate_series(1, 30000) AS i;
UPDATE sale SET k = NULL, is_new = NULL, t = NULL WHERE id % 17 = 0;
UPDATE sale SET v = NULL, p = NULL, c = NULL, s = NULL WHERE id % 19 = 0;
UPDATE sale SET p = 'NaN', t = '', c = '' WHERE id % 1001 = 0;
UPDATE sale SET f = (ARRAY['NaN', '-0', '0', 'Infinity', '-Infinity', '-3.5', NULL])[id % 7 + 1]::float8, r = (ARRAY['NaN', '-0', '0.1', 'Infinity', '-Infinity', NULL])[id % 6 + 1]::float4 WHERE id % 23 = 0;
CREATE TABLE dim AS SELECT i AS k, i % 5 AS g FROM generate_series(0, 39) AS i;
VACUUM ANALYZE sale, dim;
SELECT gpujoin_keep('sale', '{id, k, v, w, d, p, is_new, t, c, s, o, f, r}') > 128 AS kept;

-- Each condition with and without NOT before it. From the second run on chunks are used; what only the columns test that are kept
-- already, is tested in the first one, too.
CREATE FUNCTION compare_conditions(conditions text[], runs integer) RETURNS TABLE (n bigint, chunks integer, core bigint, "rows" bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
SELECT q.n, min(r.chunks), count(*), sum(r.rows), sum(r.missing), sum(r.extra)
FROM unnest(conditions) WITH ORDINALITY AS q (condition, n), unnest(ARRAY['', 'NOT ']) AS sense,
    compare_kept('SELECT d, count(*), sum(id) FROM sale WHERE ' || sense || '(' || condition || ') GROUP BY d', runs) AS r
GROUP BY q.n ORDER BY q.n
$$;
SELECT * FROM compare_conditions(ARRAY[
    'k < 5 OR v > 100',
    'k BETWEEN 3 AND 9 AND (v BETWEEN -20 AND 20 OR p BETWEEN 1.005 AND 2 OR d > ''2024-03-01'')',
    '(k = 1 AND v < 0) OR (k = 2 AND v > 0) OR (k = 3 AND (p < 0 OR w > 99999999999999))',
    'k IN (1, 5, 9, NULL)',
    'k NOT IN (1, 5, 9)',
    'k <> ALL (ARRAY[1, NULL])',
    'k > ANY (ARRAY[30, 35]) AND v < ALL (ARRAY[0, 10])',
    'k < ANY (''{}'')',
    'd IN (''2024-01-05'', ''2024-02-29'') OR o = 7',
    'p IN (1, 2.50, ''NaN'')',
    'k IS NULL',
    'k IS NOT NULL OR v IS NULL',
    '(k IS NULL AND v > 50) OR p IS NULL',
    'is_new',
    'is_new AND (k < 3 OR NOT is_new)',
    't = ''t3''',
    't <> ''t3'' AND c = ''c1''',
    't = '''' OR c = ''''',
    'c = ''c2   '' OR k = 7',
    's = ''a name of 3'' AND k < 20',
    's IN (''a name of 3'', ''a name of 11'') OR (t = ''t1'' AND c IN (''c0'', ''c1''))',
    't = ''longer than sixteen bytes'' OR k = 4',
    'v = 7.5::numeric::integer OR w = -7',
    'f > 100.25 AND f <= 3000',
    'f = 0 OR f = ''NaN'' OR r < -4.75',
    'f < ''Infinity'' AND r > 0.1',
    'r = 0.1::float4 OR r >= ''NaN'' OR f <> 12.5',
    'f BETWEEN -3.5 AND -0.0 OR r BETWEEN -0.0 AND 0.1::float4',
    'f IS NULL OR r IS NULL',
    'r IS NOT NULL AND f IN (1, 2.5, ''-Infinity'', NULL)',
    '0.1 < r AND 1e300 > f AND f > -1e-300'], 1);

-- Parts that are no tests of columns are computed; together where they are side by side.
SELECT * FROM compare_conditions(ARRAY[
    'k < 5 OR t LIKE ''%3''',
    '(k < 20 AND t LIKE ''%1'' AND s LIKE ''%2%'') OR (v > 100 AND f > 99)',
    'k IN (1, 2) OR x > 100 OR f < 500',
    't = ''t3'' OR s = ''longer than sixteen bytes'' OR s > ''a name of 5''',
    't IN (''t1'', ''longer than sixteen bytes'', NULL) AND k < 30',
    '(k IS NULL) = (v IS NULL)'], 3);
SELECT r.* FROM compare_kept('SELECT count(*), sum(v) FROM sale WHERE k IN (' || (SELECT string_agg((3 * i)::text, ', ') FROM generate_series(0, 70) AS i) || ')', 3) AS r;
SELECT r.* FROM compare_kept('SELECT count(*), sum(v) FROM sale WHERE ' || (SELECT string_agg(format('(k = %s AND v < %s)', i, i), ' OR ') FROM generate_series(0, 39) AS i), 3) AS r;
-- What may fail is left to PostgreSQL: no chunks.
SELECT r.* FROM compare_kept('SELECT count(*), sum(v) FROM sale WHERE k < 5 OR 100 / (id + 1) > 3', 3) AS r;

-- Constants that a subquery gives: the first condition's is asked for anyway, others' only when rows are left.
SELECT q, r.* FROM unnest(ARRAY[
    'SELECT count(*), sum(v) FROM sale WHERE k = (SELECT max(k) FROM dim) AND (v < 0 OR p > 0)',
    'SELECT count(*), sum(v) FROM sale WHERE k < 0 AND v < (SELECT 1 / (g - g) FROM dim WHERE k = 3)',
    'SELECT count(*), sum(v) FROM sale WHERE k < 0 AND (v < (SELECT 1 / (g - g) FROM dim WHERE k = 3) OR p > 3)']) AS q, compare_kept(q, 3) AS r;

-- Random ones, three levels deep.
CREATE FUNCTION random_condition(depth integer) RETURNS text LANGUAGE sql AS $$
SELECT CASE WHEN depth = 0 OR random() < 0.2 THEN
    (ARRAY['k < ' || n % 40, 'v BETWEEN -' || n % 150 || ' AND ' || n % 150, 'p >= ' || n / 100.0, 'd <> date ''2024-01-01'' + ' || n % 100,
        'k IN (' || n % 40 || ', ' || n % 7 || ')', 'is_new', 'v IS NULL', 'k IS NOT NULL', 't = ''t' || n % 7 || '''', 'c <> ''c' || n % 3 || '''',
        's IN (''a name of ' || n % 12 || ''', ''a name of 5'')', 'w > ' || n * 50000000000, 'o NOT IN (' || n % 50 || ', 3)', 'NOT is_new'])[1 + floor(random() * 14)]
    ELSE (ARRAY['', 'NOT '])[1 + floor(random() * 2)] || '(' || random_condition(depth - 1) || (ARRAY[' AND ', ' OR '])[1 + floor(random() * 2)] || random_condition(depth - 1) || ')' END
FROM (SELECT floor(random() * 3000)::integer AS n) AS drawn
$$;
SELECT setseed(0.25);
SELECT count(*) AS conditions, min(chunks) AS chunks, sum(missing) AS missing, sum(extra) AS extra, sum("rows") > 3000 AS has_rows
FROM compare_conditions((SELECT array_agg(random_condition(3)) FROM generate_series(1, 60)), 1);

DROP FUNCTION random_condition, compare_conditions, compare_kept, kept_by;
DROP TABLE sale, dim;
