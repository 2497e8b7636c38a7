-- Aggregates above joins by groups: keys of all types and of several tables, expressions, NULL, values that are equal and look
-- different, a primary key with columns that depend on it, none, many groups, and what sorts, limits and joins them. The
-- same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\set ECHO all
CREATE TYPE mood AS ENUM ('low', 'medium', 'high');
CREATE DOMAIN small AS integer CHECK (VALUE < 1000);
CREATE TABLE fact AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 100 END AS a, CASE WHEN i % 17 <> 0 THEN i % 60 END AS b, i * 37 % 1009 AS v,
    CASE WHEN i % 7 <> 0 THEN (i % 5)::int2 END AS i2, CASE WHEN i % 11 <> 0 THEN i % 9 - 4 END AS i4, (i % 4) * 4294967296 - 1 AS i8, (i % 3)::oid AS o, i % 2 = 0 AS bo, chr(65 + i % 3)::"char" AS c,
    (CASE i % 5 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' WHEN 3 THEN '1.5' ELSE '-Infinity' END)::float4 AS f4, (CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' END)::float8 AS f8,
    (CASE i % 5 WHEN 0 THEN '1.0' WHEN 1 THEN '1.00' WHEN 2 THEN '-1' WHEN 3 THEN 'NaN' END)::numeric AS nu, (i % 6 / 2.0)::numeric(9, 2) AS n2, CASE WHEN i % 23 <> 0 THEN '2024-01-01'::date + i % 6 END AS d,
    '2024-01-01'::timestamp + i % 3 * interval '1 h' AS ts, '2024-01-01 UTC'::timestamptz + i % 4 * interval '1 h' AS tz, '00:00'::time + i % 2 * interval '1 s' AS ti, i % 3 * interval '1 day' + (i % 2 * 24 - 24) * interval '1 h' AS iv,
    CASE WHEN i % 19 <> 0 THEN 't' || i % 7 END AS t, ('v' || i % 3)::varchar(5) AS vc, ('p' || i % 4 || repeat(' ', i % 3))::bpchar AS bp, ('c' || i % 2)::char(6) AS ch, ('n' || i % 3)::name AS na, repeat('wide ' || i % 3, 900) AS wide,
    md5((i % 4)::text)::uuid AS u, decode(md5((i % 3)::text), 'hex') AS by, (ARRAY['low', 'medium', 'high'])[1 + i % 3]::mood AS e, ARRAY[i % 2, NULL] AS ar, to_jsonb(i % 3) AS j, (i % 3)::small AS sm, ('10.0.0.' || i % 2)::inet AS ip
FROM generate_series(1, 1500) AS i;
CREATE TABLE d1 AS SELECT i AS k, CASE WHEN i % 7 <> 0 THEN i % 12 END AS x, 'name ' || i % 9 AS name, 'key ' || i AS label FROM generate_series(0, 79) AS i;
CREATE TABLE d2 AS SELECT CASE WHEN i % 11 <> 0 THEN i % 50 END AS k, i AS w, 'w' || i % 3 AS name FROM generate_series(1, 120) AS i;
CREATE TABLE d3 AS SELECT i AS x, i % 4 AS m, 'label ' || i AS label FROM generate_series(0, 9) AS i;
CREATE TABLE nothing (LIKE d1);
ALTER TABLE d1 ADD PRIMARY KEY (k);
ANALYZE fact, d1, d2, d3, nothing;
CREATE FUNCTION plain(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';

-- How they look.
SET gpujoin.force = on;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT x, name, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY x, name;
EXPLAIN (COSTS OFF) SELECT d1.k, d1.label, d3.label, count(*), sum(v) FROM fact JOIN d1 ON a = d1.k JOIN d3 USING (x) GROUP BY d1.k, d3.label ORDER BY sum(v) DESC LIMIT 3;
RESET gpujoin.force;

-- A key of each type, alone and beside one of another table. Of equal values that look different any may stand for the group.
SELECT key, c.* FROM unnest(ARRAY['i2', 'i4', 'i8', 'o', 'bo', 'c', 'f4 + 0', 'f8 + 0', 'n2', 'd', 'ts', 'tz', 'ti', 't', 'vc', 'bp', 'ch', 'na', 'wide', 'u', '"by"', 'e', 'ar', 'j', 'sm', 'ip']) WITH ORDINALITY AS keys (key, n),
    unnest(ARRAY['', ', x']) AS other, compare_nodes(format('SELECT md5((%1$s)::text)%2$s, count(*), sum(v), min(b), avg(w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY %1$s%2$s', key, other)) AS c ORDER BY n, other;
SELECT * FROM compare_all(ARRAY['SELECT f4 = 0, f4 = ''NaN'', count(*), sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY f4', 'SELECT f8 = 0, f8 = ''NaN'', count(*), sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY f8', 'SELECT trim_scale(nu), count(*), sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY nu',
    'SELECT extract(epoch FROM iv), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY iv', 'SELECT f4 = 0, f8 = 0, trim_scale(nu), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY f4, f8, nu', 'SELECT rtrim(bp), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY bp', 'SELECT length(bp), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY bp::text, length(bp)']);
-- Keys of several tables, of expressions, of both sides of a join's condition, of what an outer join leaves out; constants; the same twice.
SELECT * FROM compare_all(ARRAY[
    'SELECT i2, x, d2.name, count(*), sum(v) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY i2, x, d2.name', 'SELECT i2, i4, x, m, count(*), max(w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k JOIN d3 USING (x) GROUP BY i2, i4, x, m', 'SELECT a, d1.k, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY a, d1.k', 'SELECT d1.k, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY d1.k', 'SELECT a, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY a',
    'SELECT fact.b, d1.x, sum(v) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY d2.k, fact.b, d1.x', 'SELECT x, count(*), count(d1.k) FROM fact LEFT JOIN d1 ON a = d1.k GROUP BY x', 'SELECT d1.k IS NULL, d2.name, count(*), sum(w) FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k GROUP BY 1, 2', 'SELECT coalesce(x, -1), count(*) FROM fact LEFT JOIN d1 ON a = d1.k GROUP BY coalesce(x, -1)',
    'SELECT v % 10, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY v % 10', 'SELECT i4 + x, sum(i4 * x) FROM fact JOIN d1 ON a = d1.k GROUP BY i4 + x', 'SELECT left(t, 1) || d2.name, count(*) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY left(t, 1) || d2.name', 'SELECT CASE WHEN x > 5 THEN ''large'' WHEN x > 0 THEN ''small'' END, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY 1', 'SELECT plain(x), sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY plain(x)',
    'SELECT extract(year FROM d), extract(month FROM ts), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY 1, 2', 'SELECT date_trunc(''month'', d), date_trunc(''hour'', ts), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY 1, 2', 'SELECT ''one'', sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY 1', 'SELECT sum(v) FROM fact JOIN nothing ON a = nothing.k GROUP BY ()', 'SELECT x, x AS y, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY x, y',
    'SELECT i2, i2::int4, i2::int8, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY i2, i2::int4, i2::int8', 'SELECT t::bpchar, vc::text, o::int8, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY 1, 2, 3', 'SELECT ROW(i2, x), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY ROW(i2, x)', 'SELECT d3, count(*) FROM fact JOIN d1 ON a = d1.k JOIN d3 USING (x) GROUP BY d3', 'SELECT i2 + (random() * 0)::int, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY 1',
    'SELECT (SELECT max(d3.m) FROM d3 WHERE d3.x = d1.x), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY 1', 'SELECT t COLLATE "C", count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY t COLLATE "C"', 'SELECT s.lit, s.y, count(*) FROM fact LEFT JOIN (SELECT k, coalesce(x, 7) AS y, ''lit'' AS lit FROM d1) s ON a = s.k GROUP BY s.lit, s.y']);
-- A primary key, and columns that depend on it; all rows a group of their own; rows without aggregates.
SELECT * FROM compare_all(ARRAY[
    'SELECT d1.k, d1.name, d1.label, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY d1.k', 'SELECT d1.*, count(*) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY d1.k', 'SELECT d1.label, d2.name, sum(w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY d1.k, d2.name', 'SELECT d1.k, d1.x + 1, max(v) - d1.x FROM fact RIGHT JOIN d1 ON a = d1.k GROUP BY d1.k HAVING d1.x > 3', 'SELECT p.k, q.name, count(*) FROM fact JOIN d1 p ON a = p.k JOIN d1 q ON b = q.k GROUP BY p.k, q.k',
    'SELECT fact.id, count(*), sum(w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY fact.id', 'SELECT x, d2.name FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY x, d2.name', 'SELECT DISTINCT x, d2.name FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT x FROM fact JOIN d1 ON a = d1.k GROUP BY x HAVING x > 4', 'SELECT i2, sum(v) FROM fact WHERE EXISTS (SELECT FROM d1 WHERE a = d1.k) GROUP BY i2', 'SELECT i2, t, sum(v) FROM fact WHERE NOT EXISTS (SELECT FROM d1 WHERE a = d1.k) GROUP BY i2, t']);
-- No rows: no group, or one of all.
SELECT * FROM compare_all(ARRAY['SELECT x, sum(v) FROM fact JOIN nothing ON a = nothing.k GROUP BY x', 'SELECT sum(v), count(*), max(t) FROM fact JOIN nothing ON a = nothing.k', 'SELECT x, sum(v) FROM nothing JOIN fact ON a = nothing.k JOIN d2 ON b = d2.k GROUP BY x', 'SELECT nothing.x, count(*) FROM fact LEFT JOIN nothing ON a = nothing.k GROUP BY nothing.x', 'SELECT x, sum(v) FROM fact JOIN d1 ON a = d1.k WHERE v < 0 GROUP BY x', 'SELECT i2, count(*) FROM fact WHERE EXISTS (SELECT FROM nothing WHERE a = nothing.k) GROUP BY i2']);
-- What sorts and limits groups, and joins them.
SELECT * FROM compare_all(ARRAY[
    'SELECT x, name, sum(v) AS total FROM fact JOIN d1 ON a = d1.k GROUP BY x, name ORDER BY total DESC, x, name LIMIT 5', 'SELECT x, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY x ORDER BY x NULLS FIRST LIMIT 3 OFFSET 1', 'SELECT t, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY t ORDER BY t DESC FETCH FIRST 2 ROWS WITH TIES', 'SELECT x, name, total, rank() OVER (PARTITION BY x ORDER BY total DESC) FROM (SELECT x, name, sum(v) AS total FROM fact JOIN d1 ON a = d1.k GROUP BY x, name) s',
    'SELECT x, sum(n) FROM (SELECT x, t, count(*) AS n FROM fact JOIN d1 ON a = d1.k GROUP BY x, t) s GROUP BY x', 'SELECT d3.label, s.total FROM (SELECT x, sum(v) AS total FROM fact JOIN d1 ON a = d1.k GROUP BY x) s RIGHT JOIN d3 USING (x)', 'SELECT DISTINCT count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY x', 'SELECT x, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY x UNION SELECT i4, sum(v) FROM fact JOIN d2 ON b = d2.k GROUP BY i4',
    'SELECT x, count(DISTINCT t), array_agg(DISTINCT i2) FROM fact JOIN d1 ON a = d1.k GROUP BY x', 'SELECT x, string_agg(t, '','' ORDER BY t) FROM fact JOIN d1 ON a = d1.k GROUP BY x', 'SELECT o.k, (SELECT max(n) FROM (SELECT d2.name, count(*) AS n FROM fact JOIN d2 ON b = d2.k WHERE fact.a = o.k GROUP BY d2.name) s) FROM d1 o WHERE o.k < 20']);
SET enable_hashagg = off;
SELECT * FROM compare_all(ARRAY['SELECT x, t, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY x, t', 'SELECT x, t, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY x, t ORDER BY t DESC, x', 'SELECT d1.k, d1.label, count(*) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY d1.k ORDER BY d1.k']);
RESET enable_hashagg;
SET enable_sort = off;
SELECT * FROM compare_all(ARRAY['SELECT x, t, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY x, t', 'SELECT ar, j, sum(v) FROM fact JOIN d1 ON a = d1.k GROUP BY ar, j']);
RESET enable_sort;
-- Partitions, and groups of each.
CREATE TABLE parts (LIKE fact) PARTITION BY HASH (a);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts TABLE fact;
CREATE TABLE keys (LIKE d1) PARTITION BY HASH (k);
CREATE TABLE keys_0 PARTITION OF keys FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE keys_1 PARTITION OF keys FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO keys TABLE d1;
ANALYZE parts, keys;
SELECT * FROM compare_all(ARRAY['SELECT x, sum(v) FROM parts JOIN d1 ON a = d1.k GROUP BY x', 'SELECT parts.tableoid::regclass, count(*) FROM parts JOIN d1 ON a = d1.k GROUP BY parts.tableoid']);
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT * FROM compare_all(ARRAY['SELECT x, sum(v) FROM parts JOIN keys ON a = keys.k GROUP BY x', 'SELECT a, sum(v), count(*) FROM parts JOIN keys ON a = keys.k GROUP BY a', 'SELECT keys.k, avg(v) FROM parts RIGHT JOIN keys ON a = keys.k GROUP BY keys.k', 'SELECT sum(v) FROM parts JOIN keys ON a = keys.k JOIN d2 ON b = d2.k']);
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;

-- 200,000 groups, and one that has nearly all rows.
CREATE TABLE many AS SELECT i AS id, i % 3 AS k, CASE WHEN i % 100 <> 0 THEN 0 ELSE i END AS hot, i % 50000 AS v FROM generate_series(1, 200000) AS i;
ANALYZE many;
CREATE FUNCTION compare_many(queries integer) RETURNS TABLE (n bigint, joins bigint, aggregates bigint, core_joins bigint,
    "rows" integer, missing bigint, extra bigint, error text, other_error text) LANGUAGE sql AS $$
SELECT * FROM compare_all((ARRAY[
    'SELECT count(*), sum(total), sum(total * (id % 1000)), sum(n) FROM (SELECT id, sum(v) AS total, count(*) AS n FROM many JOIN d3 ON k = d3.x GROUP BY id) s', 'SELECT count(*), sum(total % 1000 * n) FROM (SELECT hot, m, sum(v) AS total, count(*) AS n FROM many JOIN d3 ON k = d3.x GROUP BY hot, m) s',
    'SELECT id, m, sum(v) FROM many JOIN d3 ON k = d3.x GROUP BY id, m ORDER BY 3 DESC, id LIMIT 5'])[:queries])
$$;
SELECT * FROM compare_many(3);
SET work_mem = '256kB';
SELECT * FROM compare_many(1);
RESET work_mem;
RESET max_parallel_workers_per_gather;

-- Grouped by a constant, where core would not hash.
SET enable_hashagg = off;
SELECT * FROM compare_all(ARRAY['SELECT i4, sum(v) FROM fact JOIN d1 ON a = d1.k WHERE i4 = 3 GROUP BY i4', 'SELECT i4, x, sum(v) FROM fact JOIN d1 ON a = d1.k WHERE i4 = 3 GROUP BY i4, x', 'SELECT i4, sum(v) FROM fact JOIN d1 ON a = d1.k WHERE i4 = 3 AND v < 0 GROUP BY i4']);
RESET enable_hashagg;
-- Run again with another Param: what is computed with build rows is computed anew.
SELECT * FROM compare_all(ARRAY['SELECT o.x, (SELECT string_agg(big::text || n, '','' ORDER BY big) FROM (SELECT d1.x > o.x AS big, count(*) AS n FROM fact JOIN d1 ON a = d1.k GROUP BY 1) s) FROM d3 o',
    'SELECT o.x, (SELECT count(*) FILTER (WHERE coalesce(d1.x > o.x, false)) FROM fact JOIN d1 ON a = d1.k) FROM d3 o', 'SELECT o.x, (SELECT sum(d1.x + o.x) FROM fact JOIN d1 ON a = d1.k) FROM d3 o',
    'SELECT o.x, (SELECT sum(d2.w) FROM fact JOIN d1 ON a = d1.k LEFT JOIN d2 ON d2.k = d1.x AND (coalesce(d1.x > o.x, false) OR d2.w > 70)) FROM d3 o',
    'SELECT o.x, (SELECT min(s) FROM (SELECT fact.id + d2.w AS s FROM fact JOIN d1 ON a = d1.k LEFT JOIN d2 ON d2.k = d1.x AND (coalesce(d1.x > o.x, false) OR d2.w > 70) OFFSET 0) z) FROM d3 o']);
-- With workers, the leader among them or not.
\set ECHO none
\i sql/include/parallel.sql
\set ECHO all
CREATE FUNCTION compare_in_parallel(leader boolean) RETURNS TABLE (n bigint, joins bigint, aggregates bigint, core_joins bigint,
    "rows" integer, missing bigint, extra bigint, error text, other_error text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('parallel_leader_participation', leader::text, true);
    RETURN QUERY SELECT * FROM compare_all(ARRAY[
        'SELECT x, name, sum(v), avg(i8) FROM fact JOIN d1 ON a = d1.k GROUP BY x, name', 'SELECT t, d2.name, count(*), max(d) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY t, d2.name', 'SELECT d1.k, d1.label, count(*) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY d1.k ORDER BY d1.k', 'SELECT x, count(*) FROM fact LEFT JOIN d1 ON a = d1.k GROUP BY x',
        'SELECT f8 = 0, trim_scale(nu), count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY f8, nu', 'SELECT fact.id, sum(w) FROM fact JOIN d2 ON b = d2.k GROUP BY fact.id', 'SELECT x, sum(v) FROM parts JOIN d1 ON a = d1.k GROUP BY x', 'SELECT x, sum(v) FROM fact JOIN nothing ON a = nothing.k GROUP BY x', 'SELECT x, name, sum(v) AS total FROM fact JOIN d1 ON a = d1.k GROUP BY x, name ORDER BY total DESC, x, name LIMIT 5']);
END $$;
SELECT * FROM compare_in_parallel(true);
SELECT * FROM compare_in_parallel(false);
SELECT * FROM compare_many(1);
DROP FUNCTION compare_in_parallel, compare_many, plain;
DROP TABLE fact, d1, d2, d3, nothing, parts, keys, many;
DROP TYPE mood;
DROP DOMAIN small;
