-- gpujoin.force decides how relations are joined, not in which order: costs count as ever.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA forced;
SET search_path = forced, public;
-- The most rows that a node of a query's plan is expected to give.
CREATE FUNCTION largest_result(query text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN (SELECT max(rows[1]::float8) FROM regexp_matches(plan::text, '"Plan Rows": ([0-9]+)', 'g') AS rows);
END $$;
CREATE FUNCTION core_joins(query text) RETURNS bigint LANGUAGE sql AS
    $$ SELECT count(*) FROM plan_of(query) AS line WHERE line ~ 'Hash Join|Merge Join|Nested Loop' $$;
-- Each row of a has 50 partners in b; c and d leave few of them. c can only be joined when a and b are there: if it came
-- next, its result would be small and cheap to go on with, but not to get.
CREATE TABLE a AS SELECT i AS id, i % 100 AS many, i % 1000 AS k FROM generate_series(1, 5000) i;
CREATE TABLE b AS SELECT i AS id, i % 100 AS many, i % 1000 AS k FROM generate_series(1, 5000) i;
CREATE TABLE c AS SELECT i * 1000 AS total, i AS x FROM generate_series(1, 5) i;
CREATE TABLE d AS SELECT i AS k, i AS y FROM generate_series(1, 50) i;
CREATE TABLE e AS SELECT i AS y FROM generate_series(1, 50) i;
ANALYZE a, b, c, d, e;
CREATE TABLE queries (query text);
INSERT INTO queries VALUES
    ('SELECT count(*) FROM a, b, d WHERE a.many = b.many AND a.k = d.k'),
    ('SELECT count(*) FROM a, b, c, d WHERE a.many = b.many AND a.id + b.id = c.total AND a.k = d.k'),
    ('SELECT count(*) FROM d, c, b, a WHERE a.many = b.many AND a.id + b.id = c.total AND a.k = d.k'),
    ('SELECT count(*) FROM a, b, c, d, e WHERE a.many = b.many AND a.id + b.id = c.total AND a.k = d.k AND d.y = e.y'),
    ('SELECT count(*) FROM a, b, c WHERE a.many = b.many AND a.id + b.id = c.total AND a.k IN (SELECT k FROM d)');
SET gpujoin.startup_cost = 0;
SET gpujoin.force = on;
SELECT query, largest_result(query), core_joins(query) FROM queries;
-- No GPU Join looks dates up among times with a zone. If one came last, for the outer join, all rows would be multiplied.
CREATE TABLE days AS SELECT i AS id, date '2024-01-01' + i % 50 AS day, timestamp '2024-01-01' + i % 30 * interval '1 day' AS at FROM generate_series(1, 400) i;
CREATE TABLE times AS SELECT date '2024-01-01' + i % 60 AS day, timestamptz '2024-01-01' + i % 70 * interval '1 day' AS at FROM generate_series(1, 400) i;
ANALYZE days, times;
SELECT largest_result(query) < 1000000 AS multiplies_few, EXISTS (SELECT FROM plan_of(query) AS line WHERE line ~ 'GPU Join') AS has_gpu_join
    FROM (VALUES ('SELECT count(*) FROM (SELECT coalesce(y.day, x.day) AS day, coalesce(y.at, x.at) AS at FROM days x LEFT JOIN days y ON x.id = y.id AND y.id % 3 <> 1) s
        JOIN times t ON t.at = s.day JOIN times u ON s.at = coalesce(u.at, u.at) JOIN times v ON t.day <= v.at')) AS q (query);
SET gpujoin.force = off;
SET gpujoin.enabled = off;
SELECT query, largest_result(query) FROM queries;
RESET gpujoin.enabled;
SET client_min_messages = warning;
DROP SCHEMA forced CASCADE;
