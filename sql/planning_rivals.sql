-- What core would do without GPU Joins is planned beside them: no plan with one costs more than core's own.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA planning_rivals;
SET search_path = planning_rivals, public;
CREATE TABLE customer AS SELECT i AS id, i * 7919 % 1000 AS pick FROM generate_series(1, 5000) i;
CREATE TABLE part AS SELECT i AS id, i * 7919 % 1000 AS pick FROM generate_series(1, 6000) i;
CREATE TABLE supplier AS SELECT i AS id, i * 7919 % 1000 AS pick FROM generate_series(1, 3000) i;
CREATE TABLE supply AS
SELECT i / 4 + 1 AS part, (i / 4 + i % 4 * 750) % 3000 + 1 AS supplier, i % 90 AS price FROM generate_series(0, 23999) i;
CREATE TABLE purchase AS
SELECT i AS id, i * 7919 % 5000 + 1 AS customer, repeat('x', 60) AS remark FROM generate_series(1, 40000) i;
CREATE TABLE line AS
SELECT i / 4 + 1 AS purchase, (i * 7919::bigint % 6000 + 1)::int AS part,
       ((i * 7919::bigint % 6000 + i % 4 * 750) % 3000 + 1)::int AS supplier,
       (i * 15485863::bigint % 1000)::int AS pick, i % 100 AS amount, repeat('x', 80) AS remark
FROM generate_series(0, 159999) i;
ALTER TABLE customer ADD PRIMARY KEY (id);
ALTER TABLE part ADD PRIMARY KEY (id);
ALTER TABLE supplier ADD PRIMARY KEY (id);
ALTER TABLE supply ADD PRIMARY KEY (part, supplier);
ALTER TABLE purchase ADD PRIMARY KEY (id);
CREATE INDEX ON purchase (customer);
CREATE INDEX ON line (purchase);
CREATE INDEX ON line (part);
VACUUM ANALYZE customer, part, supplier, supply, purchase, line;
SET max_parallel_workers_per_gather = 0;
-- Whatever was measured on this machine.
SET gpujoin.build_cost = 0.0024;
SET gpujoin.probe_cost = 0.0002;
SET gpujoin.match_cost = 0.0002;
SET gpujoin.transfer_cost = 20;
CREATE FUNCTION cost_of(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    EXECUTE 'EXPLAIN ' || query INTO line;
    RETURN substring(line FROM 'cost=[0-9.]+[.][.]([0-9.]+)');
END $$;
CREATE FUNCTION is_dearer_than_core(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    core numeric;
BEGIN
    SET LOCAL gpujoin.enabled = off;
    core := cost_of(query);
    SET LOCAL gpujoin.enabled = on;
    RETURN cost_of(query) > 1.01 * core;
END $$;

-- Paths with a GPU Join oust core's hash joins, and then go themselves, since core would look rows up.
CREATE FUNCTION lines(filter text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
SELECT 'SELECT sum(amount) FROM customer, line, part, purchase, supplier
WHERE line.purchase = purchase.id AND line.part = part.id AND line.supplier = supplier.id
AND purchase.customer = customer.id AND ' || filter
$$;
SELECT is_dearer_than_core(lines('customer.pick < 10 AND line.pick < 10 AND part.pick < 100
    AND EXISTS (SELECT FROM line l2 WHERE l2.purchase = line.purchase AND l2.pick < 300)'));
SELECT is_dearer_than_core(lines('customer.pick < 30 AND line.pick < 600 AND supplier.pick < 10
    AND EXISTS (SELECT FROM line l2 WHERE l2.purchase = line.purchase AND l2.pick < 10)'));
SELECT is_dearer_than_core(lines('customer.pick < 300 AND line.pick < 300
    AND EXISTS (SELECT FROM line l2 WHERE l2.purchase = line.purchase AND l2.pick < 10)'));

-- More rows than expected come of a key with two columns that depend on each other. Parts are not looked up for each
-- of them, since to read them costs hardly more.
SELECT count(*) FROM line JOIN supply USING (part, supplier);
SELECT bool_or(line ~ 'Nested Loop') AS loops, bool_or(line ~ 'GPU') AS taken
FROM plan_of('SELECT sum(amount * price) FROM line JOIN supply USING (part, supplier) JOIN part ON part.id = line.part WHERE part.pick < 500') AS line;

-- Nor where reading them costs more than ten times what looking up those does that are expected: as many rows are likely
-- to come as if the key was referred to by a foreign key.
CREATE TABLE catalogue AS SELECT id, pick, repeat('x', 1900) AS remark FROM part;
ALTER TABLE catalogue ADD PRIMARY KEY (id);
VACUUM ANALYZE catalogue;
SET client_min_messages = warning;
SELECT gpujoin_keep('line', '{part,supplier,amount,pick}') > 0 AND gpujoin_keep('supply') > 0 AS kept;
RESET client_min_messages;
CREATE VIEW offered AS SELECT amount * price AS worth, catalogue.id FROM line JOIN supply USING (part, supplier) JOIN catalogue ON catalogue.id = line.part
WHERE catalogue.pick < 500 AND line.pick < 50;
SELECT bool_or(line ~ 'Nested Loop') AS loops, bool_or(line ~ 'GPU') AS taken FROM plan_of('SELECT sum(worth) FROM offered') AS line;
SET gpujoin.enabled = off;
SELECT sum(worth) FROM offered \gset core_
RESET gpujoin.enabled;
SELECT sum(worth) = :core_sum AS same FROM offered;

-- What one process reads alone takes longer than costs say next to what several read together: core charges each of
-- these for all pages.
CREATE FUNCTION plan_costs(query text, workers integer, OUT cost numeric, OUT gathers boolean) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
    cost := cost_of(query);
    SELECT bool_or(line ~ 'Gather') INTO gathers FROM plan_of(query) AS line;
END $$;
SET parallel_setup_cost = 400;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
CREATE VIEW sold AS SELECT format('SELECT line.remark FROM line JOIN part ON line.part = part.id WHERE part.pick < %s AND amount < %s
    UNION ALL SELECT line.remark FROM line JOIN supplier ON supplier = supplier.id WHERE supplier.pick < %s', n, 80, n) AS query
FROM unnest(ARRAY[90, 110]) AS n;
SELECT alone.cost < together.cost AS seems_quicker, together.gathers
FROM sold, plan_costs(query, 0) AS alone, plan_costs(query, 4) AS together;

SET client_min_messages = warning;
DROP SCHEMA planning_rivals CASCADE;
