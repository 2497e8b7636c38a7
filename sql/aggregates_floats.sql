-- Aggregates of floats: count, sum, avg, min and max, of columns and of expressions, over joins and tables. The values are multiples
-- of a power of two, so that sums are the same in any order, but for those that are compared by their first digits. NaN, infinities, -0,
-- the largest and the smallest values are among them.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/explain.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE DOMAIN metres AS float8 CHECK (VALUE > -1e9);
CREATE DOMAIN grams AS float4;
CREATE TABLE measured AS SELECT i AS id, (i % 37 / 2.0)::metres AS d8, (i % 41 / 4.0)::grams AS d4, CASE WHEN i % 13 <> 0 THEN i % 100 END AS a, (i % 7)::int2 AS g, i * 7919 % 5003 AS k, CASE WHEN i % 11 <> 0 THEN (i * 37 % 20011 - 10000) / 8.0 END::float8 AS f8,
    CASE WHEN i % 5 <> 0 THEN (i * 1009 % 4001 - 2000) / 4.0 END::float4 AS f4, sin(i) * 1000 AS s, (i % 4)::float8 AS q, i * 3 - 3000 AS n, (i % 900 / 4.0)::numeric(8, 2) AS p, i % 2 = 0 AS even,
    (CASE i % 7 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN (CASE WHEN i % 3 = 0 THEN 'NaN' ELSE '1.5' END) WHEN 3 THEN (CASE WHEN i % 3 = 0 THEN '-Infinity' ELSE '-2' END)
        WHEN 4 THEN (CASE WHEN i % 3 = 0 THEN 'Infinity' ELSE '7' END) WHEN 5 THEN (CASE WHEN i % 2 = 0 THEN 'Infinity' ELSE '-Infinity' END) ELSE '5e-324' END)::float8 AS special,
    (CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' ELSE '1e-45' END)::float4 AS special4
FROM generate_series(1, 20000) AS i;
CREATE TABLE place AS SELECT i AS k, i % 9 AS x, (i % 16 - 4) / 2.0::float8 AS rate FROM generate_series(0, 79) AS i;
CREATE TABLE nothing (LIKE measured);
ANALYZE measured, place, nothing;

SET gpujoin.force = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT g, sum(f8), avg(f4), min(f4), max(f8) FROM measured JOIN place ON a = place.k GROUP BY g;
-- Many groups are complete.
SELECT analyzed('SELECT k, sum(f8), avg(f4) FROM measured GROUP BY k');
RESET gpujoin.force;

-- Each aggregate, over a table, over joins, in groups, in many groups and of all rows.
CREATE VIEW inputs AS SELECT * FROM unnest(ARRAY['measured', 'measured JOIN place ON a = place.k', 'measured LEFT JOIN place ON a = place.k AND x > 3', 'measured WHERE EXISTS (SELECT FROM place WHERE place.k = a)', 'nothing JOIN place ON a = place.k'])
    WITH ORDINALITY AS inputs (source, i);
SELECT i, groups, c.* FROM inputs, unnest(ARRAY['', 'g', 'even, q', 'measured.k', 'id']) WITH ORDINALITY AS of (groups, o),
    compare_nodes(format('SELECT %1$s count(f8), sum(f8), avg(f8), min(f8), max(f8), count(f4), avg(f4), min(f4), max(f4), count(*) FROM %2$s %3$s', groups || left(',', length(groups)),
        CASE source WHEN 'nothing JOIN place ON a = place.k' THEN replace(source, 'nothing JOIN', 'nothing AS measured JOIN') ELSE source END, left('GROUP BY ', 9 * length(groups)) || groups)) AS c ORDER BY i, o;
-- Expressions, FILTER, HAVING, ORDER BY; floats as keys, and compared.
SELECT * FROM compare_all(ARRAY[
    'SELECT g, sum(f8 * rate), avg(f8 - rate), max(f4 * 2), min(-f8), sum(abs(f8)), max(f4 + f8) FROM measured JOIN place ON a = place.k GROUP BY g', 'SELECT g, sum(n::float8), avg(n::float8 / 4), max(q + n), min(n * 0.5::float8), sum(f4::float8) FROM measured GROUP BY g',
    'SELECT q, sum(CASE WHEN even THEN f8 ELSE 0 END), avg(CASE WHEN f8 > 0 THEN f4 END), max(CASE WHEN rate > 1 THEN f8 WHEN even THEN rate END) FROM measured JOIN place ON a = place.k GROUP BY q', 'SELECT g, sum(f8) FILTER (WHERE f8 > 0), avg(f8) FILTER (WHERE even AND f4 < 0), avg(f4) FILTER (WHERE rate >= 1), min(f8) FILTER (WHERE false) FROM measured LEFT JOIN place ON a = place.k GROUP BY g',
    'SELECT g, sum(f8), avg(f4) FROM measured GROUP BY g HAVING sum(f8) > 0 AND avg(f8) < 1000', 'SELECT k, sum(f8) AS s FROM measured GROUP BY k ORDER BY s DESC NULLS LAST, k LIMIT 20', 'SELECT k, max(f4) AS m, min(f8) FROM measured GROUP BY k ORDER BY m, k LIMIT 20', 'SELECT id, max(f8) AS m FROM measured GROUP BY id ORDER BY m DESC NULLS LAST, id LIMIT 20', 'SELECT id, min(special) AS m FROM measured GROUP BY id ORDER BY m DESC, id LIMIT 20', 'SELECT k, avg(f8) AS m FROM measured GROUP BY k ORDER BY m, k LIMIT 20',
    'SELECT f8, count(*), sum(f4::float8), min(f8), max(f8) FROM measured GROUP BY f8', 'SELECT special = 0, count(*), min(id), avg(f8) FROM measured GROUP BY special = 0', 'SELECT sum(f8) / count(*), avg(f8) * 2, max(f8) - min(f8) FROM measured', 'SELECT g, coalesce(sum(f8), 0), sum(coalesce(f8, q)), sum(p), avg(p), stddev(n) FROM measured GROUP BY g', 'SELECT g, sum(d8), avg(d4), min(d8), max(d4), sum(d8 * 2) FILTER (WHERE d4 > 3) FROM measured GROUP BY g',
    'SELECT m.g, sum(m.q - 0.25), sum(o.f8), count(*) FROM measured AS m JOIN measured AS o ON m.special = o.special4 WHERE m.id < 500 AND o.id < 500 GROUP BY m.g', 'SELECT count(DISTINCT f8), sum(f8) FROM measured', 'SELECT g, (SELECT avg(rate) FROM place WHERE x = g) FROM measured GROUP BY g']);
SELECT rows, missing, extra, error, other_error FROM compare_nodes('SELECT g, even, sum(f8), avg(f8) FROM measured GROUP BY GROUPING SETS ((g), (even), ())');  -- core's from 18 on
-- Special values. Groups of different zeros have any of them as the least and the greatest, so these have one.
SELECT * FROM compare_all(ARRAY[
    'SELECT g, sum(special), avg(special), min(special), max(special), count(special) FROM measured GROUP BY g', 'SELECT g, sum(special), avg(special), min(special), max(special) FROM measured JOIN place ON a = place.k GROUP BY g', 'SELECT id, sum(special), avg(special), min(special), max(special) FROM measured GROUP BY id', 'SELECT id % 4, avg(special4), min(special4), max(special4) FROM measured GROUP BY 1', 'SELECT id, avg(special4), min(special4), max(special4) FROM measured GROUP BY id',
    'SELECT sum(special), avg(special), min(special), max(special) FROM measured', 'SELECT sum(special), avg(special), min(special), max(special) FROM measured WHERE g = 0', 'SELECT g, sum(-special), min(special * -1), max(abs(special)) FROM measured GROUP BY g', 'SELECT g, sum(special) FILTER (WHERE special > 0), max(special) FILTER (WHERE special <> ''NaN'') FROM measured GROUP BY g', 'SELECT g, round(sum(1 / (q + 1) * 0.25)::numeric, 9), round(avg(8 / (special - 3))::numeric, 9) FROM measured WHERE g IN (3, 4) GROUP BY g']);
-- Errors are core's, of rows that there are.
SELECT * FROM compare_all(ARRAY[
    'SELECT sum(f8 / q) FROM measured', 'SELECT round(sum(f8 / q)::numeric, 6) FROM measured WHERE q > 0', 'SELECT g, avg(f8 * 1e308) FROM measured GROUP BY g', 'SELECT g, sum(f8 * 1e306) FROM measured GROUP BY g', 'SELECT sum(1e308::float8 + q) FROM measured', 'SELECT sum(q * 1e308) FROM measured WHERE q = 1 AND id < 9', 'SELECT avg(1e200::float8 * n) FROM measured', 'SELECT g, avg(1e200::float8 * n) FILTER (WHERE id < 8) FROM measured GROUP BY g', 'SELECT g, avg(1e300::float8) FROM measured GROUP BY g', 'SELECT max(f4 * 1e38::float4) FROM measured', 'SELECT max(f4 * 1e-45::float4) FROM measured WHERE f4 > 0', 'SELECT sum(f8 * 5e-324) FROM measured']);
-- Digits at the end depend on the order of rows: so of other values the first ones are compared.
SELECT * FROM compare_all(ARRAY[
    'SELECT g, round(sum(s)::numeric, 6), round(avg(s)::numeric, 9), min(s), max(s) FROM measured GROUP BY g', 'SELECT k, round(sum(s * f8)::numeric, 4), round(avg(s / 3)::numeric, 9) FROM measured GROUP BY k', 'SELECT round(sum(s * rate)::numeric, 6), count(s) FROM measured JOIN place ON a = place.k']);
-- Sums are the same in each run on the CPU engine, of rows in any order; here, where parts of them are added up by one process, on any.
SET gpujoin.force = on;
SELECT count(DISTINCT total) AS totals FROM (SELECT sum(s * x) FROM measured, (VALUES (1), (1)) AS twice (x) GROUP BY x UNION ALL SELECT 2 * sum(s) FROM measured UNION ALL SELECT 2 * sum(s) FROM (SELECT s FROM measured ORDER BY s) AS o) AS t (total);
WITH totals AS NOT MATERIALIZED (SELECT k, sum(s) AS total FROM measured GROUP BY k) SELECT count(*) FROM totals WHERE total = (SELECT max(total) FROM totals);
RESET gpujoin.force;
-- Left to core: sums of float4, which it rounds to float4 each time, variances and the like.
SELECT n, aggregates, rows, missing, extra, error FROM compare_all(ARRAY['SELECT g, sum(f4) FROM measured GROUP BY g', 'SELECT g, stddev(f8), var_pop(f4) FROM measured GROUP BY g', 'SELECT corr(f8, q), regr_slope(f8, q) FROM measured']);
-- So are sums and averages of floats where they are not wanted.
SET gpujoin.float_aggregates = off;
SELECT reason FROM gpujoin_why('SELECT g, avg(f4), count(*) FROM measured GROUP BY g') WHERE reason IS NOT NULL;
SELECT n, aggregates, rows, missing, extra, error FROM compare_all(ARRAY['SELECT g, sum(f8) FROM measured GROUP BY g', 'SELECT g, avg(f4) FROM measured GROUP BY g', 'SELECT g, avg(f8), count(*) FROM measured GROUP BY g', 'SELECT g, min(f8), max(f4) FROM measured GROUP BY g']);
RESET gpujoin.float_aggregates;

-- With workers, and in partitions.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT * FROM compare_all(ARRAY['SELECT g, sum(f8), avg(f8), avg(f4), min(f8), max(f4) FROM measured GROUP BY g', 'SELECT k, sum(f8), avg(f8), min(f4) FROM measured GROUP BY k', 'SELECT g, sum(special), avg(special), min(special), max(special) FROM measured JOIN place ON a = place.k GROUP BY g', 'SELECT sum(f8 * rate), avg(f4) FROM measured JOIN place ON a = place.k']);
SET max_parallel_workers_per_gather = 0;
SET gpujoin.max_join_memory = '64kB';
SELECT n, aggregates, rows, missing, extra, error, other_error FROM compare_all(ARRAY['SELECT m.g, sum(o.f8), avg(m.f8), max(o.f4) FROM measured AS m JOIN measured AS o USING (id) GROUP BY m.g', 'SELECT m.k, sum(o.special), avg(o.special) FROM measured AS m JOIN measured AS o USING (id) GROUP BY m.k']);
RESET gpujoin.max_join_memory;

-- Kept columns have floats as they are, for sums, for results and for conditions. (A table may have empty blocks at its end, from 16 on.)
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
VACUUM measured;
SELECT chunks >= 1 AS kept, read < 64 AS few, rows, missing, extra FROM compare_kept('SELECT g, sum(special), min(special), max(special), min(special4), avg(f8) FROM measured GROUP BY g');
SELECT chunks >= 1 AS kept, read < 64 AS few, rows, missing, extra FROM compare_kept('SELECT id, special, special4, f8, count(*) FROM measured GROUP BY id, special, special4, f8');
SELECT chunks >= 1 AS kept, read < 64 AS few, rows, missing, extra FROM compare_kept('SELECT g, sum(f8), max(f4) FROM measured WHERE f8 > 3 AND f4 < 100 AND special <> 1.5 GROUP BY g');
SELECT chunks >= 1 AS kept, read < 64 AS few, rows, missing, extra FROM compare_kept('SELECT special, count(*), sum(f8) FROM measured WHERE special <> 0 GROUP BY special');
SELECT chunks >= 1 AS kept, read < 64 AS few, rows, missing, extra FROM compare_kept('SELECT g, sum(d8), max(d4) FROM measured WHERE d8 > 3 AND d4 <= 7.5 GROUP BY g');
SELECT gpujoin_forget('measured');
SET client_min_messages = warning;
SELECT gpujoin_keep('measured') > 0 AS kept;
RESET client_min_messages;
SELECT chunks >= 1 AS kept, read < 64 AS few, rows, missing, extra FROM compare_kept('SELECT k, sum(f8), avg(special), min(f4), max(s) FROM measured GROUP BY k', 1);
SELECT gpujoin_forget('measured');

DROP VIEW inputs;
DROP TABLE measured, place, nothing;
DROP DOMAIN metres, grams;
