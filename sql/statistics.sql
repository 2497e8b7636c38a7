-- What is counted of joins, by database (pg_stat_gpujoin). Other databases, and more of them than there are rows for:
-- test/tap. The cluster has gpujoin.keep_memory set.
\set VERBOSITY terse
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET gpujoin.force = on;
SET gpujoin.aggregate = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE line AS SELECT i AS id, i % 100 AS k, i % 7 AS v, md5(i::text) AS t FROM generate_series(1, 40000) AS i;
CREATE TABLE dim AS SELECT i AS k, i % 10 AS g FROM generate_series(0, 99) AS i;
VACUUM ANALYZE line, dim;

-- A database has a row from its first join on.
SELECT count(*) FROM line JOIN dim USING (k);
CREATE VIEW here AS SELECT * FROM pg_stat_gpujoin WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database());
SELECT datname = current_database() AS named, since <= now() AS since, server_restarts IS NULL AS restarts_elsewhere FROM here;
SELECT datname, server_restarts >= 0 AS restarts, since <= now() AS since FROM pg_stat_gpujoin WHERE datid = 0;
SELECT count(*) = count(DISTINCT datid) AS once FROM pg_stat_gpujoin;
SELECT t.joins = s.joins AS joins, t.bytes = s.bytes AS bytes, t.server_restarts = s.restarts AS restarts, t.since <= s.since AS since
FROM gpujoin_statistics() AS t, (SELECT sum(joins) AS joins, sum(bytes) AS bytes, sum(server_restarts) AS restarts, min(since) AS since FROM pg_stat_gpujoin) AS s;

-- What has come since the last look.
CREATE TABLE before AS TABLE here;
CREATE FUNCTION news(OUT joins bigint, OUT failed bigint, OUT cancelled bigint, OUT chains bigint, OUT aggregates bigint, OUT moved bigint, OUT partitions bigint,
    OUT build_rows bigint, OUT probe_rows bigint, OUT result_rows bigint, OUT bytes bigint, OUT spilled_bytes bigint, OUT kept_chunks bigint, OUT kept_blocks bigint,
    OUT build_ms float8, OUT probe_ms float8, OUT waited_ms float8) LANGUAGE plpgsql AS $$
BEGIN
    SELECT n.joins - b.joins, n.failed - b.failed, n.cancelled - b.cancelled, n.chains - b.chains, n.aggregates - b.aggregates, n.moved - b.moved, n.partitions - b.partitions,
        n.build_rows - b.build_rows, n.probe_rows - b.probe_rows, n.result_rows - b.result_rows, n.bytes - b.bytes,
        n.spilled_bytes - b.spilled_bytes, n.kept_chunks - b.kept_chunks, n.kept_blocks - b.kept_blocks,
        n.build_ms - b.build_ms, n.probe_ms - b.probe_ms, n.waited_ms - b.waited_ms
    INTO joins, failed, cancelled, chains, aggregates, moved, partitions, build_rows, probe_rows, result_rows, bytes, spilled_bytes, kept_chunks, kept_blocks, build_ms, probe_ms, waited_ms
    FROM here AS n, before AS b;
    TRUNCATE before;
    INSERT INTO before TABLE here;
END $$;
CREATE VIEW small_news AS SELECT joins, failed, cancelled, chains, aggregates, moved, partitions, build_rows, probe_rows, result_rows,
    bytes > 0 AS bytes, spilled_bytes, kept_chunks, kept_blocks, build_ms > 0 AS build_ms, probe_ms > 0 AS probe_ms, waited_ms > 0 AND waited_ms <= build_ms + probe_ms AS waited_ms FROM news();
\pset expanded on

-- Rows of both sides and of the result, and time for each.
SELECT count(*) FROM line JOIN dim USING (k) WHERE g = 3;
SELECT * FROM small_news;
-- A chain, and a join with groups, are one each.
SELECT count(*) FROM line JOIN dim USING (k) JOIN dim AS other ON v = other.k;
SELECT joins, failed, chains, aggregates, partitions FROM small_news;
SET gpujoin.aggregate = on;
SELECT g, sum(v) FROM line JOIN dim USING (k) GROUP BY g ORDER BY g LIMIT 1;
SELECT joins, failed, chains, aggregates, partitions FROM small_news;
SET gpujoin.aggregate = off;
-- Nothing is counted where there is nothing to join, nor by EXPLAIN.
SELECT count(*) FROM line JOIN dim USING (k) WHERE g > 100;
EXPLAIN (COSTS OFF) SELECT count(*) FROM line JOIN dim USING (k);
SELECT * FROM small_news;
-- A join that is run again with its build side is one, and each run that has another one is one.
SELECT count(*) FROM (VALUES (1), (2), (3)) AS n(i), LATERAL (SELECT count(*) FROM line JOIN dim USING (k) WHERE id < i * 10) AS s;
SELECT joins BETWEEN 1 AND 3 AS joins, failed, cancelled FROM small_news;
-- The time for which a cursor waits is not the join's.
BEGIN;
DECLARE c CURSOR FOR SELECT line.id, dim.g FROM line JOIN dim USING (k);
FETCH c;
SELECT pg_sleep(3) IS NULL AS slept;
FETCH c;
CLOSE c;
COMMIT;
SELECT joins, failed, cancelled, build_ms + probe_ms < 3000 AS without_sleep FROM news();
-- One that all processes of a parallel plan run.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) FROM line AS a JOIN line AS b USING (id);
SELECT joins, failed, cancelled, partitions, build_rows, probe_rows, result_rows FROM small_news;
SET gpujoin.max_join_memory = '2MB';
SELECT count(*), max(a.t || b.t) IS NOT NULL AS t FROM line AS a JOIN line AS b USING (id);
SELECT joins, failed, cancelled, partitions > 1 AS partitions, spilled_bytes > 1000000 AS spilled_bytes FROM news();
-- What each has written is counted, whoever joins it: here that is one of them, since there is one partition. As EXPLAIN has it.
CREATE FUNCTION spilled_kb(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (jsonb_path_query_first(plan::jsonb, '$.**.Spilled'))::bigint;
END $$;
SELECT spilled_kb('SELECT count(*), max(a.t || b.t) FROM line AS a JOIN line AS b ON a.id BETWEEN b.id AND b.id + 1') AS kb \gset
SELECT joins, failed, cancelled, :kb > 1000 AS kb, spilled_bytes / 1024 - :kb AS lost_kb FROM news();
SET max_parallel_workers_per_gather = 0;
-- For which memory is short.
SELECT count(*), max(a.t || b.t) IS NOT NULL AS t FROM line AS a JOIN line AS b USING (id);
SELECT joins, failed, cancelled, partitions > 1 AS partitions, spilled_bytes > 1000000 AS spilled_bytes FROM news();
-- One that has failed between its partitions, for want of what they are written to.
SET temp_file_limit = '64kB';
\set VERBOSITY sqlstate
SELECT count(*), max(a.t || b.t) IS NOT NULL AS t FROM line AS a JOIN line AS b USING (id);
\set VERBOSITY terse
SELECT joins, failed, cancelled, partitions FROM news();
RESET temp_file_limit;
RESET gpujoin.max_join_memory;
-- Kept columns: chunks, and blocks that were not read. From PostgreSQL 16 on a table may end with blocks that nothing is known of.
SET gpujoin.aggregate = on;
SET client_min_messages = warning;
SELECT gpujoin_keep('line') AS kept \gset
RESET client_min_messages;
SELECT :kept > 300 AS keeps;
SELECT k, sum(v) FROM line GROUP BY k ORDER BY k LIMIT 1;
SELECT joins, aggregates, probe_rows, kept_chunks, kept_blocks = :kept AS kept_blocks FROM news();
SET gpujoin.aggregate = off;

-- What an error ends, what is cancelled, and what is given up with its transaction.
SELECT count(*) FROM generate_series(1, 1000) a JOIN generate_series(1, 1000) b ON a = b AND length((1000 / (a - 500))::text || b) > 0;
SELECT joins, failed, cancelled FROM news();
SELECT count(*) FROM (SELECT g, CASE WHEN g = 9000 THEN pg_cancel_backend(pg_backend_pid()) END FROM generate_series(1, 10000) g OFFSET 0) a
JOIN generate_series(1, 10000) b ON g = b;
SELECT joins, failed, cancelled FROM news();
BEGIN;
DECLARE c CURSOR FOR SELECT a FROM generate_series(1, 10000) a JOIN generate_series(1, 10000) b ON a = b;
FETCH c;
ROLLBACK;
SELECT joins, failed, cancelled FROM news();
-- Caught, then another end.
DO $$
BEGIN
    PERFORM count(*) FROM generate_series(1, 1000) a JOIN generate_series(1, 1000) b ON a = b AND length((1000 / (a - 500))::text || b) > 0;
EXCEPTION WHEN division_by_zero THEN
    PERFORM count(*) FROM generate_series(1, 1000) a JOIN generate_series(1, 1000) b ON a = b;
    PERFORM count(*) FROM (SELECT g, CASE WHEN g = 9000 THEN pg_cancel_backend(pg_backend_pid()) END FROM generate_series(1, 10000) g OFFSET 0) a
    JOIN generate_series(1, 10000) b ON g = b;
END $$;
SELECT joins, failed, cancelled FROM news();

-- Reset of one database, and of all.
SELECT gpujoin_reset_statistics(datid) FROM here;
SELECT joins, failed, cancelled, bytes, build_ms, stats_reset = since AS since, stats_reset > (SELECT since FROM before) AS later FROM here;
SELECT count(*) FROM line JOIN dim USING (k);
SELECT joins, stats_reset IS NOT NULL AS was_reset FROM here;
SELECT gpujoin_reset_statistics(4294967295);
SELECT gpujoin_reset_statistics();
SELECT sum(joins) AS joins, sum(server_restarts) AS restarts, bool_and(stats_reset > (SELECT since FROM before)) AS all_were FROM pg_stat_gpujoin;
SELECT joins, server_restarts, bytes FROM gpujoin_statistics();
\pset expanded off

-- For whom.
CREATE ROLE regress_counter;
SET ROLE regress_counter;
SELECT gpujoin_reset_statistics();
SELECT count(*) FROM pg_stat_gpujoin;
SELECT count(*) FROM gpujoin_list_statistics();
RESET ROLE;
GRANT EXECUTE ON FUNCTION gpujoin_reset_statistics(oid) TO regress_counter;
GRANT pg_monitor TO regress_counter;
SET ROLE regress_counter;
SELECT gpujoin_reset_statistics(0);
SELECT count(*) > 0 AS reads FROM pg_stat_gpujoin;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION gpujoin_reset_statistics(oid) FROM regress_counter;
DROP ROLE regress_counter;
DROP TABLE before, line, dim CASCADE;
DROP VIEW small_news, here;
DROP FUNCTION news;
