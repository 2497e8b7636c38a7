-- Values of every length and alignment in rows that go through temporary files: short and long ones, compressed ones and such as lie outside
-- the table, with NULLs anywhere, also in more columns than a byte has bits.
\set ECHO none
\i sql/include/parallel.sql
\set ECHO all
CREATE SCHEMA types_spilled;
SET search_path = types_spilled, public;
CREATE TYPE pair AS (a int, b text);
CREATE FUNCTION or_null(i int, every int, value anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN i % every > 0 THEN value END';
CREATE TABLE wide AS SELECT 'key of the row ' || lpad((i % 28000)::text, 20, '-') AS k, or_null(i, 2, 'c'::"char") AS c, or_null(i, 3, i::int2) AS i2,
    or_null(i, 5, i % 2 = 0) AS b, or_null(i, 7, -i) AS i4, or_null(i, 11, 's' || i) AS s, or_null(i, 13, i * -10000000000) AS i8,
    or_null(i, 2, repeat('long ', 10 + i % 30)) AS l, or_null(i, 3, i / 7.0) AS n, or_null(i, 5, ('n' || i)::name) AS name, or_null(i, 7, (i / 3.0)::float4) AS f4,
    or_null(i, 11, make_interval(days => i, secs => i)) AS span, or_null(i, 2, timestamptz '2020-01-01 UTC' + make_interval(secs => i)) AS at,
    or_null(i, 3, ARRAY[i, NULL, i + 1]) AS a4, or_null(i, 5, ARRAY[(i / 3.0)::float8]) AS a8, or_null(i, 7, md5(i::text)::uuid) AS u, or_null(i, 2, (i / 3.0)::float8) AS f8,
    or_null(i, 3, row(i, 'in ' || i)::pair) AS p, or_null(i, 5, date '2020-01-01' + i) AS d, or_null(i, 7, B'1011' || (i % 8)::bit(3)) AS bits,
    or_null(i, 11, point(i, -i)::text::point) AS pt, or_null(i, 2, i::oid) AS o
  FROM generate_series(1, 30000) AS i;
ALTER TABLE wide ADD COLUMN big text;
ALTER TABLE wide ALTER COLUMN big SET STORAGE EXTERNAL;
UPDATE wide SET big = repeat(k, 80) WHERE i4 % 1000 = 0;
ALTER TABLE wide ADD COLUMN packed text;
UPDATE wide SET packed = repeat('packed ' || i4, 500) WHERE i4 % 1000 = -1;
ANALYZE wide;
SELECT count(big) AS outside, count(packed) AS compressed, pg_relation_size(reltoastrelid) > 0 AS is_outside FROM wide, pg_class
  WHERE oid = 'wide'::regclass GROUP BY reltoastrelid;
SET gpujoin.force = on;
SET gpujoin.max_join_memory = '1MB';
SET work_mem = '1MB';
SET max_parallel_workers_per_gather = 0;
\set query 'SELECT v, w FROM wide AS v LEFT JOIN wide AS w ON v.k = w.k AND w.i4 % 3 < 2'
-- What is written: of both inputs all rows, whose values take more than 300 bytes each.
CREATE FUNCTION figures(query text, OUT is_parallel boolean, OUT parts integer, OUT passes integer, OUT mb bigint) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    node json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    node := jsonb_path_query_first(plan::jsonb, 'strict $.** ? (exists (@."Partitions"))');
    is_parallel := node->>'Parallel Aware';
    parts := node->>'Partitions';
    passes := node->>'Passes';
    mb := (node->>'Spilled')::bigint / 1024;
END $$;
SELECT is_parallel, parts, passes, mb BETWEEN 18 AND 30 AS mb FROM figures(:'query');
SELECT * FROM compare(:'query');
SELECT * FROM compare('SELECT v.big, w.* FROM wide AS v FULL JOIN wide AS w ON v.k = w.k AND v.i8 IS NOT NULL');
SELECT * FROM compare('SELECT length(v.packed), length(w.big), v.c, w.b FROM wide AS v JOIN wide AS w USING (k)');
-- Long values of eight bytes' alignment, empty ones, without length words, and rows larger than what is read of a file at a time.
SELECT * FROM compare('SELECT v.l8, v.e, textin(v.cs), v.huge, w.l8 FROM (SELECT k, array_fill(i8::float8, ARRAY[20 + coalesce(i2, 0) % 2]) AS l8, left(s, i2 % 2) AS e,
    textout(s) AS cs, CASE WHEN i4 % 5000 = 0 THEN repeat(k, 6000) END AS huge FROM wide OFFSET 0) AS v JOIN (SELECT k, array_fill(i8, ARRAY[17]) AS l8 FROM wide OFFSET 0) AS w USING (k)');
-- A build side that may not be read twice is copied while it is read, and then divided.
CREATE SEQUENCE calls;
SELECT parts, passes FROM figures('SELECT count(w.n), count(v.i4) FROM wide AS v LEFT JOIN (SELECT k, nextval(''calls'') AS n FROM wide OFFSET 0) AS w USING (k)');
SELECT last_value FROM calls;
-- Of all processes.
SET max_parallel_workers_per_gather = 2;
SET gpujoin.force = on;
SELECT is_parallel, parts, passes, mb BETWEEN 18 AND 30 AS mb FROM figures(:'query');
SELECT * FROM compare_parallel('SELECT v.s, v.n, v.packed, w.span, w.c, w.big FROM wide AS v JOIN wide AS w USING (k)');
DROP SCHEMA types_spilled CASCADE;
