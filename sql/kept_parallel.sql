-- Columns that the server keeps in parallel plans: participants share the chunks among themselves, kept ones and those that
-- they make, and read the other blocks together. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/parallel.sql
\i sql/include/kept.sql
\set ECHO all
-- Of three chunks.
CREATE TABLE long (id integer, k integer, v integer, t text, pad text) WITH (fillfactor = 10);
INSERT INTO long SELECT i, i % 10, i % 100, 't' || i % 7, repeat('x', 700) FROM generate_series(1, 17000) AS i;
VACUUM ANALYZE long;
UPDATE long SET v = v WHERE id % 20 = 7;  -- what must be read is for workers to divide: of kept rows alone one process is enough
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 3 AS name FROM generate_series(0, 9) AS i;
ANALYZE dim;
CREATE FUNCTION of_long(query text DEFAULT 'SELECT k, sum(v), count(*), max(id) FROM long GROUP BY k', runs integer DEFAULT 2)
RETURNS TABLE (chunks integer, "read" integer, "rows" integer, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT r.* FROM compare_kept(query, runs) AS r $$;
-- The plan is parallel.
SET gpujoin.force = on;
SELECT bool_or(line LIKE '%Parallel Custom Scan (GPU Aggregate)%') AS parallel
    FROM plan_of('SELECT k, sum(v), count(*), max(id) FROM long GROUP BY k') AS line;
RESET gpujoin.force;
SELECT * FROM of_long();
SELECT * FROM of_long('SELECT name, sum(v), count(*) FROM long JOIN dim USING (k) WHERE id > 100 AND t <> ''t3'' GROUP BY name', 3);
SELECT * FROM of_long('SELECT count(*), sum(v) FROM long WHERE id < 0');
-- It still is.
SET gpujoin.force = on;
SELECT bool_or(line LIKE '%Parallel Custom Scan (GPU Aggregate)%') AS parallel
    FROM plan_of('SELECT k, sum(v), count(*), max(id) FROM long GROUP BY k') AS line;
RESET gpujoin.force;

-- Who takes a chunk reads what is not proven of it when it makes it; others, what was not when it was decided.
UPDATE long SET v = v + 1 WHERE id IN (1, 8167, 8168, 8169, 8170, 16000, 17000);
SELECT * FROM of_long();
DELETE FROM long WHERE id BETWEEN 10000 AND 10100 OR id > 16900;
SELECT * FROM of_long();
VACUUM long;
UPDATE long SET v = v WHERE id % 20 = 7;
SELECT * FROM of_long();

-- However many workers start, and where the leader only waits.
SELECT workers, launched, leader, r.* FROM (VALUES (2, 0, true), (1, 8, true), (4, 8, true), (2, 8, false)) AS w (workers, launched, leader),
    LATERAL (SELECT set_config('max_parallel_workers_per_gather', workers::text, false), set_config('max_parallel_workers', launched::text, false),
                    set_config('parallel_leader_participation', leader::text, false)) AS s,
    LATERAL (SELECT k.* FROM compare_kept('SELECT k, sum(v), count(*), max(id) FROM long WHERE v < ' || 90 + workers || ' GROUP BY k', 2 + (s IS NULL)::integer) AS k) AS r;
RESET max_parallel_workers_per_gather;
RESET max_parallel_workers;
RESET parallel_leader_participation;

-- Parallel plans that start again and again, and end early.
SET max_parallel_workers_per_gather = 2;
SET enable_material = off;
SELECT * FROM of_long('SELECT n, s.* FROM generate_series(1, 3) AS n LEFT JOIN (SELECT k, sum(v) FROM long GROUP BY k) AS s ON s.k <> n');
SET gpujoin.force = on;
SELECT count(*) FROM (SELECT k, sum(v) FROM long GROUP BY k LIMIT 3) AS q;
SELECT EXISTS (SELECT sum(v) FROM long GROUP BY k) AS some;
-- One process runs a parallel plan alone where not all rows are asked for at once.
BEGIN;
DECLARE c CURSOR FOR SELECT k, sum(v) FROM long GROUP BY k ORDER BY k;
FETCH 2 FROM c;
UPDATE long SET v = v + 1000 WHERE id < 1000;
FETCH 2 FROM c;
ROLLBACK;
-- Nothing is used of what this transaction may have changed.
BEGIN;
UPDATE long SET v = v + 1 WHERE id % 700 = 7;
RESET gpujoin.force;
SELECT chunks, read BETWEEN 900 AND 2000 AS some, rows, missing, extra FROM of_long();
ALTER TABLE long ADD COLUMN e integer DEFAULT 4;
SELECT chunks IS NULL AS unused, rows, missing, extra FROM of_long('SELECT k, sum(e) FROM long GROUP BY k');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT chunks IS NULL AS unused, rows, missing, extra FROM of_long();
COMMIT;
-- Of rows that are kept a plan without workers is the cheaper one, though core would read the table with workers.
SET max_parallel_workers_per_gather = 2;
RESET gpujoin.encode_cost;
RESET gpujoin.startup_cost;
VACUUM long;
SELECT gpujoin_keep('long') > 0 AS kept;
SET gpujoin.force = on;
SELECT bool_or(line LIKE '%Parallel Seq Scan on long%') AS parallel, bool_or(line LIKE '%Custom Scan (GPU Aggregate)%') AS aggregated
    FROM plan_of('SELECT k, sum(v), max(id) FROM long WHERE v < 3 GROUP BY k') AS line;
SELECT bool_or(line LIKE '%Parallel Seq Scan on long%') AS parallel, bool_or(line LIKE '%Custom Scan (GPU Aggregate)%') AS aggregated
    FROM plan_of('SELECT name, sum(v) FROM long JOIN dim USING (k) WHERE v < 3 GROUP BY name') AS line;
SELECT bool_or(line LIKE '%Parallel Seq Scan on long%') AS parallel
    FROM plan_of('SELECT i, v FROM generate_series(1, 3000) AS i LEFT JOIN long ON id = i AND v < 3') AS line;
RESET gpujoin.force;

-- Where texts are sorted to be grouped, several processes share that, though one would read what is kept as quickly.
CREATE TABLE visit (id integer, k integer, page text) WITH (fillfactor = 30);
INSERT INTO visit SELECT i, i % 10, 'page ' || i % 977 FROM generate_series(1, 60000) AS i;
VACUUM ANALYZE visit;
RESET gpujoin.encode_cost;
SET gpujoin.build_cost = 0.0024;
SET gpujoin.probe_cost = 0.0002;
SET gpujoin.match_cost = 0.0002;
SET gpujoin.transfer_cost = 20;
SET enable_hashagg = off;
SET parallel_setup_cost = 3000;
SET parallel_tuple_cost = 0.01;
SET cpu_tuple_cost = 1;  -- whatever a join is found to take to begin
SET gpujoin.startup_cost = 0;
SET max_parallel_workers_per_gather = 4;
SELECT c.chunks > 0 AS kept, c.missing, c.extra FROM compare_kept('SELECT page, k, max(id) FROM visit GROUP BY page, k', 3) AS c;
\set visits 'SELECT page, name, json_array_length(json_agg(id)) FROM visit JOIN dim USING (k) GROUP BY page, name'
SELECT array_agg(substring(line FROM '(GPU Join|Gather Merge|Sort|GroupAggregate)')) AS nodes
FROM plan_of(:'visits') AS line WHERE line ~ 'GPU|Gather|> +Sort|GroupAggregate';
SELECT c.missing, c.extra FROM compare(:'visits') AS c;
DROP TABLE visit;
DROP TABLE long, dim;
DROP FUNCTION of_long, compare_kept, kept_by;
