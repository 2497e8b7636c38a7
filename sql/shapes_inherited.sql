-- UPDATE, DELETE and MERGE of partitioned and inherited tables: the join hands on which row of which leaf is meant.
-- Each statement is run with core's joins and with GPU Join and rolled back; what it returns and leaves is compared.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\i sql/include/writes.sql
\set ECHO all
CREATE TABLE t (k integer, g integer, x text) PARTITION BY RANGE (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE t_2 (gone text, x text, g integer, k integer);
ALTER TABLE t_2 DROP COLUMN gone;
ALTER TABLE t ATTACH PARTITION t_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE t_3 PARTITION OF t FOR VALUES FROM (200) TO (MAXVALUE) PARTITION BY LIST (g);
CREATE TABLE t_3_a PARTITION OF t_3 FOR VALUES IN (1, 2, 3);
CREATE TABLE t_3_b PARTITION OF t_3 DEFAULT;
CREATE TABLE s (k integer, g integer, x text) PARTITION BY RANGE (k);
CREATE TABLE s_1 PARTITION OF s FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE s_2 PARTITION OF s FOR VALUES FROM (100) TO (200);
CREATE TABLE s_3 PARTITION OF s FOR VALUES FROM (200) TO (MAXVALUE);
CREATE TABLE u (k integer, g integer, x text);
CREATE TABLE u_1 (extra integer) INHERITS (u);
CREATE TABLE u_2 (x text, extra integer, g integer, k integer);
ALTER TABLE u_2 INHERIT u_1, INHERIT u;
INSERT INTO t SELECT i, i % 7, 't' || i FROM generate_series(1, 400) AS i;
INSERT INTO s SELECT i, i % 5, 's' || i FROM generate_series(1, 600, 3) AS i;
INSERT INTO u SELECT i, i % 6, 'u' || i FROM generate_series(1, 60) AS i;
INSERT INTO u_1 SELECT i, i % 6, 'u' || i, i FROM generate_series(61, 130) AS i;
INSERT INTO u_2 SELECT 'u' || i, i, i % 6, i FROM generate_series(131, 260) AS i;
ANALYZE t, s, u, u_1, u_2;

-- The rows of all tables, with the tables that they are in.
CREATE FUNCTION all_rows() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT t.tableoid || t::text FROM t UNION ALL SELECT u.tableoid || u::text FROM u;
END $$;

SELECT statement, partitionwise, c.*
FROM unnest(ARRAY[
    'UPDATE t SET x = s.x FROM s WHERE t.k = s.k', 'UPDATE t SET x = s.x, g = 3 FROM s WHERE t.k = s.k AND t.g < s.g RETURNING t.*, s.x, t.tableoid', 'UPDATE t SET k = t.k + 90 FROM s WHERE t.k = s.k RETURNING t, s',
    'UPDATE t SET x = NULL WHERE k IN (SELECT k FROM s)', 'UPDATE t SET x = NULL WHERE EXISTS (SELECT FROM s WHERE s.k BETWEEN t.k - 1 AND t.k)', 'UPDATE t SET x = NULL WHERE NOT EXISTS (SELECT FROM s WHERE s.k = t.k)', 'UPDATE t SET g = y.g FROM t y WHERE t.k = y.k + 1',
    'UPDATE t SET x = a.x || b.x FROM s a JOIN u b ON a.g = b.g WHERE t.k = a.k AND b.k = 130', 'UPDATE t SET x = u.x FROM u, s WHERE t.k = u.k AND s.k = u.k AND (t.x, s.x) IN (SELECT y.x, s.x FROM t y)',
    'DELETE FROM t USING s WHERE t.k = s.k', 'DELETE FROM t USING s LEFT JOIN u USING (k) WHERE t.k = s.k RETURNING *', 'DELETE FROM t WHERE k IN (SELECT g FROM s)', 'DELETE FROM t WHERE (k, g) NOT IN (SELECT k, g FROM s)', 'DELETE FROM t USING u WHERE t.k = u.k RETURNING t.x, u.x',
    'DELETE FROM t USING s, u WHERE t.k = s.k AND u.k = s.k', 'DELETE FROM t WHERE EXISTS (SELECT FROM s JOIN u USING (k) WHERE s.k = t.k) AND g < 5',
    'MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND s.g > 2 THEN UPDATE SET x = s.x WHEN MATCHED AND s.g = 0 THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.g, ''new'')', 'MERGE INTO t USING s ON t.k = s.k AND t.g = s.g WHEN NOT MATCHED THEN INSERT VALUES (s.k)',
    'MERGE INTO t USING (SELECT s.k, count(*) AS n FROM s JOIN u USING (g) GROUP BY s.k) y ON t.k = y.k WHEN MATCHED THEN UPDATE SET k = t.k + 1, g = y.n', 'MERGE INTO t USING u ON t.k = u.k AND t.x = ''t'' || u.k WHEN MATCHED THEN DELETE',
    'UPDATE u SET x = s.x FROM s WHERE u.k = s.k RETURNING u.*, u.tableoid, s', 'UPDATE u SET g = u.g + 1 WHERE k IN (SELECT k FROM s)', 'UPDATE u SET g = 9 WHERE k IN (SELECT k FROM t WHERE g IN (SELECT g FROM s))', 'DELETE FROM u USING t WHERE u.k = t.k AND u.g = t.g',
    'DELETE FROM u WHERE EXISTS (SELECT FROM u y WHERE u.g = y.g AND u.tableoid <> y.tableoid)', 'WITH gone AS (DELETE FROM t USING s WHERE t.k = s.k RETURNING t.k, s.x) UPDATE u SET x = gone.x FROM gone WHERE u.k = gone.k']) WITH ORDINALITY AS statements (statement, i),
     unnest(ARRAY[false, true]) AS partitionwise,
     compare_write(statement, partitionwise) AS c
ORDER BY i, partitionwise;

-- Row identities are called what core calls them: a leaf's columns. The Append that names them is gone; core joins above
-- a GPU Join and GPU Joins above one another find them.
SET gpujoin.force = on;
EXPLAIN (COSTS OFF, VERBOSE) UPDATE t SET x = s.x FROM s WHERE t.k = s.k;
EXPLAIN (COSTS OFF, VERBOSE) DELETE FROM u WHERE k IN (SELECT k FROM s);
EXPLAIN (COSTS OFF, VERBOSE) MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.k);
EXPLAIN (COSTS OFF, VERBOSE) DELETE FROM u USING s, t WHERE u.k = s.k AND t.k = s.k AND t.g = u.g;
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF, VERBOSE) UPDATE t SET x = s.x FROM s WHERE t.k = s.k AND t.k < 200;
RESET enable_partitionwise_join;
-- The statement itself, explained as it ends.
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_verbose = on;
BEGIN;
DELETE FROM t USING s WHERE t.k = s.k;
UPDATE u SET x = NULL WHERE k IN (SELECT k FROM s);
ROLLBACK;
RESET auto_explain.log_min_duration;
RESET gpujoin.force;
-- By default, without gpujoin.force.
INSERT INTO t SELECT i, 2, 'more' FROM generate_series(1000, 60000) AS i;
INSERT INTO s SELECT i, 2, 'more' FROM generate_series(1000, 60000, 2) AS i;
ANALYZE t, s;
BEGIN;
UPDATE t SET g = g + 1 WHERE k IN (SELECT k FROM s);
DELETE FROM t WHERE EXISTS (SELECT FROM s WHERE s.k = t.k);
ROLLBACK;
-- A join of core's above it.
CREATE TABLE one AS SELECT 'x' AS x;
ANALYZE one;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF, VERBOSE) DELETE FROM t USING s, one WHERE t.k = s.k AND t.x || one.x <> 'morex' RETURNING t.x, one.x;
BEGIN;
DELETE FROM t USING s, one WHERE t.k = s.k AND t.x || one.x <> 'morex';
ROLLBACK;
RESET enable_hashjoin;
RESET enable_mergejoin;
DROP TABLE t, s, one, u_2, u_1, u;
DROP FUNCTION all_rows;
