-- Conditions of the scans below a join: comparisons of every type with constants and Params on either side,
-- other conditions, and mixtures.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA heap_conditions;
SET search_path = heap_conditions, public;
CREATE TABLE f AS SELECT i AS k, CASE WHEN i % 10 <> 0 THEN (i - 50)::int2 END AS i2, i - 500 AS i4, (i - 500) * 10000000000 AS i8,
    i::oid AS o, CASE i % 6 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN -0.0 ELSE i - 500 END::float4 AS f4,
    CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN NULL ELSE (i - 500) / 3.0 END::float8 AS f8,
    date '2000-01-01' + i AS d, time '00:00' + i * interval '1 min' AS ti, timestamp '2000-01-01' + i * interval '1 day' AS ts,
    timestamptz '2000-01-01 00:00+00' + i * interval '1 day' AS tz, 'text ' || i AS t, i % 2 = 0 AS b
FROM generate_series(1, 1000) AS i;
INSERT INTO f (k, i2, i4, i8, d, ts) VALUES (1, -32768, -2147483648, -9223372036854775808, '-infinity', '-infinity'),
    (2, 32767, 2147483647, 9223372036854775807, 'infinity', 'infinity');
CREATE TABLE g AS SELECT i AS k FROM generate_series(1, 1000, 2) AS i;
ANALYZE f, g;
CREATE FUNCTION filtered(condition text) RETURNS TABLE (rows bigint, wrong bigint) LANGUAGE sql AS $$
    SELECT c.rows, c.missing + c.extra + (NOT c.taken)::int FROM compare('SELECT f.* FROM g JOIN f ON f.k = g.k WHERE ' || condition) AS c $$;

-- Every type with every comparison, the constant on either side.
SELECT value, string_agg(rows::text, ' ' ORDER BY n) AS rows, sum(wrong) AS wrong
FROM unnest(ARRAY['i2 %s 7::int2', 'i2 %s 7', 'i2 %s 7::int8', 'i4 %s 7::int2', 'i4 %s -3', 'i4 %s 10000000000', 'i8 %s 7::int2', 'i8 %s -30000000000',
                  'i4 %s 2147483647', 'i4 %s -2147483648', 'i8 %s 9223372036854775807', 'i8 %s -9223372036854775808', 'o %s 30::oid',
                  'f4 %s 3::float4', 'f4 %s 0', 'f4 %s ''NaN''::float4', 'f4 %s ''Infinity''::float8', 'f8 %s ''-0''::float8', 'f8 %s ''NaN''::float8',
                  'f8 %s ''-Infinity''::float4', 'd %s date ''2001-01-01''', 'd %s date ''infinity''', 'ti %s time ''03:00''',
                  'ts %s timestamp ''2001-01-01''', 'ts %s date ''2001-01-01''', 'ts %s date ''infinity''', 'ts %s date ''300000-01-01''', 'd %s timestamp ''2001-01-01''', 'd %s timestamp ''2001-01-01 12:00''', 'd %s timestamp ''-infinity''', 'timestamp ''2001-01-01 00:00:01'' %s d', 'tz %s timestamptz ''2001-01-01 00:00+00''', 'i4 %s (SELECT NULL::int4)',
                  '7 %s i4', '0::float8 %s f8', 'date ''2001-01-01'' %s d', 't %s ''text 5''::text', 'b::int %s 1', 'i2::int4 %s i4', 'i4::oid %s 5::oid'])
         WITH ORDINALITY AS tests(value, position),
     unnest(ARRAY['=', '<>', '<', '<=', '>', '>=']) WITH ORDINALITY AS operators(operator, n),
     filtered(format(value, operator))
GROUP BY value, position ORDER BY position;

-- Several together, ranges, and ones that only ExecQual() can test.
SELECT condition, filtered.* FROM unnest(ARRAY['i4 BETWEEN -100 AND 100 AND i2 > 0', 'i4 > 5 AND i4 < 5', 'f8 IS NULL AND i4 > 0', 't LIKE ''%7'' AND i4 < 100',
    'i4 IN (1, 2, 3, 4)', 'b', 'NOT b AND o < 900', 'i4 > 5 OR i2 < 5', 'i4 % 3 = 1 AND i8 > 0', 'f.ctid > ''(1,1)''', 'f.tableoid = ''f''::regclass AND i4 < 0',
    'f.k > (SELECT avg(k) FROM g)', 'i4 > (SELECT 10) AND i4 < (SELECT max(k) / 10 FROM g)', 'i4 = ANY (SELECT -k FROM g)', 
    'NOT EXISTS (SELECT FROM g z WHERE z.k = f.i4) AND i4 > 0', 'f IS DISTINCT FROM NULL', 'f.k = f.k AND i4 = i4', 'random() >= 0 AND i4 < 3']) AS condition, filtered(condition);

-- Params that change from scan to scan, of the statement and of an outer row.
CREATE TABLE steps AS SELECT i * 100 - 500 AS n FROM generate_series(0, 9) AS i;
INSERT INTO steps VALUES (NULL);
ANALYZE steps;
SELECT * FROM compare('SELECT n, (SELECT count(*) FROM f JOIN g USING (k) WHERE i4 < n) FROM steps');
SELECT * FROM compare('SELECT n, (SELECT count(*) FROM f JOIN g USING (k) WHERE i8 > n AND t <> n::text AND g.k > n) FROM steps');
SELECT * FROM compare('SELECT n, s.* FROM steps LEFT JOIN LATERAL (SELECT i4, g.k FROM f LEFT JOIN g USING (k) WHERE f8 >= n ORDER BY i4, g.k LIMIT 3) s ON true');
SET gpujoin.force = on;
SET gpujoin.startup_cost = 50;  -- what else they cost decides between joins of few rows
PREPARE below(int, float8) AS SELECT count(*), sum(i4) FROM f JOIN g USING (k) WHERE i4 < $1 AND f8 > $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE below(100, -20);
EXECUTE below(-100, '-inf');
EXECUTE below(NULL, 0);
EXECUTE below(100, 'NaN');

-- Errors of conditions are raised for the rows that core would test, and no others.
SELECT count(*) FROM f JOIN g USING (k) WHERE 1 / (i4 - 3) < 1 AND i4 > 3;
SELECT count(*) FROM f JOIN g USING (k) WHERE 1 / i4 < 1;
SELECT count(*) FROM f JOIN g USING (k) WHERE i4 > 1000000000 AND i8 < 0 AND i4 < (SELECT 1 / min(k - 1) FROM g);

-- Rows are counted as if the scans had run, in EXPLAIN (from 18 on, with fractions) and in the statistics.
CREATE FUNCTION analyzed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Seq Scan|Removed by Filter|Filter:' THEN RETURN NEXT regexp_replace(ltrim(line), '(rows=\d+)\.\d+', '\1'); END IF;
    END LOOP;
END $$;
CREATE FUNCTION same_figures(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    core text[];
    gpu text[];
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('enable_nestloop', 'off', true);
    core := ARRAY(SELECT line FROM analyzed(query) AS line ORDER BY 1);
    PERFORM set_config('gpujoin.enabled', 'on', true);
    gpu := ARRAY(SELECT line FROM analyzed(query) AS line ORDER BY 1);
    IF core <> gpu THEN RAISE WARNING '% <> %', core, gpu; END IF;
    RETURN core = gpu;
END $$;
SELECT * FROM analyzed('SELECT count(*) FROM f JOIN g USING (k) WHERE i4 < 100 AND f8 > 0');
SELECT * FROM analyzed('SELECT count(*) FROM f JOIN g USING (k) WHERE i4 < 100 AND t LIKE ''%3''');
SELECT * FROM analyzed('SELECT (SELECT count(*) FROM f JOIN g USING (k) WHERE i4 < n) FROM steps');
SELECT same_figures('SELECT count(*) FROM f JOIN g USING (k)'),
       same_figures('SELECT count(*) FROM f LEFT JOIN g USING (k) WHERE f.i4 < 100'),
       same_figures('SELECT count(*) FROM f FULL JOIN g USING (k)'),
       same_figures('SELECT count(*) FROM f JOIN g USING (k) WHERE i4 > 100000');

-- What pg_stat_user_tables will show; a join counts as one scan of each table.
CREATE FUNCTION counted(query text, gpu bool) RETURNS TABLE (relname name, scans bigint, rows bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpujoin.enabled', gpu::text, true), set_config('enable_mergejoin', 'off', true), set_config('enable_nestloop', 'off', true);
    CREATE TEMP TABLE before AS SELECT s.relid, s.seq_scan, s.seq_tup_read FROM pg_stat_xact_user_tables s;
    EXECUTE query;
    RETURN QUERY SELECT s.relname, s.seq_scan - b.seq_scan, s.seq_tup_read - b.seq_tup_read
    FROM pg_stat_xact_user_tables s JOIN before b USING (relid) WHERE s.relname IN ('f', 'g') ORDER BY 1;
    DROP TABLE before;
END $$;
BEGIN;
SET LOCAL gpujoin.force = on;
SELECT g.*, c.* FROM unnest(ARRAY[true, false]) AS g, counted('SELECT count(*) FROM f JOIN g USING (k) WHERE f.i4 < 100', g) AS c;
SELECT g.*, c.* FROM unnest(ARRAY[true, false]) AS g, counted('SELECT (SELECT count(*) FROM f JOIN g USING (k) WHERE f.i4 < n) FROM steps', g) AS c;
COMMIT;
