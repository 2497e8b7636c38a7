-- Aggregates above joins: count, sum, avg, min and max of integers, dates and timestamps, of expressions of these, with FILTER,
-- over every kind of join; errors in arguments, which only rows that the joins give can raise; and what is left to core's
-- aggregates. The same rows and errors as core's.
\set ECHO none
\i sql/include/nodes.sql
\set ECHO all
CREATE TABLE fact AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 100 END AS a, CASE WHEN i % 17 <> 0 THEN i % 60 END AS b, (i % 7)::int2 AS g,
    CASE WHEN i % 11 <> 0 THEN (i * 37 % 20011 - 10000)::int2 END AS i2, CASE WHEN i % 5 <> 0 THEN i * 1009 % 2000003 - 1000000 END AS i4,
    CASE WHEN i % 3 <> 0 THEN (i * 100003 - 90000000)::int8 * 40000000001 END AS i8, CASE WHEN i % 19 <> 0 THEN '2024-01-01'::date + i * 7 % 1000 END AS day,
    '2024-01-01'::timestamp + i * 7919 % 100000 * interval '1.5 s' AS at, '2024-01-01 UTC'::timestamptz - i * 31 % 5000 * interval '1 min' AS tz, (i % 4)::int4 AS q, i % 2 = 0 AS even
FROM generate_series(1, 2000) AS i;
CREATE TABLE d1 AS SELECT i AS k, CASE WHEN i % 7 <> 0 THEN i % 12 END AS x, 'name ' || i % 9 AS name, (i * 31 % 64)::int2 AS z FROM generate_series(0, 79) AS i;
CREATE TABLE d2 AS SELECT CASE WHEN i % 11 <> 0 THEN i % 50 END AS k, i AS w, i * 1000000007::int8 AS w8 FROM generate_series(1, 120) AS i;
CREATE TABLE d3 AS SELECT i AS x, i % 4 AS m, '2025-01-01'::date + i AS due FROM generate_series(0, 9) AS i;
CREATE TABLE nothing (LIKE d1);
CREATE TABLE no_fact (LIKE fact);
ALTER TABLE d1 ADD PRIMARY KEY (k);
ANALYZE fact, d1, d2, d3, nothing, no_fact;
CREATE FUNCTION plain(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';

-- How they look.
SET gpujoin.force = on;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT count(*), sum(i4) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k;
EXPLAIN (COSTS OFF, VERBOSE) SELECT name, count(i2), avg(i4 - w) FILTER (WHERE x > 3), max(day) FROM fact JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k GROUP BY name HAVING count(*) > 10 ORDER BY name;
RESET gpujoin.force;

-- Each aggregate of each type, over a chain of each kind of join, in groups and of all rows.
CREATE VIEW joins AS SELECT * FROM unnest(ARRAY['fact JOIN d1 ON a = d1.k', 'fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'fact LEFT JOIN d2 ON b = d2.k LEFT JOIN d3 ON d3.x = d2.w % 12',
    'fact JOIN d2 ON b = d2.k WHERE EXISTS (SELECT FROM d1 WHERE a = d1.k)', 'fact WHERE NOT EXISTS (SELECT FROM d1 WHERE a = d1.k) AND NOT EXISTS (SELECT FROM d2 WHERE b = d2.k)',
    'd1 LEFT JOIN fact ON a = d1.k', 'fact JOIN nothing ON a = nothing.k JOIN d2 ON b = d2.k', 'no_fact JOIN d1 ON a = d1.k']) WITH ORDINALITY AS joins (source, n);
CREATE FUNCTION all_aggregates(kind text) RETURNS text LANGUAGE sql AS $$
SELECT string_agg(format('%s(%s)', aggregate, argument), ', ')
FROM unnest(CASE kind WHEN 'numbers' THEN ARRAY['count', 'sum', 'avg', 'min', 'max'] ELSE ARRAY['count', 'min', 'max'] END) AS aggregate,
     unnest(CASE kind WHEN 'numbers' THEN ARRAY['i2', 'i4', 'i8'] ELSE ARRAY['day', 'at', 'tz'] END) AS argument
$$;
SELECT n, groups, kind, c.* FROM joins, unnest(ARRAY['', 'g', 'even, q']) WITH ORDINALITY AS of (groups, o), unnest(ARRAY['numbers', 'times']) AS kind,
    compare_nodes(format('SELECT %1$s count(*), %2$s FROM %3$s %4$s', groups || left(',', length(groups)), all_aggregates(kind), source, left('GROUP BY ', 9 * length(groups)) || groups)) AS c ORDER BY n, o, kind;

-- Expressions: of columns of one table and of several, constants, CASE; the same argument twice; none at all.
SELECT * FROM compare_all(ARRAY[
    'SELECT sum(i4 * 3), sum(i4 * x), sum(i4::int8 * i2), avg(i4 - w), sum(w - i2), sum(i2 + z) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT g, sum(w8 - w), max(w * x), min(w + i2), avg(w8 / 1000), sum(w % 7) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g',
    'SELECT q, sum(CASE WHEN x > 5 THEN i4 ELSE 0 END), sum(CASE WHEN i4 > 0 THEN 1 END), max(CASE name WHEN ''name 1'' THEN w WHEN ''name 2'' THEN -w END) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY q', 'SELECT sum(1), count(1), count(NULL), sum(NULL::int4), max(7), avg(2), min(''2024-05-05''::date) FROM fact JOIN d1 ON a = d1.k',
    'SELECT g FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT sum(i4), sum(i4) + 1, avg(i4), sum(i4) / count(i4), count(*) - count(i4) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(-i4), sum(abs(i4)), sum(coalesce(i4, x, -1)), max(greatest(i4, w)), min(least(i2, x)), sum(nullif(q, 2)), sum(i4 & 255), sum(w << 2) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k',
    'SELECT max(fact.day + x), min(fact.day - 5), max(d3.due - fact.day), sum(fact.day - d3.due), max(at + interval ''1 day''), min(at - at), max(d3.due::timestamp) FROM fact JOIN d1 ON a = d1.k JOIN d3 USING (x)', 'SELECT sum(extract(year FROM day)), count(extract(month FROM at)), max(date_trunc(''month'', at)), min(date_trunc(''year'', tz)) FROM fact JOIN d1 ON a = d1.k',
    'SELECT count(d1), count(d2.*), count(d1.k), count(fact) FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k', 'SELECT sum(x) + sum(w) * 2, max(x) - min(x) FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k', 'SELECT sum(i8), sum(i8::numeric), avg(i8), sum(w8 * 3), sum(i8 - w8) FROM fact JOIN d2 ON b = d2.k',
    'SELECT sum(s.y), count(s.lit), max(s.z) FROM fact LEFT JOIN (SELECT k, coalesce(x, 7) AS y, 1 AS lit, z FROM d1) s ON a = s.k LEFT JOIN d2 ON b = d2.k', 'SELECT sum(plain(x)), sum(length(name)), max(plain(w)) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT sum((SELECT max(m) FROM d3 WHERE d3.x = d1.x)), count(*) FROM fact JOIN d1 ON a = d1.k',
    'SELECT sum(i4 + (random() * 0)::int4), count(random() >= 0) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(even::int4), bool_and(even), bool_or(x > 3), every(w > 0), bit_and(w), bit_or(i4) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k']);
-- Variances, and their roots, of int2 and int4: of many values, of the largest, of one, of none, and of NULLs alone.
SELECT * FROM compare_all(ARRAY[
    'SELECT stddev(i4), stddev_samp(i4), stddev_pop(i4), variance(i4), var_samp(i4), var_pop(i4), stddev(i2), var_pop(i2), avg(i4), sum(i4) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT g, q, stddev_samp(i4), var_samp(i2), stddev_pop(w), count(i4) FROM fact JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k GROUP BY g, q', 'SELECT id, stddev(i4), var_pop(i4), var_samp(i2), stddev_pop(i2) FROM fact JOIN d1 ON a = d1.k GROUP BY id',
    'SELECT g, stddev(i4) FILTER (WHERE i4 > 900000), var_pop(i2) FILTER (WHERE false), stddev_samp(x), variance(i4 + x) FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT stddev(i4), var_pop(i4) FROM no_fact JOIN d1 ON a = d1.k', 'SELECT q, var_pop(CASE WHEN even THEN 2147483647 ELSE -2147483648 END), stddev(CASE WHEN even THEN 32767::int2 ELSE (-32768)::int2 END), variance(NULL::int4) FROM fact JOIN d1 ON a = d1.k GROUP BY q',
    'SELECT g, stddev(x) / avg(x), var_samp(w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g HAVING stddev(w) > 1', 'SELECT stddev(i8), var_pop(i4::numeric), stddev(i4::float8) IS NULL FROM fact JOIN d1 ON a = d1.k']);
-- Whether all or some are true.
SELECT * FROM compare_all(ARRAY[
    'SELECT bool_and(even), bool_or(even), every(x > 3), bool_or(w > 1000), bool_and(i4 > 0 OR x = 1) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT id, bool_and(i4 > 0), bool_or(x > 5), every(even) FILTER (WHERE q = 1), bool_and(NOT even), bool_or(NULL) FROM fact JOIN d1 ON a = d1.k GROUP BY id',
    'SELECT g, bool_and(x > 0), bool_or(x > 10), bool_and(w > 3 AND x IS NOT NULL) FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k GROUP BY g HAVING bool_or(even)', 'SELECT bool_and(even), bool_or(x > 1) FROM no_fact JOIN d1 ON a = d1.k']);
-- Where rows have a number that the engine cannot take.
CREATE TABLE escaping AS SELECT i AS id, i % 100 AS a, i % 2 = 0 AS even, CASE WHEN i % 3 > 0 THEN 't' || i % 7 END AS t, (CASE WHEN i % 50 = 5 THEN 'NaN' ELSE i::numeric END)::numeric(12, 2) AS n FROM generate_series(1, 1000) AS i;
ANALYZE escaping;
SELECT * FROM compare_all(ARRAY[
    'SELECT bool_and(even), bool_or(even), stddev(a), sum(n) FROM escaping JOIN d1 ON a = d1.k', 'SELECT x, bool_and(even), every(id > 5), var_pop(id), sum(n) FROM escaping JOIN d1 ON a = d1.k GROUP BY x', 'SELECT x, bool_or(CASE WHEN id > 3 THEN even END), bool_and(id > x OR even), stddev_samp(id + x), sum(n) FROM escaping JOIN d1 ON a = d1.k GROUP BY x']);
-- What of such a row comes back has no texts: they are counted, and compared through a CASE.
SELECT * FROM compare_all(ARRAY[
    'SELECT count(t), sum(n) FROM escaping JOIN d1 ON a = d1.k', 'SELECT x, count(t), count(t) FILTER (WHERE even), count(CASE WHEN id > 100 THEN t END), count(escaping.ctid), sum(n) FROM escaping JOIN d1 ON a = d1.k GROUP BY x', 'SELECT t, count(t), count(*), sum(n) FROM escaping JOIN d1 ON a = d1.k GROUP BY t',
    'SELECT count(*) FILTER (WHERE CASE WHEN even THEN t ELSE ''t4'' END = ''t4''), sum(CASE WHEN ''t2'' <> CASE WHEN id > 100 THEN CASE WHEN even THEN ''t1'' ELSE t END WHEN id > 50 THEN t END THEN id ELSE -1 END), sum(n) FROM escaping JOIN d1 ON a = d1.k', 'SELECT x, bool_or(CASE WHEN id > x THEN t END = ''t4''), sum(n) FROM escaping JOIN d1 ON a = d1.k GROUP BY x', 'SELECT count(*) FILTER (WHERE CASE WHEN id > x THEN t ELSE name END = ''t4''), sum(n) FROM escaping JOIN d1 ON a = d1.k']);
SELECT count(t), count(10 / (id - 5)), sum(n) FROM escaping JOIN d1 ON a = d1.k;
-- FILTER, HAVING, and what computes with aggregates.
SELECT * FROM compare_all(ARRAY[
    'SELECT count(*) FILTER (WHERE x > 5), sum(i4) FILTER (WHERE w < 50 AND even), avg(i2) FILTER (WHERE false), max(day) FILTER (WHERE x IS NULL) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT g, sum(w) FILTER (WHERE x > q), count(*) FILTER (WHERE name LIKE ''%1'') FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k GROUP BY g',
    'SELECT g, count(*) FILTER (WHERE d1.k IS NULL), count(*) FILTER (WHERE plain(x) > 3) FROM fact LEFT JOIN d1 ON a = d1.k GROUP BY g', 'SELECT sum(i4) FILTER (WHERE x > (SELECT avg(x) FROM d3)) FROM fact JOIN d1 ON a = d1.k', 'SELECT g, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY g HAVING sum(i4) > 0',
    'SELECT g, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY g HAVING g > 2 AND count(*) FILTER (WHERE even) > 50', 'SELECT count(*) FROM fact JOIN d1 ON a = d1.k HAVING count(*) > 100000', 'SELECT 1 FROM fact JOIN d1 ON a = d1.k HAVING true', 'SELECT sum(i4) FROM fact JOIN nothing ON a = nothing.k HAVING count(*) = 0', 'SELECT g, sum(i4) * 2 + count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY g ORDER BY sum(i2) DESC, g LIMIT 3',
    'SELECT g, sum(count(*)) OVER (ORDER BY g), rank() OVER (ORDER BY sum(i4)) FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT DISTINCT count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY a', 'SELECT g, generate_series(1, min(x)) FROM fact JOIN d1 ON a = d1.k WHERE x > 1 GROUP BY g', 'SELECT coalesce(sum(i4), 0), CASE WHEN count(*) > 0 THEN sum(i4) / count(*) END FROM fact JOIN nothing ON a = nothing.k',
    'SELECT min(name), max(name), min(i4::text), max(i4::numeric), sum(i4::numeric), sum(i4::float8 / 2), avg(i2::float4) FROM fact JOIN d1 ON a = d1.k']);
-- Left to core's aggregates: DISTINCT (but for the count of one value), ORDER BY inside, ordered sets, grouping sets, and those without partial states.
SELECT * FROM compare_all(ARRAY[
    'SELECT count(DISTINCT x), sum(DISTINCT i2), count(*) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT g, count(DISTINCT w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g', 'SELECT g, max(DISTINCT w), min(DISTINCT x) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g', 'SELECT g, array_agg(w ORDER BY w, id), string_agg(name, '','' ORDER BY name) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g',
    'SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY i4), mode() WITHIN GROUP (ORDER BY x) FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT rank(5) WITHIN GROUP (ORDER BY x) FROM fact JOIN d1 ON a = d1.k', 'SELECT corr(i4, x) IS NULL, round(stddev(i4)), regr_count(i4, x), round(variance(w)) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT jsonb_object_agg(x, w ORDER BY w, id) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k WHERE x IS NOT NULL']);
CREATE FUNCTION add_up(int8, int4) RETURNS int8 IMMUTABLE LANGUAGE sql AS 'SELECT coalesce($1, 0) + coalesce($2, 0)';
CREATE AGGREGATE total(int4) (sfunc = add_up, stype = int8);
CREATE AGGREGATE total_parallel(int4) (sfunc = add_up, stype = int8, combinefunc = int8pl, parallel = safe);
CREATE AGGREGATE sum(text) (sfunc = textcat, stype = text, initcond = '');
SELECT * FROM compare_all(ARRAY['SELECT g, total(i4), sum(i4) FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT g, total_parallel(i4), sum(i4) FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT length(sum(name)) FROM fact JOIN d1 ON a = d1.k']);

-- Errors in arguments: of rows that the joins give, and of no others; behind FILTER and CASE, or not.
INSERT INTO fact (id, a, b, g, i2, i4, i8, q, day, at) VALUES (5001, 5, 1000, 1, 32767, 2147483647, 9223372036854775807, 0, '5874897-12-31', '294276-12-31'),
    (5002, 1000, 5, 1, -32768, -2147483648, '-9223372036854775808', 0, '4714-11-24 BC', '4714-11-24 BC'), (5003, 1000, 1000, 1, 0, 0, 0, 3, 'infinity', '-infinity');
ANALYZE fact;
SELECT * FROM compare_all(ARRAY[
    'SELECT sum(i4 + 1) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(i4 + 1) FROM fact JOIN d2 ON b = d2.k', 'SELECT sum(i4 - 1) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(i4 + 1), sum(i4 - 1) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT sum(i4 + 1) FROM fact LEFT JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT g, sum(i4 - 1) FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k GROUP BY g',
    'SELECT sum(i4 - 1) FROM fact WHERE NOT EXISTS (SELECT FROM d1 WHERE a = d1.k)', 'SELECT sum(i4 + 1) FROM fact WHERE NOT EXISTS (SELECT FROM d1 WHERE a = d1.k) AND EXISTS (SELECT FROM d2 WHERE b = d2.k)', 'SELECT sum(i8 + 1), sum(-i8) FROM fact JOIN d2 ON b = d2.k WHERE i8 > 0', 'SELECT sum(i8 + 1) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(i8 * x) FROM fact JOIN d1 ON a = d1.k WHERE id > 5000',
    'SELECT sum(-i4) FROM fact JOIN d2 ON b = d2.k', 'SELECT sum(abs(i4)) FROM fact JOIN d2 ON b = d2.k', 'SELECT sum(-i8) FROM fact JOIN d2 ON b = d2.k', 'SELECT max(i2 + 1::int2) FROM fact JOIN d1 ON a = d1.k', 'SELECT max(i2 + i2) FROM fact JOIN d2 ON b = d2.k', 'SELECT sum(i4::int2) FROM fact JOIN d2 ON b = d2.k', 'SELECT sum(i8::int4) FROM fact JOIN d1 ON a = d1.k AND id > 5000',
    'SELECT max(day + 1) FROM fact JOIN d1 ON a = d1.k', 'SELECT max(day - 1) FROM fact JOIN d1 ON a = d1.k', 'SELECT min(at - interval ''1 year'') FROM fact JOIN d2 ON b = d2.k', 'SELECT sum(i4 / -1) FROM fact JOIN d2 ON b = d2.k', 'SELECT sum(i4 * x) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(i4), sum(i8), avg(i8), min(i8), max(i8), min(day), max(at), count(*) FROM fact LEFT JOIN d2 ON b = d2.k',
    'SELECT max(day), min(day), max(at) FROM fact JOIN d3 ON q = d3.x', 'SELECT sum(fact.day - d3.due) FROM fact JOIN d3 ON q = d3.x', 'SELECT max(fact.day + d3.x) FROM fact JOIN d3 ON q = d3.x WHERE id = 5003']);
SELECT * FROM compare_all(ARRAY[
    'SELECT sum(100 / q) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(100 / q) FILTER (WHERE q <> 0) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(CASE WHEN q <> 0 THEN 100 / q END) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(100 / nullif(q, 0)) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(100 / q) FILTER (WHERE q = 0) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(100 % q) FROM fact JOIN d1 ON a = d1.k WHERE q > 1',
    'SELECT sum(100 / q) FROM fact JOIN d3 ON q = d3.x WHERE d3.x > 0', 'SELECT sum(100 / d3.m) FROM fact JOIN d1 ON a = d1.k LEFT JOIN d3 ON d3.x = d1.x AND d3.m > 0', 'SELECT sum(100 / d3.m) FROM fact JOIN d1 ON a = d1.k LEFT JOIN d3 ON d3.x = d1.x', 'SELECT g, count(*) FILTER (WHERE 100 / q > 3) FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT g, count(*) FILTER (WHERE q <> 0 AND 100 / q > 40) FROM fact JOIN d1 ON a = d1.k GROUP BY g',
    'SELECT g, sum(100 / q) FROM fact JOIN d1 ON a = d1.k GROUP BY g HAVING g > 100', 'SELECT 100 / q, count(*) FROM fact JOIN d1 ON a = d1.k GROUP BY 100 / q', 'SELECT 100 / q, count(*) FROM fact JOIN d1 ON a = d1.k WHERE q <> 0 GROUP BY 100 / q', 'SELECT sum(q / (x - 5)) FROM fact JOIN d1 ON a = d1.k WHERE x <> 5', 'SELECT sum(100 / q) FROM fact JOIN nothing ON a = nothing.k',
    'SELECT count(100 / q), count(*) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(100 / q) FROM fact JOIN d1 ON a = d1.k LIMIT 0']);
DELETE FROM fact WHERE id > 5000;

-- Aggregates of aggregates, joined again; in subqueries that run once for each row; of an outer query's rows.
SELECT * FROM compare_all(ARRAY[
    'SELECT d3.m, sum(s.n), max(s.total) FROM (SELECT x, count(*) AS n, sum(i4) AS total FROM fact JOIN d1 ON a = d1.k GROUP BY x) s JOIN d3 USING (x) JOIN d2 ON d2.k = d3.m GROUP BY d3.m', 'SELECT fact.id, s.n FROM fact JOIN (SELECT d1.k, count(*) AS n FROM d1 JOIN d2 USING (k) JOIN d3 USING (x) GROUP BY d1.k) s ON a = s.k JOIN d2 ON b = d2.k',
    'SELECT s.g, s.total, t.total FROM (SELECT g, sum(i4) AS total FROM fact JOIN d1 ON a = d1.k GROUP BY g) s LEFT JOIN (SELECT q, sum(i4) AS total FROM fact JOIN d2 ON b = d2.k GROUP BY q) t ON s.g = t.q', 'SELECT id FROM fact WHERE i4 > (SELECT avg(i4) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k)', 'SELECT id FROM fact WHERE (g, id) IN (SELECT g, max(id) FROM fact JOIN d1 ON a = d1.k GROUP BY g)',
    'WITH s AS MATERIALIZED (SELECT g, q, sum(i4) AS total FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g, q) SELECT x.g, x.q, y.q AS other, x.total - y.total FROM s x JOIN s y USING (g)', 'SELECT id, (SELECT sum(w) FROM d1 JOIN d2 USING (k) WHERE d1.k = o.a) FROM fact o WHERE id <= 40', 'SELECT id, (SELECT sum(w * o.q) FROM d1 JOIN d2 USING (k) JOIN d3 USING (x) WHERE d3.m = o.q) FROM fact o WHERE id <= 40',
    'SELECT id, (SELECT count(*) FILTER (WHERE w > o.a) FROM d1 JOIN d2 USING (k) JOIN d3 USING (x)) FROM fact o WHERE id <= 40', 'SELECT id, l.* FROM fact o, LATERAL (SELECT x, count(*), sum(w - o.id) FROM d1 JOIN d2 USING (k) WHERE d2.w > o.a GROUP BY x HAVING count(*) > o.q) l WHERE id <= 20', 'SELECT (SELECT sum(fact.i4) FROM d3 WHERE d3.x = 1) FROM fact JOIN d1 ON a = d1.k', 'SELECT g, (SELECT max(d3.x + min(fact.q)) FROM d3) FROM fact JOIN d1 ON a = d1.k GROUP BY g',
    'SELECT count(*) FROM fact JOIN d1 ON a = d1.k UNION ALL SELECT sum(i4) FROM fact JOIN d2 ON b = d2.k', 'SELECT EXISTS (SELECT g FROM fact JOIN d1 ON a = d1.k GROUP BY g HAVING count(*) > 200)', 'SELECT count(*) FROM (SELECT g FROM fact JOIN d1 ON a = d1.k GROUP BY g LIMIT 2) s']);
-- Over joins that no chain is of.
SELECT * FROM compare_all(ARRAY['SELECT count(*), sum(w), sum(i4) FROM fact FULL JOIN d2 ON b = d2.k', 'SELECT g, count(*), sum(w) FROM fact JOIN d1 ON a = d1.k FULL JOIN d2 ON b = d2.k GROUP BY g', 'SELECT g, count(*), max(w) FROM fact JOIN d2 ON w BETWEEN q AND g GROUP BY g', 'SELECT count(*), sum(w) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k AND fact.i4::text || d2.w <> ''11''',
    'SELECT count(*), sum(w) FROM fact LEFT JOIN d2 ON b = d2.k AND plain(w) > plain(q)', 'SELECT count(*), sum(d1.x) FROM d1, d3', 'SELECT count(*), sum(i4) FROM fact', 'SELECT g, sum(i4) FROM fact WHERE a IN (SELECT k FROM d1) AND b NOT IN (SELECT w FROM d2) GROUP BY g']);

-- Prepared statements: parameters in arguments, FILTER, keys and HAVING; generic plans.
PREPARE parameters (integer, integer, bigint) AS SELECT g + $1 AS g, sum(i4 * $2), count(*) FILTER (WHERE x > $1), max($3) FROM fact JOIN d1 ON a = d1.k + $1 JOIN d2 ON b = d2.k GROUP BY g + $1 HAVING count(*) > $3 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
SET gpujoin.enabled = off;
EXECUTE parameters (1, 2, 250);
EXECUTE parameters (1, NULL, 0);
RESET gpujoin.enabled;
SET gpujoin.force = on;
EXECUTE parameters (1, 2, 250);
EXECUTE parameters (1, NULL, 0);
EXECUTE parameters (0, 1000000, 0);
RESET plan_cache_mode;
EXECUTE parameters (1, 2, 250);
DEALLOCATE parameters;
BEGIN;
DECLARE walk CURSOR FOR SELECT g, count(*), sum(i4) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g ORDER BY g;
FETCH 2 FROM walk;
FETCH 2 FROM walk;
ROLLBACK;
RESET gpujoin.force;
RESET max_parallel_workers_per_gather;

-- What is counted is computed where core computes it: not for rows that a condition before it leaves out, or is NULL for.
CREATE TABLE esc AS SELECT i AS id, i % 100 AS a, CASE WHEN i % 5 <> 0 THEN i % 5 > 2 END AS nb, 't' || i AS t, 'n' || i % 3 AS name FROM generate_series(1, 1000) AS i;
CREATE TABLE hundred AS SELECT i AS k FROM generate_series(0, 99) AS i;
ANALYZE esc, hundred;
SELECT aggregates, rows, missing, extra, error, other_error FROM compare_all(ARRAY['SELECT count(10 / (id - 5)) FILTER (WHERE nb), count(*) FROM esc JOIN hundred ON a = k', 'SELECT count(CASE WHEN nb THEN 10 / (id - 5) END), count(*) FROM esc JOIN hundred ON a = k',
    'SELECT count(CASE WHEN 10 / (id - 5) > 0 THEN t END) FILTER (WHERE nb), count(*) FROM esc JOIN hundred ON a = k', 'SELECT count(*) FILTER (WHERE CASE WHEN id > k THEN t ELSE name END IN (''t400'', ''n1'')) FROM esc JOIN hundred ON a = k',
    'SELECT count(*) FILTER (WHERE CASE WHEN id > k THEN t ELSE name END <> ALL (ARRAY[''t400'', NULL])) FROM esc JOIN hundred ON a = k', 'SELECT count(10 / (id - 5)) FROM esc JOIN hundred ON a = k']);
DROP TABLE esc, hundred;

-- With workers, the leader among them or not.
\set ECHO none
\i sql/include/parallel.sql
\set ECHO all
CREATE FUNCTION compare_in_parallel(leader boolean) RETURNS TABLE (n bigint, joins bigint, aggregates bigint, core_joins bigint,
    "rows" integer, missing bigint, extra bigint, error text, other_error text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('parallel_leader_participation', leader::text, true);
    RETURN QUERY SELECT * FROM compare_all(ARRAY[
        'SELECT count(*), sum(i4), avg(i2), max(w8) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k', 'SELECT g, count(*), sum(i4), avg(i8), min(day), max(at) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g', 'SELECT name, count(w), sum(w) FILTER (WHERE x > 3) FROM fact LEFT JOIN d1 ON a = d1.k LEFT JOIN d2 ON b = d2.k GROUP BY name',
        'SELECT count(*), sum(i4) FROM fact JOIN nothing ON a = nothing.k', 'SELECT g, count(*) FROM no_fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT g, sum(i4) FROM fact WHERE EXISTS (SELECT FROM d2 WHERE b = d2.k) AND NOT EXISTS (SELECT FROM d1 WHERE a = d1.k) GROUP BY g', 'SELECT count(DISTINCT x) FROM fact JOIN d1 ON a = d1.k',
        'SELECT sum(100 / q) FROM fact JOIN d1 ON a = d1.k', 'SELECT sum(100 / q) FILTER (WHERE q <> 0) FROM fact JOIN d1 ON a = d1.k', 'SELECT g, total_parallel(i4), sum(i4) FROM fact JOIN d1 ON a = d1.k GROUP BY g', 'SELECT id, (SELECT sum(w) FROM d1 JOIN d2 USING (k) WHERE d1.k = o.a) FROM fact o WHERE id <= 3', 'SELECT sum(s.n) FROM (SELECT x, count(*) AS n FROM fact JOIN d1 ON a = d1.k GROUP BY x) s JOIN d3 USING (x)']);
END $$;
SELECT * FROM compare_in_parallel(true);
SELECT * FROM compare_in_parallel(false);
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT g, count(*), sum(i4) FROM fact JOIN d1 ON a = d1.k JOIN d2 ON b = d2.k GROUP BY g;
RESET gpujoin.force;
DROP FUNCTION compare_in_parallel, all_aggregates, plain;
DROP AGGREGATE total(int4), total_parallel(int4), sum(text);
DROP FUNCTION add_up;
DROP VIEW joins;
DROP TABLE fact, d1, d2, d3, nothing, no_fact;
