-- Tables of several chunks: blocks on both sides of a chunk's end and of a page of the map, an end that is cut off and comes again, scans that begin
-- in the middle.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE long (id integer, k integer, v integer, pad text) WITH (fillfactor = 10);
INSERT INTO long SELECT i, i % 10, i % 100, repeat('x', 700) FROM generate_series(1, 33000) AS i;
VACUUM (FREEZE, ANALYZE) long;  -- which waits for pages that others have pinned
SELECT pg_relation_size('long') / 8192 AS blocks;
CREATE FUNCTION of_long() RETURNS TABLE (chunks integer, "read" integer, "rows" integer, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT r.* FROM compare_kept('SELECT k, sum(v), count(*), max(id) FROM long GROUP BY k') AS r $$;
SELECT * FROM of_long();
UPDATE long SET v = v + 1 WHERE id IN (1, 8168, 8169, 32671, 32672, 32673, 32674, 33000);
SELECT * FROM of_long();
SELECT * FROM compare_kept('SELECT k, sum(v), max(id) FROM long WHERE id > 32600 AND v < 60 GROUP BY k');
DELETE FROM long WHERE id > 32700;
VACUUM long;
SELECT pg_relation_size('long') / 8192 AS blocks;
SELECT * FROM of_long();
INSERT INTO long SELECT i, i % 10, i % 100, repeat('y', 700) FROM generate_series(32701, 33000) AS i;
SELECT * FROM of_long();
VACUUM long;
SELECT * FROM of_long();
DELETE FROM long WHERE id > 32000;
VACUUM long;
SELECT * FROM of_long();
INSERT INTO long SELECT i, i % 10, i % 50, repeat('z', 700) FROM generate_series(32001, 33500) AS i;
SELECT * FROM of_long();
VACUUM long;
-- 675: the chunk is proven by its pages. If too many of them do not lie in shared buffers, which are smaller than the table, it is made again.
SELECT chunks, read IN (675, 3) AS "few are read", rows, missing, extra FROM of_long();
-- What could be added is, when scans have read as much as making the chunk again takes.
SELECT min(read) AS then, min(missing + extra) AS same FROM generate_series(1, 4) AS i,
    LATERAL (SELECT * FROM compare_kept('SELECT k, sum(v), count(*), max(id) FROM long WHERE v > ' || -i || ' GROUP BY k')) AS r;
SELECT * FROM of_long();
DROP TABLE long;
-- Where too few blocks are visible to make a chunk again, what there is of it is used by every scan.
CREATE TABLE half (id integer, k integer, v integer, pad text) WITH (fillfactor = 10);
INSERT INTO half SELECT i, i % 10, i % 100, repeat('x', 700) FROM generate_series(1, 4000) AS i;
VACUUM ANALYZE half;
SELECT gpujoin_keep('half') > 3000 AS kept;
UPDATE half SET v = v + 1 WHERE id <= 800;
VACUUM half;
UPDATE half SET v = v + 1 WHERE id > 1600;
SELECT max(read) < 3900 AS always, sum(missing + extra) AS differ FROM generate_series(1, 6) AS i,
    LATERAL (SELECT * FROM compare_kept('SELECT k, sum(v), count(*) FROM half WHERE v > ' || -i || ' GROUP BY k')) AS r;
DROP TABLE half;
DROP FUNCTION of_long, compare_kept, kept_by;
