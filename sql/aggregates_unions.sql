-- UNION ALL, partitioned tables and those with heirs below aggregates and joins: what an Append would pass on is read part by part, from the
-- pages of each table or from what is kept of it. The same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/explain.sql
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE shop (id int, day int, item int, price numeric(9, 2), cost numeric(9, 2), note text);
CREATE TABLE web (note text, price numeric(9, 2), day int, id int, gone int, item int, fee numeric(7, 3));
ALTER TABLE web DROP COLUMN gone;
INSERT INTO shop SELECT i, CASE WHEN i % 11 <> 0 THEN i % 300 END, i % 50, CASE WHEN i % 7 <> 0 THEN (i % 9000) / 7.0 END, i / 3.0, repeat('s', 40) || i % 10 FROM generate_series(1, 20000) i;
INSERT INTO web (id, day, item, price, fee, note) SELECT i, i % 400, i % 70, CASE WHEN i % 5 <> 0 THEN -(i % 5000) / 3.0 END, i / 7.0, repeat('w', 40) || i % 13 FROM generate_series(1, 15000) i;
CREATE TABLE wide AS SELECT (i + 900000000000000)::numeric(18, 2) AS w, 9000000000000000000 + i AS n FROM generate_series(1, 2000) i;
CREATE TABLE days AS SELECT i AS day, i / 30 AS month, 'day ' || i % 7 AS name FROM generate_series(0, 350) i;
CREATE TABLE nothing (LIKE shop);
CREATE TABLE sold (id int, day int, price numeric(9, 2), region text) PARTITION BY RANGE (day);
CREATE TABLE sold_1 PARTITION OF sold FOR VALUES FROM (0) TO (100) WITH (fillfactor = 10);
CREATE TABLE sold_2 (region text, gone int, price numeric(9, 2), day int, id int) WITH (fillfactor = 10);
ALTER TABLE sold_2 DROP COLUMN gone;
ALTER TABLE sold ATTACH PARTITION sold_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE sold_3 PARTITION OF sold FOR VALUES FROM (200) TO (300) PARTITION BY LIST (region);
CREATE TABLE sold_north PARTITION OF sold_3 FOR VALUES IN ('north') WITH (fillfactor = 10);
CREATE TABLE sold_south PARTITION OF sold_3 DEFAULT;
INSERT INTO sold SELECT i, i % 300, (i % 4000) / 9.0, CASE i % 3 WHEN 0 THEN 'north' WHEN 1 THEN 'south' END FROM generate_series(1, 30000) i;
CREATE TABLE base (id int, day int, price numeric(9, 2)) WITH (fillfactor = 10);
CREATE TABLE heir (more text) INHERITS (base) WITH (fillfactor = 10);
INSERT INTO base SELECT i, i % 200, i / 9.0 FROM generate_series(1, 9000) i;
INSERT INTO heir SELECT i, i % 100, i / 7.0, 'more' FROM generate_series(1, 8000) i;
VACUUM (FREEZE, ANALYZE) shop, web, wide, days, nothing, sold, sold_1, sold_2, sold_north, sold_south, base, heir;

-- How it looks.
SET gpujoin.force = on;
SELECT line FROM analyzed('SELECT month, sum(price), sum(fee), count(*) FROM (SELECT day, price, 0.000 AS fee FROM shop UNION ALL SELECT day, price, fee FROM web) AS x JOIN days USING (day) GROUP BY month') AS line WHERE line ~ 'GPU|Append|Seq';
RESET gpujoin.force;

CREATE VIEW queries AS SELECT * FROM unnest(ARRAY[
    'SELECT day, count(*), sum(price), avg(price), min(price), max(price) FROM (SELECT day, price FROM shop UNION ALL SELECT day, price FROM web) AS x GROUP BY day',
    'SELECT name, month, sum(price), sum(fee), sum(cost), count(fee) FROM (SELECT day, price, 0.000 AS fee, cost FROM shop UNION ALL SELECT day, price, fee, NULL::numeric FROM web) AS x JOIN days USING (day) GROUP BY name, month',
    'SELECT kind, sum(price), sum(a), sum(b), count(*) FROM (SELECT ''shop'' AS kind, price, 0::numeric(7, 2) AS a, 0::numeric(7, 2) AS b, day FROM shop UNION ALL SELECT ''web'', price, price, price, day FROM web UNION ALL SELECT NULL, cost, 1::numeric(7, 2), 2::numeric(7, 2), day FROM shop) AS x GROUP BY kind',
    'SELECT sum(price), sum(other) FROM (SELECT price, cost AS other FROM shop UNION ALL SELECT price, fee FROM web) AS x',
    'SELECT item, sum(price) FROM (SELECT item, price FROM shop WHERE day < 100 UNION ALL SELECT item, price FROM web WHERE id > 3000 AND note LIKE ''%3'' UNION ALL SELECT item, price FROM nothing) AS x WHERE price > 10 OR price < -10 GROUP BY item',
    'SELECT sum(x.price - coalesce(x.fee, 0)), count(DISTINCT day) FROM (SELECT * FROM (SELECT day, price, 1.50 AS fee FROM shop UNION ALL SELECT day, price, NULL FROM shop) AS y UNION ALL SELECT day, price, 2.25 FROM web) AS x',
    'SELECT day, count(*), sum(price) FROM sold GROUP BY day',
    'SELECT day % 5, sum(v), avg(v) FROM (SELECT day, price * cost - coalesce(cost, 0) AS v FROM shop OFFSET 0) AS x GROUP BY 1',
    'SELECT month, sum(v), avg(v), min(v) FROM (SELECT month, price - coalesce(cost, 0) AS v FROM shop JOIN days USING (day) UNION ALL SELECT month, price FROM web LEFT JOIN days USING (day) UNION ALL SELECT 0, 7.25) AS x GROUP BY month',
    'SELECT sum(v), avg(v) FROM (SELECT round(price, 1) AS v FROM shop OFFSET 0) AS x',
    'SELECT sum(v) FROM (SELECT w * 1000.5 AS v FROM wide OFFSET 0) AS x',
    'SELECT sum(v), count(*) FILTER (WHERE v > 3) FROM (SELECT w * 100 + w AS v FROM wide UNION ALL SELECT w FROM wide) AS x',
    'SELECT sum(v) FROM (SELECT n::numeric AS v FROM wide UNION ALL SELECT 0::numeric FROM wide) AS x',
    'SELECT sum(v), avg(v) FROM (SELECT w AS v FROM wide UNION ALL SELECT -price FROM shop) AS x',
    'SELECT sum(v), avg(v), count(*) FROM (SELECT DISTINCT price AS v FROM (SELECT price FROM shop UNION SELECT price FROM web) AS y) AS x',
    'SELECT avg(v) FROM (SELECT sum(price) AS v, max(cost) AS w FROM shop GROUP BY item) AS x',
    'SELECT month, region, count(*), sum(price) FROM sold JOIN days USING (day) WHERE day > 50 GROUP BY month, region',
    'SELECT region, sum(price) FROM sold WHERE day BETWEEN 120 AND 220 GROUP BY region',
    'SELECT day, tableoid::regclass::text, sum(price) FROM sold WHERE id < 4000 GROUP BY 1, 2',
    'SELECT day, sum(price), count(*) FROM base GROUP BY day',
    'SELECT name, sum(price) FROM base LEFT JOIN days USING (day) GROUP BY name',
    'SELECT x.id, x.price, name FROM (SELECT id, day, price FROM shop UNION ALL SELECT id, day, price FROM web) AS x JOIN days USING (day) WHERE month = 3',
    'SELECT x.id, name FROM days JOIN sold AS x USING (day) WHERE id % 7 = 3',
    'SELECT d.day, count(x.id) FROM days AS d LEFT JOIN (SELECT id, day FROM shop WHERE item = 5 UNION ALL SELECT id, day FROM web WHERE item = 6) AS x USING (day) GROUP BY d.day',
    'SELECT d.day FROM days AS d WHERE NOT EXISTS (SELECT FROM (SELECT day FROM shop UNION ALL SELECT day FROM web) AS x WHERE x.day = d.day)',
    'SELECT name, (SELECT sum(price) FROM (SELECT day, price FROM shop UNION ALL SELECT day, price FROM web) AS x WHERE x.day = d.day) FROM days AS d WHERE d.day < 9',
    'SELECT n, s.* FROM generate_series(1, 3) AS n, LATERAL (SELECT count(*), sum(price) FROM (SELECT item, price FROM shop UNION ALL SELECT item, price FROM web) AS x WHERE x.item % 3 <> n) AS s',
    'SELECT n, s.* FROM generate_series(1, 3) AS n, LATERAL (SELECT month, sum(price) FROM sold JOIN days USING (day) WHERE month = n GROUP BY month) AS s'
    ]) WITH ORDINALITY AS q (query, n);
SELECT q.n, c.* FROM queries AS q, compare_nodes(q.query) AS c ORDER BY 1;

-- Again, from what is kept; when some blocks have changed; and without.
CREATE TABLE used AS SELECT q.n, c.chunks > 0 AS keeps, c.missing + c.extra AS differ FROM queries AS q, compare_kept(q.query, 4) AS c;
SELECT n FROM used WHERE keeps ORDER BY n;
SELECT * FROM used WHERE differ <> 0;
UPDATE shop SET price = price + 1 WHERE id % 1000 = 7;
DELETE FROM web WHERE id BETWEEN 5000 AND 5100;
INSERT INTO sold SELECT i, i % 300, i, 'south' FROM generate_series(1, 500) i;
UPDATE base SET price = 0 WHERE id = 4;
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_kept(q.query) AS c WHERE c.missing + c.extra > 0;
SELECT gpujoin_forget();
SELECT q.n, c.rows, c.missing, c.extra FROM queries AS q, compare_kept(q.query, 1) AS c WHERE c.missing + c.extra > 0;
-- The same constant in another form.
SELECT gpujoin_forget();
SELECT c.rows, c.missing, c.extra FROM unnest(ARRAY['SELECT fee, count(*) FROM (SELECT 1.50::numeric(7, 2) AS fee, day FROM shop UNION ALL SELECT price, day FROM web) AS x GROUP BY fee',
    'SELECT day % 3, sum(fee) FROM (SELECT 1.50::numeric(7, 2) AS fee, day FROM shop UNION ALL SELECT price::numeric(7, 2), day FROM web) AS x GROUP BY 1', 'SELECT sum(fee), max(day) FROM (SELECT 1.50::numeric(7, 2) AS fee, day FROM shop UNION ALL SELECT cost::numeric(7, 2), day FROM shop) AS x',
    'SELECT sum(fee) FROM (SELECT 1.50::numeric(7, 2) AS fee, day FROM shop UNION ALL SELECT 2.50::numeric(7, 2), day FROM shop) AS x', 'SELECT fee, sum(fee) FROM (SELECT 1.50::numeric(7, 2) AS fee, day FROM shop UNION ALL SELECT 2.50::numeric(7, 2), day FROM shop) AS x GROUP BY fee']) AS query, compare_kept(query, 4) AS c;

-- Partitions that are chosen when the plan runs.
SET plan_cache_mode = force_generic_plan;
SET gpujoin.force = on;
PREPARE of_days(int, int) AS SELECT count(*), sum(price) FROM sold WHERE day BETWEEN $1 AND $2;
EXECUTE of_days(10, 20);
EXECUTE of_days(110, 250);
SET gpujoin.enabled = off;
EXECUTE of_days(10, 20);
EXECUTE of_days(110, 250);
RESET gpujoin.enabled;
-- In parallel plans.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) FROM (SELECT c.* FROM queries AS q, compare_nodes(q.query) AS c WHERE (c.missing + c.extra > 0 OR c.other_error IS NOT NULL)) AS d;
DROP TABLE shop, web, wide, days, nothing, sold, base, heir, used;
DROP VIEW queries;
