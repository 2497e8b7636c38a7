-- Parallel joins that are run again, left early, run without workers, or looked at with EXPLAIN.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/parallel.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g, 'a' || i AS t FROM generate_series(1, 30000) AS i;
CREATE TABLE b AS SELECT i AS k, i % 20 AS g, 'b' || i AS t FROM generate_series(1, 60000, 2) AS i;
ANALYZE a, b;

-- Rescans: a nested loop over a Gather.
SET enable_material = off;
SET gpujoin.force = on;
EXPLAIN (COSTS OFF)
SELECT * FROM (SELECT count(*), count(a.g), count(b.g) FROM a FULL JOIN b USING (k)) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare_parallel(format('SELECT * FROM (SELECT count(*), count(a.g) AS ag, count(b.g) AS bg FROM a %s JOIN b USING (k)) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true', kind)) AS c;
SET parallel_leader_participation = off;
SELECT * FROM compare_parallel('SELECT * FROM (SELECT count(*), count(a.g) AS ag, count(b.g) AS bg FROM a FULL JOIN b USING (k)) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true');
SELECT * FROM compare_parallel('SELECT * FROM (SELECT count(*) FROM b WHERE g < 3 AND NOT EXISTS (SELECT FROM a WHERE a.k = b.k AND a.g + b.g > 4)) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true');
RESET parallel_leader_participation;
RESET enable_material;

-- Left early: a LIMIT above, with more rows of the participants waiting; a LIMIT that takes all.
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT a.t, b.t FROM a FULL JOIN b USING (k) LIMIT 10;
SELECT count(*) FROM (SELECT a.t, b.t FROM a JOIN b USING (k) LIMIT 10) s;
SELECT count(*) FROM (SELECT a.t, b.t FROM a FULL JOIN b USING (k) LIMIT 10) s;
SELECT count(*) FROM (SELECT a.t, b.t FROM a FULL JOIN b USING (k) LIMIT 29999) s;
SELECT count(*), count(at), count(bt) FROM (SELECT a.t AS at, b.t AS bt FROM a FULL JOIN b USING (k) LIMIT 100000) s;
SELECT count(*) FROM (SELECT a.t, b.t FROM a FULL JOIN b ON a.k = b.k AND a.g + b.g > 3 LIMIT 10) s;
SELECT count(*) FROM generate_series(1, 3), LATERAL (SELECT a.t, b.t FROM a RIGHT JOIN b USING (k) LIMIT 5) s;
SELECT k FROM a FULL JOIN b USING (k) ORDER BY k DESC LIMIT 3;

-- A parallel plan that is executed without parallel mode: a function whose rows are fetched one by one.
CREATE FUNCTION joined() RETURNS SETOF bigint LANGUAGE sql STABLE AS
'SELECT a.k::bigint + b.k FROM a FULL JOIN b USING (k)';
SELECT count(*), count(s), sum(s) FROM (SELECT joined() AS s) f;
SELECT joined() AS s LIMIT 0;

-- A serial join below a Gather, and prepared statements.
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT count(*) FROM a JOIN b USING (k);
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM a JOIN b USING (k);
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET max_parallel_workers_per_gather = 2;
PREPARE joined(integer) AS SELECT count(*), min(b.t) FROM a RIGHT JOIN b ON a.k = b.k AND a.g <> $1 WHERE b.k < $1 * 100;
SET plan_cache_mode = force_generic_plan;
EXECUTE joined(3);
EXECUTE joined(30);
RESET plan_cache_mode;
DEALLOCATE joined;

-- Locked rows are rechecked by serial plans; the join counts once.
BEGIN;
SELECT count(*) FROM (SELECT a.k FROM a JOIN b USING (k) WHERE a.k < 10 FOR UPDATE OF a) s;
ROLLBACK;
SELECT joins AS joins_before FROM gpujoin_statistics() \gset
SELECT count(*) FROM a JOIN b USING (k);
SELECT joins - :joins_before AS joins FROM gpujoin_statistics();

-- The figures are of all participants together, also over rescans.
CREATE FUNCTION figures(query text) RETURNS TABLE (build bigint, probe bigint, workers_shown boolean) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    node jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
    FOR node IN SELECT jsonb_path_query(plan, '$.**{2 to last} ? (@."Custom Plan Provider" == "GPU Join")') LOOP
        build := node -> 'Build' -> 'Rows';
        probe := node -> 'Probe' -> 'Rows';
        workers_shown := jsonb_array_length(node -> 'Join Workers') = 2;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT DISTINCT * FROM figures('SELECT count(*) FROM a JOIN b USING (k)');
SELECT DISTINCT * FROM figures('SELECT count(*) FROM a FULL JOIN b ON a.k = b.k AND a.g + b.g > 3');
SET enable_material = off;
SELECT DISTINCT * FROM figures('SELECT * FROM (SELECT count(*) FROM a JOIN b USING (k)) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true');
SET parallel_leader_participation = off;
SELECT DISTINCT * FROM figures('SELECT count(*) FROM a LEFT JOIN b USING (k)');
DROP FUNCTION figures, joined;
DROP TABLE a, b;

-- Core's parallel hash joins take as many workers as the join of ours does that they make a hash table of, though the
-- small table that is looked up in it would have had one.
RESET ALL;
CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);  -- equality that is core's alone
CREATE TABLE wide AS SELECT i % 500 AS d, (i % 1000)::text COLLATE no_case AS t FROM generate_series(1, 200000) AS i;
CREATE TABLE few AS SELECT i AS d FROM generate_series(1, 3) AS i;
CREATE TABLE narrow AS SELECT i::text COLLATE no_case AS t, i AS v FROM generate_series(1, 2000) AS i;
ALTER TABLE wide SET (parallel_workers = 4);
ALTER TABLE narrow SET (parallel_workers = 1);
ANALYZE wide, few, narrow;
SET max_parallel_workers_per_gather = 4;
SET min_parallel_table_scan_size = '1MB';
SET parallel_setup_cost = 0;
SET cpu_tuple_cost = 0.1;  -- one process is far dearer than four, whatever was measured of the engine
SET join_collapse_limit = 1;
SET gpujoin.aggregate = off;
SET gpujoin.force = on;
SET gpujoin.startup_cost = 0;
EXPLAIN (COSTS OFF) SELECT count(*), sum(v) FROM wide JOIN few USING (d) JOIN narrow USING (t);
SELECT count(*), sum(v) FROM wide JOIN few USING (d) JOIN narrow USING (t);
SET gpujoin.enabled = off;
SELECT count(*), sum(v) FROM wide JOIN few USING (d) JOIN narrow USING (t);
RESET ALL;
DROP TABLE wide, few, narrow;
DROP COLLATION no_case;
