-- Aggregates of numerics above joins: values, scales and texts are core's, for sums and products, CASE, FILTER, NaN, NULL, and
-- what has more digits than an engine computes with.
\set ECHO none
\i sql/include/nodes.sql
\set ECHO all
CREATE TABLE fact AS SELECT i AS id, i % 50 AS k, (i * 37 % 100000 / 100.0)::numeric(15, 2) AS price, (i % 11 / 100.0)::numeric(15, 2) AS discount,
    (i % 9 / 100.0)::numeric(4, 2) AS tax, CASE WHEN i % 1000 = 0 THEN 'NaN'::numeric ELSE i % 77 / 1000.0 END::numeric(10, 3) AS maybe_nan,
    CASE WHEN i % 3 <> 0 THEN i * 1000000007::numeric END::numeric(18, 0) AS large, (i - 1500)::numeric(9, 0) AS signed, i * 1.5 AS any_scale,
    ((i % 7 - 3.5) / 10)::numeric(18, 18) AS wide, CASE WHEN i % 5 <> 0 THEN (i % 13 - 6)::numeric(6, 4) / 8 END::numeric(6, 4) AS small, (i % 5)::int2 AS i2, i * 3000000000 AS i8
FROM generate_series(1, 3000) AS i;
CREATE TABLE d1 AS SELECT i AS k, i % 5 AS g, 'name ' || i % 3 AS name, (i / 4.0)::numeric(8, 2) AS rate FROM generate_series(0, 45) AS i;
ALTER TABLE d1 ADD PRIMARY KEY (k);
CREATE TABLE d2 AS SELECT i AS g, (i - 2)::numeric(3, 1) AS factor FROM generate_series(0, 3) AS i;
ANALYZE fact, d1, d2;

-- Each aggregate and expression, over all rows, by groups, and by groups of an outer join.
CREATE VIEW terms AS SELECT term FROM unnest(ARRAY[
    'sum(price), avg(price), min(price), max(price), count(price)', 'sum(price * (1 - discount)), avg(price * (1 - discount) * (1 + tax))', 'sum(maybe_nan), avg(maybe_nan), min(maybe_nan), max(maybe_nan)',
    'sum(large), avg(large), sum(large * large), min(-large), max(abs(large))', 'sum(signed), avg(signed), sum(signed * price), sum(-signed - price)', 'sum(small), avg(small), min(small), max(small), sum(small * small * small)',
    'sum(wide), avg(wide), sum(wide * 2)', 'sum(any_scale), max(any_scale)', 'sum(rate), sum(rate * price), avg(price - rate)', 'sum(price + id), sum(i2 * price), sum(i8 * 1.00), avg(2.50 * i2)',
    'sum(CASE WHEN discount > 0.05 THEN price ELSE 0 END), avg(CASE WHEN discount > 0.05 THEN price * (1 - discount) ELSE 0 END)', 'sum(CASE WHEN name = ''name 1'' THEN 0 ELSE price END), sum(CASE WHEN price < 0 THEN price ELSE 1 END)',
    'sum(coalesce(price * i2::numeric, 0)), avg(coalesce(maybe_nan, price)), sum(coalesce(small, rate)), max(coalesce(large, 0))', 'sum(price - coalesce(rate, 0)), avg(small + coalesce(tax, discount, 0.5)), sum(coalesce(rate, 0))',
    'sum(CASE WHEN g > 1 THEN price - coalesce(rate, 0) ELSE 0 END), sum(id) FILTER (WHERE coalesce(large, price) > coalesce(small, 7)), count(*) FILTER (WHERE price * rate IS NULL)', 'sum(coalesce(large * large, price)), sum(coalesce(maybe_nan, 0) * coalesce(price, 1))',
    'sum(CASE WHEN discount = 0.03 THEN price END), count(CASE WHEN tax < 0.04 THEN 1 END)', 'sum(CASE WHEN tax > 0.05 THEN price WHEN tax > 0.02 THEN discount ELSE tax END)', 'sum(CASE WHEN maybe_nan > 0.05 THEN price ELSE 0 END)',
    'sum(price) FILTER (WHERE discount BETWEEN 0.02 AND 0.05), avg(price) FILTER (WHERE price > rate * 10 AND tax <> 0.01)', 'sum(round(price, 1)), sum(price / 3)', 'sum(factor), avg(factor * price)', 'sum(100 / signed)', 'sum(price) FILTER (WHERE 1 / (price - price) > 0)']) AS term;
SELECT g, n, c.* FROM (VALUES (1, 'SELECT %s FROM fact JOIN d1 USING (k) JOIN d2 USING (g)'), (2, 'SELECT g, %s FROM fact JOIN d1 USING (k) JOIN d2 USING (g) GROUP BY g'),
    (3, 'SELECT name, factor, %s FROM fact LEFT JOIN d1 USING (k) LEFT JOIN d2 USING (g) GROUP BY name, factor')) AS forms (g, form), (SELECT row_number() OVER () AS n, term FROM terms) AS t, compare_nodes(format(form, term)) AS c ORDER BY g, n;
-- Numerics as keys, and none to aggregate.
SELECT * FROM compare_all(ARRAY['SELECT discount, tax, count(*), sum(price) FROM fact JOIN d1 USING (k) GROUP BY discount, tax', 'SELECT rate, factor, max(price) FROM fact JOIN d1 USING (k) JOIN d2 USING (g) GROUP BY rate, factor',
    'SELECT sum(price), avg(price), min(price) FROM fact JOIN d1 USING (k) WHERE price < 0', 'SELECT g, sum(small), avg(small) FROM fact JOIN d1 USING (k) WHERE small IS NULL GROUP BY g', 'SELECT g, sum(CASE WHEN price < 0 THEN price ELSE 0 END) FROM fact JOIN d1 USING (k) GROUP BY g',
    'SELECT g, sum(price) FROM (SELECT k, price::numeric(12, 1) AS price FROM fact UNION ALL SELECT k, price FROM fact) s JOIN d1 USING (k) GROUP BY g', 'SELECT g, sum(p) FROM (SELECT k, price * 2 AS p FROM fact OFFSET 0) s JOIN d1 USING (k) GROUP BY g']);
-- Rows that PostgreSQL aggregates itself, several of them, beside values whose states it would write into.
SELECT * FROM compare_all(ARRAY['SELECT avg(i2), sum(maybe_nan), sum(i2), avg(id), count(*), min(id) FROM fact JOIN d1 USING (k)', 'SELECT g, avg(id), avg(i8), avg(i2) FILTER (WHERE g = 3), sum(large * large), max(i8) FROM fact JOIN d1 USING (k) GROUP BY g']);
-- EXPLAIN tells how many, as text where there are any.
CREATE FUNCTION escaped_rows(query text) RETURNS text LANGUAGE plpgsql SET gpujoin.force = on SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
    line text;
    plan jsonb;
    shown text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE) ' || query LOOP
        shown := coalesce(shown, substring(line FROM 'Groups: rows=\d+(.*) partial groups'));
    END LOOP;
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN format('%s:%s', jsonb_path_query_first(plan, '$.**."Escaped Rows"'), shown);
END $$;
SELECT escaped_rows('SELECT sum(maybe_nan) FROM fact JOIN d1 USING (k)') AS some, (SELECT count(*) FROM fact JOIN d1 USING (k) WHERE maybe_nan = 'NaN') AS expected,
    escaped_rows('SELECT sum(price) FROM fact JOIN d1 USING (k)') AS none;
-- In parallel, each process with groups of its own.
\set ECHO none
\i sql/include/parallel.sql
\set ECHO all
SELECT * FROM compare_all(ARRAY['SELECT g, sum(price * (1 - discount)), avg(maybe_nan), sum(large * large) FROM fact JOIN d1 USING (k) GROUP BY g', 'SELECT sum(price), min(rate), avg(CASE WHEN tax > 0.03 THEN price ELSE 0 END) FROM fact JOIN d1 USING (k)']);
DROP FUNCTION escaped_rows;
DROP VIEW terms;
DROP TABLE fact, d1, d2;
