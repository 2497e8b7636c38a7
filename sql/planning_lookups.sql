-- Tables of which core would look up a few rows by an index are left to it. By cost, reading all of them may seem
-- cheaper, which it is not where pages are in memory.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA planning_lookups;
SET search_path = planning_lookups, public;
CREATE TABLE customer AS
SELECT i AS id, i * 7919 % 1000 AS pick, i % 10 AS segment FROM generate_series(1, 20000) i;
CREATE TABLE sale AS
SELECT i AS id, (i * 7919::bigint % 20000 + 1)::int AS customer, i % 100 AS amount, repeat('x', 100) AS remark
FROM generate_series(1, 200000) i;
CREATE TABLE visit AS SELECT (i * 7919::bigint % 20000 + 1)::int AS customer FROM generate_series(1, 100000) i;
CREATE TABLE picked AS SELECT i * 4 AS pick FROM generate_series(1, 210) i;
ALTER TABLE customer ADD PRIMARY KEY (id);
CREATE INDEX ON sale (customer);
VACUUM ANALYZE customer, sale, visit, picked;
SET max_parallel_workers_per_gather = 0;
-- The joins and scans of a plan.
CREATE FUNCTION nodes_of(query text) RETURNS SETOF text LANGUAGE sql AS $$
SELECT line FROM plan_of(query) AS line WHERE line ~ '(Join\)?|Loop|Scan .*)$'
$$;

-- As core does it: inner, outer and semi joins, and where the table is one of several.
SELECT nodes_of('SELECT sum(amount) FROM sale JOIN customer c ON c.id = sale.customer WHERE pick < 7');
SELECT nodes_of('SELECT sum(amount) FROM customer c LEFT JOIN sale ON c.id = sale.customer WHERE pick < 7');
SELECT nodes_of('SELECT count(*) FROM customer c WHERE pick < 7
                 AND EXISTS (SELECT FROM sale WHERE c.id = sale.customer AND amount < 90)');
SELECT nodes_of('SELECT sum(amount) FROM (VALUES (1), (2), (3)) AS s (segment) JOIN customer c USING (segment)
                 JOIN sale ON c.id = sale.customer WHERE pick < 24');

-- For rows of two tables, of which neither alone is small, whatever is joined first; and a semijoin's lookups, which end with the first row.
SELECT nodes_of('SELECT sum(amount) FROM sale JOIN customer c ON c.id = sale.customer JOIN picked USING (pick)');
SELECT nodes_of('SELECT sum(amount) FROM picked JOIN sale JOIN customer c ON c.id = sale.customer USING (pick)');
SELECT nodes_of('SELECT count(*) FROM customer c WHERE pick < 500 AND EXISTS (SELECT FROM sale WHERE c.id = sale.customer AND amount < 90)');

-- A table without an index is read all the same, beside what was looked up.
SELECT nodes_of('SELECT count(*) FROM sale JOIN customer c ON c.id = sale.customer
                 JOIN visit ON visit.customer = c.id WHERE pick < 7');

-- More rows are wanted than core would look up.
SELECT nodes_of('SELECT sum(amount) FROM sale JOIN customer c ON c.id = sale.customer WHERE pick < 500');
-- Core may not look up.
SET enable_nestloop = off;
SELECT nodes_of('SELECT sum(amount) FROM sale JOIN customer c ON c.id = sale.customer WHERE pick < 7');
RESET enable_nestloop;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT nodes_of('SELECT sum(amount) FROM sale JOIN customer c ON c.id = sale.customer WHERE pick < 7');
RESET enable_indexscan;
RESET enable_bitmapscan;
-- Core has no plan of its own for the upper join, and would look nothing up for the lower one, if only just.
SELECT nodes_of('SELECT count(*) FROM (SELECT amount FROM sale JOIN customer c ON c.id = sale.customer WHERE pick < 10) s
                 FULL JOIN (VALUES (1), (2)) v (least) ON s.amount < v.least');
-- Forced joins are made whatever core would do.
SET gpujoin.force = on;
SELECT nodes_of('SELECT sum(amount) FROM sale JOIN customer c ON c.id = sale.customer WHERE pick < 7');
RESET gpujoin.force;

SET client_min_messages = warning;
DROP SCHEMA planning_lookups CASCADE;
