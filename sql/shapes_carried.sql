-- Probe columns that go through the engine and come back with the results, which then name no probe rows and may come
-- in any order: the same rows as when they wait in the backend, and as core's.
-- Joins alone, each with a node of its own, are wanted here.
SET gpujoin.chain = off;
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/algorithms.sql
\i sql/include/parallel.sql
\i sql/include/explain.sql
SET gpujoin.encode_cost = DEFAULT;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64kB';
-- Compares with core's joins without and with carrying. carried: how many of the plan's GPU Joins carry.
CREATE FUNCTION compare_carried(query text, OUT joins bigint, OUT carried bigint, OUT rows bigint, OUT differ text)
LANGUAGE plpgsql AS $$
DECLARE
    kept record;
    through record;
BEGIN
    PERFORM set_config('gpujoin.carry', 'off', true);
    SELECT * INTO kept FROM compare(query);
    PERFORM set_config('gpujoin.carry', 'on', true);
    SELECT * INTO through FROM compare(query);
    PERFORM set_config('gpujoin.force', 'on', true);
    FOR query IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
        joins := coalesce(joins, 0) + (query LIKE '%Custom Scan (GPU Join)%')::integer;
        carried := coalesce(carried, 0) + (query LIKE '%Result Order: Any%')::integer;
    END LOOP;
    PERFORM set_config('gpujoin.force', 'off', true), set_config('gpujoin.carry', 'off', true);
    rows := through.rows;
    IF kept.missing + kept.extra > 0 THEN differ := 'kept'; END IF;
    IF through.missing + through.extra > 0 THEN differ := concat_ws(', ', differ, 'carried'); END IF;
END $$;
\set ECHO all
CREATE TABLE a AS SELECT i AS id, CASE WHEN i % 11 <> 0 THEN i % 400 END AS k, i % 10 AS g,
    (i % 7)::int2 AS i2, i::int8 AS i8, i % 2 = 0 AS b, chr(64 + i % 26)::"char" AS c, (i / 3.0)::float4 AS f4,
    CASE WHEN i % 5 <> 0 THEN i / 3.0::float8 END AS f8, (i / 7.0)::numeric AS num, md5(i::text)::uuid AS u, point(i, -i) AS pt,
    make_interval(days => i, secs => i) AS iv, ('n' || i)::name AS na, CASE WHEN i % 3 <> 0 THEN repeat('t', i % 90) END AS t, ARRAY[i, NULL, 3] AS ar
FROM generate_series(1, 1500) AS i;
CREATE TABLE b AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 600 END AS k, i % 20 AS g, 'b' || i AS t FROM generate_series(1, 1200) AS i;
ANALYZE a, b;
SET gpujoin.force = on;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.t, b.t FROM a JOIN b USING (k);
SET gpujoin.carry = on;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.t, b.t FROM a JOIN b USING (k);
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.t, b.t FROM a RIGHT JOIN b USING (k);
SELECT explained('SELECT count(*) FROM a JOIN b USING (k)', 'VERBOSE, FORMAT YAML');
RESET gpujoin.carry;
RESET gpujoin.force;

-- Joins of every kind. Those that ask for build rows in the end carry nothing, nor do those whose matches the backend decides.
SELECT kind, residual, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) WITH ORDINALITY AS kinds (kind, i), unnest(ARRAY['', 'AND a.g + b.g > 7', 'AND a.t || b.t <> ''b7''']) AS residual,
     compare_carried(format('SELECT a, b FROM a %s JOIN b ON a.k = b.k %s', kind, residual)) AS c
ORDER BY i, residual;
SELECT sublink, residual, c.*
FROM unnest(ARRAY['EXISTS', 'NOT EXISTS']) AS sublink, unnest(ARRAY['', 'AND a.g < b.g', 'AND a.t || b.t <> ''b7''']) AS residual,
     compare_carried(format('SELECT a FROM a WHERE %s (SELECT FROM b WHERE a.k = b.k %s)', sublink, residual)) AS c
ORDER BY sublink, residual;
SELECT * FROM compare_carried('SELECT a.id, a.t FROM a WHERE k IN (SELECT k FROM b) AND g IN (SELECT g FROM b WHERE b.g < 4)');
-- Each algorithm, on equalities and on ranges.
SET gpujoin.carry = on;
SELECT kind, condition, c.*
FROM unnest(ARRAY['INNER', 'LEFT']) AS kind, unnest(ARRAY['a.k = b.k', 'a.k = b.k AND a.id <= b.id', 'a.id BETWEEN b.id - 2 AND b.id + 1', 'a.id <> b.id AND a.k = b.k']) AS condition,
     format('SELECT a.*, b.* FROM a %s JOIN b ON %s', kind, condition) AS query, compare_algorithms(query, query) AS c ORDER BY kind, condition;
RESET gpujoin.carry;

-- Expressions over probe columns, keys among them, whole rows, system columns, and no column at all.
SELECT * FROM compare_carried('SELECT a.id * 2 + b.id, a.k, a.k + 1, coalesce(a.f8, -1), upper(a.t) || b.t, a.num / 3, a.u::text, a.ar[1], a.iv * 2 FROM a JOIN b USING (k)');
SELECT * FROM compare_carried('SELECT a.k, a.i8, a.i2, a.c, a.b, a.f4, b.k FROM a JOIN b ON a.k = b.k AND a.g = b.g');
SELECT * FROM compare_carried('SELECT a, a.ctid, a.tableoid, b.ctid FROM a JOIN b ON a.f4 = b.k');
SELECT * FROM compare_carried('SELECT 1 FROM a JOIN b USING (k)');
SELECT * FROM compare_carried('SELECT x.id, x.ar, y.t, z.na FROM a x JOIN b y ON x.k = y.k JOIN a z ON y.id = z.id');
SELECT * FROM compare_carried('SELECT x.grown, x.cs, b.t FROM (SELECT k, array_append(ar, 7) AS grown, int4out(id) AS cs FROM a OFFSET 0) x JOIN b USING (k)');

-- Wide rows, values in TOAST tables and a row larger than a block.
CREATE TABLE wide AS SELECT i AS k, CASE i % 50 WHEN 7 THEN repeat(md5(i::text), 200000) ELSE 'small ' || i END AS t, repeat('w', 1500 + i) AS w FROM generate_series(1, 400) AS i;
CREATE TABLE toasted (k integer, t text, n text);
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT i % 100, repeat(md5(i::text), 100), CASE WHEN i % 4 = 0 THEN repeat(md5(i::text), 200) END FROM generate_series(1, 300) AS i;
ANALYZE wide, toasted;
SELECT * FROM compare_carried('SELECT a.k, md5(a.t), a.w, md5(b.t) FROM wide a JOIN wide b USING (k)');
SELECT * FROM compare_carried('SELECT a.*, b.id FROM toasted a JOIN b USING (k)');
SELECT * FROM compare_carried('SELECT a.k, length(a.t), md5(a.n), b.id FROM toasted a LEFT JOIN b ON a.k = b.k AND b.id < 50');
SELECT * FROM compare_carried('SELECT md5(a.t), b.t FROM (SELECT k, t || ''x'' AS t FROM wide OFFSET 0) a JOIN b USING (k)');
SELECT * FROM compare_carried('SELECT a.t, b.n FROM toasted a JOIN toasted b USING (t)');

-- Columns of both sides that are more than a result may have: those of the probe side wait in the backend.
DO $$
BEGIN
    EXECUTE (SELECT 'CREATE TABLE many AS SELECT i AS k, ' || string_agg(format('CASE WHEN i %% %s <> 0 THEN i + %s END AS c%s', n % 7 + 1, n, n), ', ')
                    || ' FROM generate_series(1, 50) AS i' FROM generate_series(1, 900) AS n);
END $$;
ANALYZE many;
SELECT n, c.* FROM unnest(ARRAY[700, 900]) AS n,
     compare_carried((SELECT format('SELECT ARRAY[%s] FROM many a JOIN many b USING (k)', string_agg(format('a.c%1$s, b.c%1$s', i), ', ')) FROM generate_series(1, n) AS i)) AS c ORDER BY n;

-- Run again, left early, fetched piece by piece, and by several processes.
SELECT * FROM compare_carried('SELECT g, (SELECT sum(a.id) FROM a JOIN b USING (k) WHERE a.g = s.g AND a.t < ''ttttttt'') FROM generate_series(1, 4) AS s (g)');
SET gpujoin.force = on;
SET gpujoin.carry = on;
SELECT count(*) FROM (SELECT a.t AS x, b.t FROM a JOIN b USING (k) LIMIT 10) s;
BEGIN;
DECLARE c CURSOR FOR SELECT a.t = repeat('t', a.id % 90) AS same FROM a LEFT JOIN b USING (k) WHERE a.id % 3 <> 0;
FETCH 2 FROM c;
SET LOCAL gpujoin.carry = off;
MOVE 500 IN c;
FETCH 2 FROM c;
COMMIT;
-- The plan says whether it carries, not the setting when it runs.
PREPARE p AS SELECT count(*), sum(length(a.t)) FROM a JOIN b USING (k);
SET plan_cache_mode = force_generic_plan;
EXECUTE p;
SET gpujoin.carry = off;
EXECUTE p;
RESET plan_cache_mode;
RESET gpujoin.carry;
RESET gpujoin.force;
SET max_parallel_workers_per_gather = 2;
SET gpujoin.encode_cost = 1;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) WITH ORDINALITY AS kinds (kind, i), compare_carried(format('SELECT a.*, b.* FROM a %s JOIN b USING (k)', kind)) AS c ORDER BY i;
SELECT * FROM compare_carried('SELECT a.*, b.id FROM toasted a JOIN b USING (k)');

-- Rows of both sides in numbers for which engines partition.
RESET work_mem;
CREATE TABLE large AS SELECT i AS k, (i * 7919::bigint % 200000)::integer AS other, 'l' || i AS t FROM generate_series(1, 200000) AS i ORDER BY i * 104729::bigint % 200003;
ANALYZE large;
SELECT * FROM compare_carried('SELECT x.k, y.k AS y FROM large x JOIN large y ON x.k = y.other');
SELECT * FROM compare_carried('SELECT x.t, y.t AS y FROM large x JOIN large y ON x.k = y.other');
SET max_parallel_workers_per_gather = 0;
SELECT * FROM compare_carried('SELECT x.k, y.k AS y FROM large x JOIN large y ON x.k = y.other');
SELECT * FROM compare_carried('SELECT sum(x.k) FROM large x JOIN large y ON x.k = y.other');
DROP TABLE a, b, wide, toasted, many, large;
DROP FUNCTION compare_carried;
