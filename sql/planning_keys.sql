-- Undeclared foreign keys: how many rows more than PostgreSQL expects the costs of joins are for, told by what they are
-- more than without the unique indexes.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA planning_keys;
SET search_path = planning_keys, public;
SET max_parallel_workers_per_gather = 0;
SET gpujoin.chain = off;
SET gpujoin.aggregate = off;
SET gpujoin.force = on;  -- and no plan depends on the machine
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
CREATE TABLE one AS SELECT i / 1000 AS tenant, i AS id, i AS v FROM generate_series(0, 99999) i;
CREATE TABLE two AS SELECT * FROM one;
CREATE TABLE three AS SELECT * FROM one;
CREATE TABLE half AS SELECT tenant, id, v FROM one WHERE id % 2 = 0;
CREATE TABLE other AS SELECT i AS v FROM generate_series(1, 5000) i;
CREATE FUNCTION cost_of(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    EXECUTE 'EXPLAIN ' || query INTO line;
    RETURN substring(line FROM 'cost=[0-9.]+[.][.]([0-9.]+)');
END $$;
CREATE TABLE query (name text, text text, cost numeric);
INSERT INTO query VALUES
('pair', 'SELECT one.v FROM one JOIN two USING (tenant, id)'),
('turned', 'SELECT one.v FROM two JOIN one USING (tenant, id)'),
('half', 'SELECT one.v FROM one JOIN half USING (tenant, id)'),
('all three', 'SELECT one.v FROM one JOIN two USING (tenant, id) JOIN three USING (tenant, id)'),
('one column', 'SELECT one.v FROM one JOIN two USING (id)'),
('a constant', 'SELECT one.v FROM one JOIN two USING (tenant, id) WHERE tenant = 7'),
('outer join', 'SELECT one.v FROM one LEFT JOIN two USING (tenant, id)'),
('below EXISTS', 'SELECT FROM other WHERE EXISTS (SELECT FROM one JOIN two USING (tenant, id) WHERE one.v = other.v)'),
('below NOT EXISTS', 'SELECT FROM other WHERE NOT EXISTS (SELECT FROM one JOIN two USING (tenant, id) WHERE one.v = other.v)'),
('below an outer join', 'SELECT FROM other LEFT JOIN (one JOIN two USING (tenant, id)) ON one.v = other.v');
VACUUM ANALYZE one, two, three, half, other;
UPDATE query SET cost = cost_of(text);
ALTER TABLE one ADD PRIMARY KEY (tenant, id);
ALTER TABLE two ADD PRIMARY KEY (tenant, id);
ALTER TABLE three ADD PRIMARY KEY (tenant, id);
-- In thousands of units, about what two of core's nodes take for a hundred thousand rows, and our own work.
CREATE VIEW added AS SELECT name, round((cost_of(text) - cost) / 1000) AS thousands FROM query;
SELECT name, thousands FROM added ORDER BY name;
-- Who declares them is believed, whichever table it is said of.
ALTER TABLE two ADD FOREIGN KEY (tenant, id) REFERENCES one;
SELECT name, thousands FROM added WHERE name IN ('pair', 'turned', 'all three') ORDER BY name;
ALTER TABLE two DROP CONSTRAINT two_tenant_id_fkey;
ALTER TABLE one ADD FOREIGN KEY (tenant, id) REFERENCES two;
SELECT name, thousands FROM added WHERE name IN ('pair', 'turned', 'all three') ORDER BY name;
ALTER TABLE one DROP CONSTRAINT one_tenant_id_fkey;
-- Rows are the same, however many come.
SELECT * FROM compare('SELECT one.v FROM one JOIN half USING (tenant, id) JOIN three USING (tenant, id) WHERE three.v < 3000');
SET client_min_messages = warning;
DROP SCHEMA planning_keys CASCADE;
