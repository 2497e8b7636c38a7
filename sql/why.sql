-- gpujoin_why(): for each join and aggregate of a statement whether it is taken, and if not, why: every reason there is. (The
-- server down, and another extension in front of the planner's hook: test/tap.)
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA why;
SET search_path = why, public;
SET max_parallel_workers_per_gather = 0;
-- Whatever was measured on this machine.
SET gpujoin.build_cost = 0.0024;
SET gpujoin.probe_cost = 0.0002;
SET gpujoin.match_cost = 0.0002;
SET gpujoin.transfer_cost = 20;
CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION english (provider = icu, locale = 'en');
CREATE TABLE m AS SELECT i, i::bigint AS l, i::numeric AS n, i::float8 AS f, i::text AS t, i::money AS cash, point(i, i) AS p,
    make_interval(secs => i) AS iv, timestamp '2020-01-01' + make_interval(secs => i) AS at, ARRAY[i] AS list FROM generate_series(1, 100) i;
CREATE TABLE o AS SELECT *, at AT TIME ZONE 'UTC' AS at_tz FROM m;
CREATE TABLE customer AS SELECT i AS id, i * 7919 % 1000 AS pick FROM generate_series(1, 20000) i;
CREATE TABLE sale AS SELECT i AS id, (i * 7919::bigint % 20000 + 1)::int AS customer, i % 100 AS amount, repeat('x', 100) AS remark
FROM generate_series(1, 200000) i;
ALTER TABLE customer ADD PRIMARY KEY (id);
ALTER TABLE sale ADD PRIMARY KEY (id);
CREATE INDEX ON sale (customer);
CREATE TABLE again AS TABLE sale;
ALTER TABLE again ADD PRIMARY KEY (id);
VACUUM ANALYZE m, o, customer, sale, again;

-- Figures depend on the version of PostgreSQL.
CREATE FUNCTION why(query text, OUT tables text[], OUT kind text, OUT node text, OUT reason text) RETURNS SETOF record LANGUAGE sql AS $$
SELECT tables, kind, node, CASE WHEN reason ~ 'cheaper: ' THEN regexp_replace(reason, '[0-9]+', 'n', 'g') ELSE reason END
FROM gpujoin_why(query) WHERE taken = (reason IS NULL) AND NOT (taken AND advice IS NOT NULL)
$$;
\pset format unaligned
\pset tuples_only on

-- What is taken, by which node.
SET gpujoin.force = on;
SELECT why('SELECT 1 FROM m JOIN o USING (i)');
SELECT why('SELECT o.t FROM m LEFT JOIN o USING (i) WHERE NOT EXISTS (SELECT FROM sale WHERE id = m.i)');
SELECT why('SELECT m.t, count(*) FROM m JOIN o USING (i) JOIN customer ON id = o.i GROUP BY m.t HAVING count(*) > 1 ORDER BY 2');
SELECT why('SELECT count(DISTINCT m.t) FROM m JOIN o USING (i)');
SELECT why('SELECT * FROM (SELECT i, count(*) FROM m GROUP BY i) s JOIN o USING (i)');
SELECT why('SELECT (SELECT count(*) FROM m JOIN o USING (i)) + count(*) FROM m JOIN customer ON i = id');
SELECT why('WITH s AS MATERIALIZED (SELECT m.i FROM m JOIN o USING (i)) SELECT * FROM s a FULL JOIN s b USING (i)');
SELECT why('UPDATE m SET t = o.t FROM o WHERE m.i = o.i');
SELECT why('SELECT * FROM m');
SELECT why('VALUES (1)');
-- SELECT DISTINCT is an aggregate without functions, UNION is none.
SELECT why('SELECT DISTINCT m.t FROM m JOIN o USING (i) UNION SELECT t FROM o');

-- Conditions.
SELECT why('SELECT FROM m, o');
SELECT why('SELECT FROM m LEFT JOIN o ON o.i = 5');
SELECT why('SELECT FROM m JOIN o ON m.i <> o.i');
SELECT why('SELECT FROM m JOIN o ON m.f < o.f * random()');
CREATE FUNCTION "same or not"(integer) RETURNS integer VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
SELECT why('SELECT FROM m JOIN o ON m.i = "same or not"(o.i)');
SELECT why('SELECT FROM m JOIN o ON m.i = (SELECT max(id) FROM customer WHERE pick < o.i)');
SELECT why('SELECT FROM m JOIN o ON m.t = o.t COLLATE no_case');
SELECT why('SELECT FROM m JOIN o ON m.t < o.t COLLATE english');
SELECT why('SELECT FROM m JOIN o ON m.at = o.at_tz');
SELECT why('SELECT FROM m JOIN o ON m.cash = o.cash');
SELECT why('SELECT FROM m JOIN o ON m.p ~= o.p');
SELECT why('SELECT FROM m JOIN o ON m.iv < o.iv');
SELECT why('SELECT FROM m JOIN o ON m.n / 2 < o.n');
SELECT why('SELECT FROM m JOIN o ON int4range(m.i, m.i + 5) && int4range(o.i, o.i + 5)');
SELECT why('SELECT FROM m JOIN o ON m.list @> o.list');
SELECT why('SELECT FROM m JOIN o ON m.t || o.t = ''11''');
-- The most telling one of several; names as in the plan, also within a subquery and of members of a table.
SELECT why('SELECT FROM m JOIN o ON m.i <> o.i AND m.iv < o.iv AND m.t || o.t = ''11''');
SELECT why('SELECT FROM customer JOIN (SELECT DISTINCT x.i FROM m JOIN o x ON m.i <> x.i) s ON s.i = id');
CREATE TABLE part (i int, t text) PARTITION BY RANGE (i);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (50);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (50) TO (200);
INSERT INTO part SELECT i, i::text FROM m;
ANALYZE part;
SELECT why('SELECT FROM part JOIN o ON part.t < o.t COLLATE english');
SET enable_partitionwise_join = on;
SELECT why('SELECT FROM part JOIN part q ON part.i = q.i AND q.i < 50');
RESET enable_partitionwise_join;

-- Inputs.
SELECT why('SELECT FROM m, LATERAL (SELECT FROM o WHERE o.i = m.i LIMIT 1) s');
SELECT why('WITH RECURSIVE w (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM w WHERE i < 5) SEARCH BREADTH FIRST BY i SET place
    SELECT * FROM w JOIN m USING (i)');
-- Only up to 16 it is a reason.
SELECT CASE WHEN NOT since(17) THEN reason WHEN reason IS NULL THEN
    'the condition (pg_backend_pid() > 0) is about no table, and up to PostgreSQL 16 only core can test such a condition of a join' END
FROM why('SELECT FROM m JOIN o ON m.i = o.i AND pg_backend_pid() > 0');
RESET gpujoin.force;
SELECT why('WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT m.i + 1 FROM r JOIN m USING (i)) TABLE r');
UPDATE pg_class SET reltuples = 1e11 WHERE oid IN ('m'::regclass, 'o'::regclass);
SET temp_file_limit = '1GB';
SELECT regexp_replace(reason, '[0-9]+ MB', 'n MB') FROM why('SELECT FROM m JOIN o ON m.i = o.i');
RESET temp_file_limit;
ANALYZE m, o;

-- Settings.
SET gpujoin.enabled = off;
SELECT why('SELECT count(*) FROM m JOIN o USING (i)');
RESET gpujoin.enabled;

-- Costs.
SET gpujoin.aggregate = off;
SELECT why('SELECT FROM m JOIN o USING (i)');
SELECT why('SELECT sum(amount) FROM sale JOIN customer c ON c.id = customer WHERE pick < 7');
SELECT why('SELECT FROM sale JOIN customer c ON c.id BETWEEN sale.id AND sale.id + 2 WHERE sale.id < 20');
SELECT why('SELECT amount FROM sale JOIN customer c ON c.id = customer LIMIT 1');
SELECT why('SELECT * FROM sale a JOIN again b USING (id) ORDER BY id');
RESET gpujoin.aggregate;

-- Aggregates.
SELECT why('SELECT count(*) FROM m');
SET gpujoin.startup_cost = 1300;
SELECT why('SELECT sum(amount) FROM sale');
SET gpujoin.startup_cost = 3000;
SELECT why('SELECT sum(amount) FROM sale');
RESET gpujoin.startup_cost;
SET gpujoin.force = on;
SET gpujoin.aggregate = off;
SELECT why('SELECT sum(i) FROM m');
RESET gpujoin.aggregate;
SELECT why('SELECT count(*) FROM m GROUP BY GROUPING SETS ((), ())');
SELECT why('SELECT i, count(*), generate_series(1, 2) FROM m GROUP BY i');
SELECT why('SELECT count(DISTINCT t), sum(DISTINCT i) FROM m');
SELECT why('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM m');
CREATE AGGREGATE last_of(integer) (SFUNC = int4larger, STYPE = integer);
SELECT why('SELECT count(*), last_of(i) FROM m');
SELECT why('SELECT count(*), stddev(f) FROM m');
SELECT why('SELECT sum(gcd(m.i, o.i)) FROM m JOIN o USING (l)');
SELECT why('SELECT sum(n) FROM m');
SELECT why('SELECT count(*) FILTER (WHERE m.t < o.t COLLATE english) FROM m JOIN o USING (l)');
SELECT why('SELECT iv, count(*) FROM m GROUP BY iv');
SELECT why('SELECT m.i + o.i, count(*) FROM m JOIN o USING (l) GROUP BY 1');
SELECT why('SELECT count(*) FROM m JOIN o ON m.i = o.i AND m.t || o.t <> ''11''');
SET enable_partitionwise_aggregate = on;
SELECT why('SELECT i, count(*) FROM part GROUP BY i');
RESET enable_partitionwise_aggregate;

-- In parallel plans, with the costs of a process.
RESET gpujoin.force;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.startup_cost = 100000;
SELECT why('SELECT a.amount FROM sale a JOIN again b USING (id)');
RESET gpujoin.startup_cost;
RESET max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 0;
SET gpujoin.force = on;

-- What would change it.
SELECT advice FROM gpujoin_why('SELECT FROM m JOIN o ON m.t < o.t COLLATE english');
SELECT advice FROM gpujoin_why('SELECT FROM m, o');
RESET gpujoin.force;
SELECT advice FROM gpujoin_why('SELECT FROM m JOIN o USING (i)');

-- Statements that it cannot be asked of.
\set VERBOSITY default
SELECT FROM gpujoin_why('');
SELECT FROM gpujoin_why('-- nothing');
SELECT FROM gpujoin_why('SELECT 1; SELECT 2');
SELECT FROM gpujoin_why('SELECT 1''; DROP TABLE m; --');
SELECT FROM gpujoin_why('SELECT FROM m; DROP TABLE m');
SELECT FROM gpujoin_why('SELEC 1');
SELECT FROM gpujoin_why('SELECT no_such_column FROM m JOIN o USING (i)');
SELECT FROM gpujoin_why('EXPLAIN SELECT 1');
SELECT FROM gpujoin_why('CREATE TABLE n AS SELECT 1');
SELECT FROM gpujoin_why('VACUUM');
SELECT FROM gpujoin_why('SELECT FROM m WHERE i = $1');
SELECT FROM gpujoin_why('SELECT FROM m WHERE i = 1 / 0');
SELECT gpujoin_why(NULL);

-- Nothing is executed, and permissions are those of whoever asks.
SELECT count(*) FROM m;
SELECT why('DELETE FROM m USING o WHERE m.i = o.i');
SELECT count(*) FROM m;
CREATE VIEW pairs AS SELECT m.i FROM m JOIN o ON m.i <> o.i;
CREATE ROLE why_nobody;
GRANT USAGE ON SCHEMA why TO why_nobody;
GRANT SELECT ON pairs TO why_nobody;
SET ROLE why_nobody;
SELECT why('SELECT FROM m JOIN o USING (i)');
SELECT why('SELECT FROM pairs');
SELECT why('DELETE FROM m');
RESET ROLE;

-- Queries that are planned meanwhile are others: by a function that is evaluated while the statement is planned, which asks, too.
CREATE FUNCTION asks() RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT count(*) FROM sale a, sale b WHERE a.id <> b.id AND a.id < 3 AND b.id < 3)
        + (SELECT count(*) FROM gpujoin_why('SELECT FROM m JOIN o ON m.t < o.t COLLATE why.english'));
END $$;
SELECT why('SELECT FROM m JOIN o ON m.iv < o.iv WHERE m.i > asks()');
-- And where that fails.
CREATE FUNCTION fails() RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    PERFORM gpujoin_why('SELECT FROM m JOIN no_such_table USING (i)');
    RETURN 1;
END $$;
SELECT why('SELECT FROM m JOIN o ON m.iv < o.iv WHERE m.i > fails()');
CREATE FUNCTION recovers() RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    RETURN fails();
EXCEPTION WHEN undefined_table THEN RETURN 5;
END $$;
SELECT why('SELECT FROM m JOIN o ON m.iv < o.iv WHERE m.i > recovers()');
SELECT why('SELECT FROM m JOIN o ON m.i = o.i WHERE m.i > 1 / (recovers() - 5)');
SELECT count(*) FROM m JOIN o USING (i);
SELECT why('SELECT * FROM gpujoin_why(''SELECT FROM m JOIN o USING (i)'')');
-- Either side has more columns that are wanted than there is room for beside the keys.
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE wide (' || string_agg('c' || i || ' integer', ', ') || ')' FROM generate_series(1, 1600) AS i); END $$;
SET gpujoin.force = on;
SELECT why('SELECT count(*) FROM wide a JOIN wide b ON ' || string_agg('a.c' || i || ' = b.c' || i, ' AND ') FILTER (WHERE i <= 64)
    || ' AND coalesce(' || string_agg('a.c' || i, ', ') || ') < coalesce(' || string_agg('b.c' || i, ', ') || ')') FROM generate_series(1, 1600) AS i;
RESET gpujoin.force;
DROP TABLE wide;
-- Joins by the thousand, in GEQO's order too.
SET join_collapse_limit = 12;
SET from_collapse_limit = 12;
SET geqo_threshold = 4;
SELECT count(*), bool_and(taken = (reason IS NULL)) FROM gpujoin_why('SELECT FROM m m1 JOIN m m2 USING (i) JOIN m m3 USING (i) JOIN m m4 USING (i)
    JOIN m m5 USING (i) JOIN m m6 USING (i) JOIN m m7 USING (i) JOIN m m8 ON m8.cash = m1.cash');
RESET geqo_threshold;
SELECT count(*), bool_and(taken = (reason IS NULL)) FROM gpujoin_why('SELECT FROM m m1 JOIN m m2 USING (i) JOIN m m3 USING (i) JOIN m m4 USING (i)
    JOIN m m5 USING (i) JOIN m m6 USING (i) JOIN m m7 USING (i) JOIN m m8 ON m8.cash = m1.cash');

-- EXPLAIN (VERBOSE) names it, where joins are left to core that were to be taken.
SET gpujoin.force = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT FROM m, o;
EXPLAIN (COSTS OFF) SELECT FROM m, o;
EXPLAIN (VERBOSE, COSTS OFF) SELECT m.i FROM m JOIN o USING (i);
RESET gpujoin.force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT FROM m, o;

SET client_min_messages = warning;
DROP SCHEMA why CASCADE;
DROP ROLE why_nobody;
