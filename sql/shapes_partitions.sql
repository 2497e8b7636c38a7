-- Inheritance and partitioned tables, with and without partitionwise joins: several joins in one plan, children with
-- other column orders, dropped columns and types of their own, pruning, and default partitions.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE orders (k integer, g integer, t text) PARTITION BY RANGE (k);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE orders_2 (gone text, t text, g integer, k integer);
ALTER TABLE orders_2 DROP COLUMN gone;
ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE orders_3 PARTITION OF orders FOR VALUES FROM (200) TO (400) PARTITION BY LIST (g);
CREATE TABLE orders_3_a PARTITION OF orders_3 FOR VALUES IN (1, 2, 3, NULL);
CREATE TABLE orders_3_b PARTITION OF orders_3 DEFAULT;
CREATE TABLE orders_rest PARTITION OF orders DEFAULT;
CREATE TABLE items (k integer, g integer, w text) PARTITION BY RANGE (k);
CREATE TABLE items_1 PARTITION OF items FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE items_2 PARTITION OF items FOR VALUES FROM (100) TO (200);
CREATE TABLE items_3 PARTITION OF items FOR VALUES FROM (200) TO (400);
CREATE TABLE items_rest PARTITION OF items DEFAULT;
INSERT INTO orders SELECT CASE WHEN i % 50 <> 0 THEN i END, CASE WHEN i % 9 <> 0 THEN i % 9 END, 'o' || i FROM generate_series(1, 500) AS i;
INSERT INTO items SELECT CASE WHEN i % 40 <> 0 THEN i END, i % 7, repeat('w', i % 5) || i FROM generate_series(1, 500, 2) AS i;
CREATE TABLE parent (k integer, t text);
CREATE TABLE child (extra integer) INHERITS (parent);
CREATE TABLE grandchild (more text) INHERITS (child);
INSERT INTO parent SELECT i, 'p' || i FROM generate_series(1, 50) AS i;
INSERT INTO child SELECT i, 'c' || i, i FROM generate_series(30, 90) AS i;
INSERT INTO grandchild SELECT i, 'g' || i, i, 'm' FROM generate_series(80, 120) AS i;
ANALYZE orders, items, parent, child, grandchild;

CREATE FUNCTION compare_partitions() RETURNS TABLE (query text, taken boolean, "rows" bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT query, c.*
    FROM unnest(ARRAY[
        'SELECT o.*, i.w FROM orders o JOIN items i ON o.k = i.k',
        'SELECT o.*, i.* FROM orders o LEFT JOIN items i ON o.k = i.k AND o.g <= i.g',
        'SELECT o.*, i.* FROM orders o RIGHT JOIN items i ON o.k = i.k AND o.g <= i.g',
        'SELECT o.k, i.k AS ik, o.t, i.w FROM orders o FULL JOIN items i ON o.k = i.k',
        'SELECT o FROM orders o WHERE EXISTS (SELECT FROM items i WHERE o.k = i.k)',
        'SELECT o FROM orders o WHERE NOT EXISTS (SELECT FROM items i WHERE o.k = i.k AND o.g = i.g)',
        'SELECT o, i FROM orders o JOIN items i ON o.k = i.k',
        'SELECT o.tableoid::regclass AS ot, i.tableoid::regclass AS it, o.ctid, i.k FROM orders o JOIN items i USING (k)',
        'SELECT o.k, i.k AS ik FROM orders o JOIN items i ON o.k BETWEEN i.k - 1 AND i.k + 1',
        'SELECT o.k, i.k AS ik FROM orders o LEFT JOIN items i ON o.k = i.k AND i.k < 150 WHERE o.k < 230',
        'SELECT o.k, i.g FROM orders o JOIN items i ON o.g = i.g WHERE o.k > 450',
        'SELECT o.k, i.w, x.t FROM orders o JOIN items i ON o.k = i.k LEFT JOIN orders x ON x.k = i.k AND x.g = 3',
        'SELECT o.g, count(*), sum(i.k) FROM orders o JOIN items i USING (k) GROUP BY o.g',
        'SELECT o.k FROM orders o JOIN items i USING (k) ORDER BY o.k LIMIT 5',
        'SELECT p, c.extra FROM parent p JOIN child c ON p.k = c.k',
        'SELECT p.k, p.tableoid::regclass AS pt, g.more FROM parent p LEFT JOIN grandchild g ON p.k = g.k',
        'SELECT p.k FROM ONLY parent p JOIN orders o ON p.k = o.k',
        'SELECT p.k, q.k AS qk FROM parent p FULL JOIN parent q ON p.k = q.k + 40']) WITH ORDINALITY AS queries (query, i),
         compare(query) AS c
    ORDER BY i
$$;
SELECT * FROM compare_partitions();
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT * FROM compare_partitions();
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT o.k, i.w FROM orders o LEFT JOIN items i ON o.k = i.k WHERE o.k < 250;
RESET gpujoin.force;
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;

-- UNION ALL is an append as well.
SELECT * FROM compare('SELECT o.t, s.x FROM orders o JOIN (SELECT k, t AS x FROM parent UNION ALL SELECT k, w FROM items) s ON o.k = s.k');

-- Pruning at run time, and rows that move between partitions.
PREPARE pruned(integer) AS SELECT count(*), sum(i.k) FROM orders o JOIN items i ON o.k = i.k WHERE o.k < $1 AND i.k < $1;
SET plan_cache_mode = force_generic_plan;
SET gpujoin.force = on;
EXECUTE pruned(150);
EXECUTE pruned(0);
EXECUTE pruned(1000);
SET gpujoin.force = off;
RESET plan_cache_mode;
DEALLOCATE pruned;
PREPARE plain(integer) AS SELECT count(*), sum(i.k) FROM orders o JOIN items i ON o.k = i.k WHERE o.k < $1 AND i.k < $1;
EXECUTE plain(150);
EXECUTE plain(0);
EXECUTE plain(1000);
DEALLOCATE plain;
SET gpujoin.force = on;
BEGIN;
UPDATE orders o SET k = o.k + 100, t = i.w FROM items i WHERE o.k = i.k AND i.g = 3;
SELECT count(*), count(DISTINCT tableoid), sum(k), max(t) FROM orders;
DELETE FROM orders o USING items i WHERE o.k = i.k + 1;
SELECT count(*), sum(k) FROM orders;
ROLLBACK;
SET gpujoin.enabled = off;
BEGIN;
UPDATE orders o SET k = o.k + 100, t = i.w FROM items i WHERE o.k = i.k AND i.g = 3;
SELECT count(*), count(DISTINCT tableoid), sum(k), max(t) FROM orders;
DELETE FROM orders o USING items i WHERE o.k = i.k + 1;
SELECT count(*), sum(k) FROM orders;
ROLLBACK;
RESET gpujoin.enabled;
RESET gpujoin.force;
DROP FUNCTION compare_partitions;
DROP TABLE orders, items, parent, child, grandchild;
