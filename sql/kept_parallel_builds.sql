-- Build sides whose columns the server keeps, in parallel plans: of those that participants read together, chunks are handed
-- out like blocks; of those that one reads, it uses what the leader has decided on. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/parallel.sql
\i sql/include/kept_builds.sql
\set ECHO all
CREATE UNLOGGED TABLE sale (k integer, n integer);  -- is not kept: workers divide it among themselves
INSERT INTO sale SELECT i * 7919 % 20000, i % 50 FROM generate_series(1, 30000) AS i;
-- Of three chunks, and of one.
CREATE TABLE part (id integer, brand integer, price numeric(12, 2), name text, pad text) WITH (fillfactor = 10);
INSERT INTO part SELECT i, i % 40, i % 900 / 100.0, CASE WHEN i % 9 <> 0 THEN 'n' || i % 70 END, repeat('x', 700) FROM generate_series(1, 17000) AS i;
CREATE TABLE maker (brand integer, name text, pad text) WITH (fillfactor = 10, parallel_workers = 0);
INSERT INTO maker SELECT i % 45, 'm' || i % 7, repeat('x', 700) FROM generate_series(1, 180) AS i;
VACUUM ANALYZE part, maker, sale;
ALTER TABLE sale SET (parallel_workers = 2);

-- Read together, and by one.
SELECT q, r.* FROM unnest(ARRAY[
    'SELECT s.n, count(*), sum(p.price) FROM sale s LEFT JOIN part p ON s.k = p.id GROUP BY s.n',
    'SELECT s.n, p.brand, p.name FROM sale s LEFT JOIN part p ON s.k = p.id AND p.brand BETWEEN 3 AND 9 WHERE s.n < 10',
    'SELECT s.n, p.name FROM sale s LEFT JOIN part p ON s.k = p.id AND p.name LIKE ''%7'' WHERE s.n < 5',
    'SELECT s.* FROM sale s WHERE NOT EXISTS (SELECT FROM part p WHERE s.k = p.id AND p.brand < 30)',
    'SELECT m.name, count(*) FROM sale s LEFT JOIN maker m ON s.n = m.brand GROUP BY m.name',
    'SELECT m.name, p.name, count(*) FROM sale s LEFT JOIN part p ON s.k = p.id LEFT JOIN maker m ON m.brand = p.brand GROUP BY m.name, p.name']) AS q, built(q) AS r;
-- These plans are parallel.
SET gpujoin.force = on;
SELECT q, bool_or(line LIKE '%Parallel Custom Scan%') AS parallel, bool_or(line LIKE '%Parallel Seq Scan on part%') AS together,
    bool_or(line LIKE '%  Seq Scan on maker%') AS by_one
FROM unnest(ARRAY['SELECT s.n, count(*), sum(p.price) FROM sale s LEFT JOIN part p ON s.k = p.id GROUP BY s.n',
                  'SELECT m.name, count(*) FROM sale s LEFT JOIN maker m ON s.n = m.brand GROUP BY m.name']) AS q, plan_of(q) AS line GROUP BY q ORDER BY q;
RESET gpujoin.force;

-- What has changed since is read from the heap.
CREATE FUNCTION of_part() RETURNS TABLE (chunks integer, few boolean, "rows" integer, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT chunks, read BETWEEN 1 AND 200, rows, missing, extra FROM built('SELECT s.n, count(*), sum(p.price) FROM sale s LEFT JOIN part p ON s.k = p.id GROUP BY s.n') $$;
UPDATE part SET price = price + 1 WHERE id IN (1, 8167, 8168, 8169, 16000);
SELECT * FROM of_part();
DELETE FROM part WHERE id BETWEEN 10000 AND 10100;
SELECT * FROM of_part();
VACUUM part;
SELECT * FROM of_part();
BEGIN;
ALTER TABLE part ADD COLUMN extra integer DEFAULT 4;
SELECT chunks IS NULL AS unused, rows, missing, extra FROM built('SELECT s.n, sum(p.extra) FROM sale s LEFT JOIN part p ON s.k = p.id GROUP BY s.n');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT chunks IS NULL AS unused, rows, missing, extra FROM built('SELECT s.n, count(*) FROM sale s LEFT JOIN part p ON s.k = p.id GROUP BY s.n');
COMMIT;

-- However many workers start, where the leader only waits, and plans that start again and again.
SELECT workers, launched, leader, r.* FROM (VALUES (2, 0, true), (1, 8, true), (4, 8, true), (2, 8, false)) AS w (workers, launched, leader),
    LATERAL (SELECT set_config('max_parallel_workers_per_gather', workers::text, false), set_config('max_parallel_workers', launched::text, false),
                    set_config('parallel_leader_participation', leader::text, false)) AS s,
    LATERAL (SELECT k.chunks, k.rows, k.missing, k.extra
             FROM built('SELECT s.n, count(p.name) FROM sale s LEFT JOIN part p ON s.k = p.id WHERE s.n < ' || 20 + workers + (s IS NULL)::integer || ' GROUP BY s.n') AS k) AS r;
RESET max_parallel_workers_per_gather;
RESET max_parallel_workers;
RESET parallel_leader_participation;
SET enable_material = off;
SELECT rows, missing, extra FROM built('SELECT g, q.* FROM generate_series(1, 3) AS g LEFT JOIN
    (SELECT s.n, sum(p.price) FROM sale s LEFT JOIN part p ON s.k = p.id GROUP BY s.n) AS q ON q.n <> g');
RESET enable_material;
DROP TABLE part, maker, sale;
DROP FUNCTION of_part, built, compare_kept, kept_by;
