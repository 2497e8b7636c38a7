-- ORDER BY ... LIMIT: a node below gives no rows that cannot be among the first ones. The same rows as core's. Sort keys end
-- with what makes them unique, or the one sort key is all that is looked at.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/explain.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE SCHEMA top_rows;
SET search_path = top_rows, public;
CREATE TABLE facts AS SELECT i AS id, i % 2000 AS k, (i * 7919 % 30011) AS v, CASE WHEN i % 4 <> 0 THEN i * 104729::bigint % 1000 END AS few,
    CASE WHEN i % 3 <> 0 THEN (i * 15485863::bigint % 999983) / 100.0 END::numeric(10, 2) AS price, 'text ' || i * 31 % 7001 AS t,
    CASE WHEN i % 5 = 0 THEN repeat('long ', 1000) ELSE '' END || i * 17 % 9973 AS long, md5(i::text)::uuid AS u, i * interval '1 minute' AS span, date '2000-01-01' + i * 37 % 4001 AS day, i * 7 % 1009 / 3.0::float8 AS f, (i % 40000 - 20000)::smallint AS small
FROM generate_series(1, 30000) AS i;
CREATE TABLE dims AS SELECT i AS k, i % 50 AS g, CASE WHEN i % 7 <> 0 THEN 'dim ' || i END AS name FROM generate_series(0, 2499) AS i;
CREATE TABLE nothing_here (LIKE facts);
CREATE SEQUENCE numbers;
-- Upwards at first, and the least value then.
CREATE TABLE rising AS SELECT i AS id, i % 2000 AS k, CASE WHEN i <= 9000 THEN i ELSE 0 END AS v, CASE WHEN i <= 9000 THEN i ELSE 0 END::numeric AS n FROM generate_series(1, 100000) AS i;
ANALYZE facts, dims, nothing_here, rising;
CREATE FUNCTION bounded_nodes(query text) RETURNS bigint LANGUAGE sql AS $$
SELECT count(*) FROM plan_of(query) AS line WHERE line LIKE '%Top Rows:%'
$$;

-- How it looks. Rows come in the order of facts.
SET gpujoin.force = on;
SELECT explained('SELECT id, name FROM facts JOIN dims USING (k) ORDER BY v DESC NULLS LAST, id LIMIT 10 OFFSET 5');
SELECT analyzed('SELECT id, name FROM facts JOIN dims USING (k) ORDER BY id LIMIT 10', 'text');
SELECT line FROM analyzed('SELECT id, name FROM facts JOIN dims USING (k) ORDER BY id LIMIT 10', 'json') AS line WHERE line ~ 'Top Rows|by Limit';
-- The other way round an engine sees so many rows at once that most are left out nevertheless. By a key that it is not told of none
-- is, and it is tried again only after four times as many rows.
SELECT substring(line FROM '[0-9]+')::int > 99000 AS are_left_out FROM analyzed('SELECT id, name FROM rising JOIN dims USING (k) ORDER BY v DESC, id LIMIT 10', 'text') AS line WHERE line ~ 'by Limit';
SELECT line FROM analyzed('SELECT id, name FROM rising JOIN dims USING (k) ORDER BY n DESC, id LIMIT 10', 'text') AS line WHERE line ~ 'Top Rows|by Limit|GPU Join';
-- Of groups that are complete those that come first come alone: by a key, a sum, a least value, their number; but not where some are left
-- out above, or by what is computed of them.
CREATE FUNCTION groups_that_came(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT sum(g::bigint) FROM jsonb_path_query(plan::jsonb, 'strict $.**."Partial Groups"') AS g);
END $$;
SELECT n, groups_that_came(query) < 100 AS few_came FROM unnest(ARRAY[
    'SELECT k, name, count(*) FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY k DESC LIMIT 3',
    'SELECT k, name, sum(price) AS s FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY s DESC NULLS LAST LIMIT 3',
    'SELECT k, name, sum(id::bigint) AS s FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY s LIMIT 3',
    'SELECT k, name, sum(few::int) AS s FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY s DESC NULLS LAST LIMIT 3',
    'SELECT k, name, min(day) AS m FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY m DESC, count(*), k LIMIT 3',
    'SELECT day, count(*) AS c FROM facts JOIN dims USING (k) WHERE id <= 4011 GROUP BY day ORDER BY c DESC LIMIT 3',
    'SELECT k, name, count(*) FROM facts JOIN dims USING (k) GROUP BY k, name HAVING count(*) > 3 ORDER BY k DESC LIMIT 3',
    'SELECT k, name, avg(price) AS a FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY a LIMIT 3'
    ]) WITH ORDINALITY AS q (query, n) ORDER BY n;
RESET gpujoin.force;

-- Each type of key, both directions, NULLs at both ends; few values, where all that are as good as the last one are wanted; more rows
-- wanted than there are; what is computed above the join; conditions that are left to the node.
CREATE VIEW queries AS SELECT query, n FROM unnest(ARRAY[
    'SELECT id, name FROM facts JOIN dims USING (k) ORDER BY id DESC LIMIT 20',
    'SELECT id, v, name FROM facts JOIN dims USING (k) ORDER BY v, id LIMIT 20 OFFSET 100',
    'SELECT id, few FROM facts JOIN dims USING (k) ORDER BY few DESC NULLS LAST, id LIMIT 100',
    'SELECT id, few FROM facts JOIN dims USING (k) ORDER BY few DESC, id DESC LIMIT 100',
    'SELECT id, few FROM facts JOIN dims USING (k) ORDER BY few DESC NULLS LAST, id DESC LIMIT 100',
    'SELECT id, few FROM facts JOIN dims USING (k) ORDER BY few NULLS FIRST, id DESC LIMIT 7600',
    'SELECT id, v FROM rising JOIN dims USING (k) ORDER BY v DESC, id DESC LIMIT 9500',
    'SELECT v, id FROM (SELECT id, v FROM facts JOIN dims USING (k) OFFSET 0) AS s ORDER BY v, id LIMIT 10',
    'SELECT * FROM (SELECT id, v FROM facts JOIN dims USING (k) OFFSET 0) AS s WHERE id % 2 = 0 ORDER BY v, id LIMIT 10',
    'SELECT id, few FROM facts JOIN dims USING (k) ORDER BY few NULLS FIRST, id LIMIT 9000',
    'SELECT few FROM facts JOIN dims USING (k) ORDER BY few LIMIT 500',
    'SELECT few FROM facts JOIN dims USING (k) ORDER BY few DESC LIMIT 8000',
    'SELECT few FROM facts JOIN dims USING (k) WHERE few < 3 ORDER BY few LIMIT 5000',
    'SELECT id, price FROM facts JOIN dims USING (k) ORDER BY price DESC NULLS LAST, id LIMIT 50',
    'SELECT id, t FROM facts JOIN dims USING (k) ORDER BY t COLLATE "C" DESC, id LIMIT 50',
    'SELECT id, t FROM facts JOIN dims USING (k) ORDER BY t, id LIMIT 50',
    'SELECT id, md5(long) FROM facts JOIN dims USING (k) ORDER BY long, id LIMIT 50',
    'SELECT id, md5(long) FROM facts JOIN dims USING (k) ORDER BY long DESC, id LIMIT 50',
    'SELECT id, u FROM facts JOIN dims USING (k) ORDER BY u LIMIT 50',
    'SELECT id, span FROM facts JOIN dims USING (k) ORDER BY span USING > LIMIT 50',
    'SELECT id, v * g AS x FROM facts JOIN dims USING (k) ORDER BY v * g DESC, id LIMIT 50',
    'SELECT id, name FROM facts JOIN dims USING (k) WHERE v + g > 100 AND v % 7 <> g % 5 ORDER BY v, id LIMIT 50',
    'SELECT id, name FROM facts JOIN dims ON dims.k = facts.k AND length(name || t) % 3 = 0 ORDER BY v DESC, id LIMIT 50',
    'SELECT id, name FROM dims LEFT JOIN facts ON facts.k = dims.k AND v < 20000 ORDER BY v DESC NULLS FIRST, id, name LIMIT 700',
    'SELECT id, name FROM dims LEFT JOIN facts ON facts.k = dims.k AND v < 20000 ORDER BY v DESC NULLS LAST, id, name LIMIT 700',
    'SELECT id, name FROM facts FULL JOIN dims ON facts.k = dims.k + 100 ORDER BY name DESC NULLS LAST, id LIMIT 100',
    'SELECT id, name FROM facts RIGHT JOIN dims ON facts.k = dims.k AND g = 3 ORDER BY dims.k DESC, id LIMIT 100',
    'SELECT id FROM facts WHERE EXISTS (SELECT FROM dims WHERE dims.k = facts.k AND g < 25) ORDER BY v, id LIMIT 100',
    'SELECT id FROM facts WHERE NOT EXISTS (SELECT FROM dims WHERE dims.k = facts.v) ORDER BY v, id LIMIT 100',
    'SELECT f.id, d.name, e.name AS other FROM facts AS f JOIN dims AS d USING (k) JOIN dims AS e ON e.k = d.g ORDER BY f.v DESC, f.id LIMIT 30',
    'SELECT f.id, o.id AS other FROM facts AS f JOIN facts AS o ON f.k = o.k AND f.v < o.v ORDER BY f.v - o.v, f.id, o.id LIMIT 30',
    'SELECT id FROM nothing_here JOIN dims USING (k) ORDER BY id LIMIT 10',
    'SELECT id FROM facts JOIN dims USING (k) WHERE g = 7 ORDER BY id LIMIT 9999',
    'SELECT id FROM facts JOIN dims USING (k) ORDER BY id LIMIT 0',
    'SELECT * FROM (SELECT id, v FROM facts JOIN dims USING (k) UNION ALL SELECT k, g FROM dims JOIN facts USING (k)) AS s ORDER BY v DESC, id LIMIT 60',
    'SELECT * FROM (SELECT id, v FROM facts JOIN dims USING (k) ORDER BY v, id LIMIT 40) AS s JOIN dims ON dims.k = s.id % 100',
    'SELECT g, s.* FROM (SELECT DISTINCT g FROM dims) AS d, LATERAL (SELECT id, v FROM facts JOIN dims USING (k) WHERE dims.g = d.g ORDER BY v DESC, id LIMIT 3) AS s',
    'SELECT g, (SELECT id FROM facts JOIN dims AS i USING (k) WHERE i.g = dims.g ORDER BY v, id LIMIT 1) FROM dims WHERE k < 40',
    'SELECT facts.id, facts.t, dims.g FROM facts LEFT JOIN dims ON dims.k = facts.v WHERE dims.k IS NULL ORDER BY dims.g, facts.id LIMIT 10',
    'SELECT facts.id, facts.t, dims.k FROM facts LEFT JOIN dims ON dims.k = facts.v WHERE dims.k IS NULL ORDER BY dims.k, facts.id LIMIT 10',
    'SELECT id, day FROM facts JOIN dims USING (k) ORDER BY day DESC, id LIMIT 30',
    'SELECT id, f FROM facts JOIN dims USING (k) ORDER BY f, id LIMIT 30',
    'SELECT id, nullif(f, 0) AS f FROM facts JOIN dims USING (k) ORDER BY f DESC, id LIMIT 30',
    'SELECT id, small FROM facts JOIN dims USING (k) ORDER BY small, id LIMIT 30',
    'SELECT id, e.g FROM facts JOIN dims USING (k) LEFT JOIN dims AS e ON e.k = facts.v AND e.g < 20 ORDER BY e.g DESC NULLS LAST, id LIMIT 40',
    'SELECT id, e.g FROM facts JOIN dims USING (k) LEFT JOIN dims AS e ON e.k = facts.v AND e.g < 20 ORDER BY e.g, id LIMIT 40',
    'SELECT k, name, min(day) AS m, max(f) FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY m DESC, k LIMIT 20',
    'SELECT k, name, max(f) AS m FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY m, k LIMIT 20',
    'SELECT k, name, count(few) AS c FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY c, k LIMIT 20',
    'SELECT day, sum(id::bigint) AS s, sum(price) FROM facts GROUP BY day ORDER BY s DESC, day LIMIT 20',
    'SELECT day, sum(price) AS s FROM facts GROUP BY day ORDER BY s NULLS FIRST, day LIMIT 20 OFFSET 5',
    'SELECT v, sum(few::int) AS s FROM facts GROUP BY v ORDER BY s NULLS FIRST, v LIMIT 9000',
    'SELECT k, sum(v) AS s, count(*) FROM facts JOIN dims USING (k) GROUP BY k ORDER BY s DESC, k LIMIT 20',
    'SELECT k, name, sum(price) AS s FROM facts JOIN dims USING (k) GROUP BY k, name HAVING count(few) > 5 ORDER BY s DESC NULLS LAST, k LIMIT 20',
    'SELECT k, avg(price) AS a FROM facts GROUP BY k ORDER BY a, k LIMIT 15 OFFSET 15',
    'SELECT k, name, count(DISTINCT v % 10) AS n, sum(few) FROM facts JOIN dims USING (k) GROUP BY k, name ORDER BY n DESC, k LIMIT 25',
    'SELECT k, name, count(*) FROM facts JOIN dims USING (k) GROUP BY ROLLUP (k, name) ORDER BY 3 DESC, 1, 2 LIMIT 25',
    'SELECT d.x, s.* FROM (VALUES (0), (5), (25)) AS d (x), LATERAL (SELECT v, count(*), sum(few) AS s FROM facts WHERE id > d.x * 1000 GROUP BY v ORDER BY s DESC NULLS LAST, v LIMIT 3) AS s'
    ]) WITH ORDINALITY AS q (query, n);
SELECT q.n, c.joins + c.aggregates AS taken, c.rows, c.missing, c.extra, c.error, c.other_error FROM queries AS q, compare_nodes(q.query) AS c ORDER BY q.n;
SET gpujoin.force = on;
SELECT string_agg(n || ':' || bounded_nodes(query), ' ' ORDER BY n) FROM queries WHERE query !~ 'ROLLUP';
RESET gpujoin.force;

-- What must have all rows: ties of the last one, rows that are counted, numbered, made distinct or joined above, a condition above,
-- rows that are locked; and what is not known when it is planned.
SET gpujoin.force = on;
SELECT n, bounded_nodes(query) FROM unnest(ARRAY[
    'SELECT id FROM facts JOIN dims USING (k) ORDER BY few FETCH FIRST 10 ROWS WITH TIES',
    'SELECT count(*) OVER (), id FROM facts JOIN dims USING (k) ORDER BY v LIMIT 10',
    'SELECT DISTINCT ON (v) v, id FROM facts JOIN dims USING (k) ORDER BY v, id LIMIT 10',
    'SELECT * FROM (SELECT v, row_number() OVER (ORDER BY v, id) AS r FROM facts JOIN dims USING (k)) AS s WHERE r % 2 = 0 ORDER BY v LIMIT 10',
    'SELECT id FROM facts JOIN dims USING (k) ORDER BY v',
    'SELECT id FROM facts JOIN dims USING (k) ORDER BY v LIMIT 10001',
    'SELECT id FROM facts JOIN dims USING (k) ORDER BY v LIMIT NULL',
    'SELECT id FROM facts JOIN dims USING (k) ORDER BY v LIMIT (SELECT 10)',
    'SELECT id FROM facts JOIN dims USING (k) ORDER BY v LIMIT 10 FOR UPDATE OF facts',
    'SELECT * FROM (SELECT id, v FROM facts JOIN dims USING (k) OFFSET 0) AS s WHERE id % 2 = 0 ORDER BY v, id LIMIT 10',
    'SELECT * FROM (SELECT v, nextval(''numbers'') AS n FROM (SELECT v FROM facts JOIN dims USING (k) OFFSET 0) AS s) AS t ORDER BY v LIMIT 3'
    ]) WITH ORDINALITY AS q (query, n) ORDER BY n;
-- Once for each row.
SELECT count(*) FROM (SELECT * FROM (SELECT v, nextval('numbers') AS n FROM (SELECT v FROM facts JOIN dims USING (k) OFFSET 0) AS s) AS t ORDER BY v LIMIT 3) AS q;
SELECT last_value FROM numbers;
-- The node computes it itself, before rows are left out.
ALTER SEQUENCE numbers RESTART;
SELECT count(*) FROM (SELECT id FROM facts JOIN dims USING (k) ORDER BY id, nextval('numbers') LIMIT 10) AS q;
SELECT last_value FROM numbers;
ALTER SEQUENCE numbers RESTART;
SELECT count(*) FROM (SELECT * FROM (SELECT v, nextval('numbers') AS n FROM facts JOIN dims USING (k) OFFSET 0) AS s ORDER BY v LIMIT 3) AS q;
SELECT last_value FROM numbers;
ALTER SEQUENCE numbers RESTART;
SELECT count(*) FROM (SELECT * FROM (SELECT k, count(*) AS c, nextval('numbers') AS n FROM facts JOIN dims USING (k) GROUP BY k OFFSET 0) AS s ORDER BY c, k LIMIT 3) AS q;
SELECT last_value FROM numbers;
PREPARE first_ones(bigint) AS SELECT id FROM facts JOIN dims USING (k) ORDER BY v, id LIMIT $1;
SET plan_cache_mode = force_custom_plan;
SELECT count(*) FROM plan_of('EXECUTE first_ones(4)') AS line WHERE line LIKE '%Top Rows: 4';
EXECUTE first_ones(4);
SET plan_cache_mode = force_generic_plan;
SELECT count(*) FROM plan_of('EXECUTE first_ones(4)') AS line WHERE line LIKE '%Top Rows:%';
EXECUTE first_ones(4);
EXECUTE first_ones(2);
RESET plan_cache_mode;
SELECT id FROM facts JOIN dims USING (k) ORDER BY v LIMIT -1;
-- Keys for which there is too little memory are let through.
SET work_mem = '64kB';
SELECT line FROM analyzed('SELECT id, long FROM facts JOIN dims USING (k) ORDER BY u, id LIMIT 9000', 'text') AS line WHERE line ~ 'Top Rows|by Limit|GPU Join';
RESET work_mem;
-- A cursor that goes back.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM facts JOIN dims USING (k) ORDER BY v, id LIMIT 4;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
COMMIT;
RESET gpujoin.force;

-- Of rows that are kept, and those that are read beside them.
VACUUM (FREEZE) facts, rising;
SET client_min_messages = warning;
SELECT gpujoin_keep('facts', '{id, k, v, few, price, day}') > 0 AND gpujoin_keep('rising') > 0 AS are_kept;
RESET client_min_messages;
SET gpujoin.force = on;
SELECT substring(line FROM 'rows=([0-9]+)')::int < 10000 AS few_are_read
FROM analyzed('SELECT id, name FROM facts JOIN dims USING (k) ORDER BY id DESC LIMIT 10', 'text') AS line WHERE line ~ 'Scan on facts';
RESET gpujoin.force;
INSERT INTO facts SELECT id + 30000, k, v, few, price, t, long, u, span, day, f, small FROM facts WHERE id % 1000 = 0;
SELECT q.n, c.rows, c.missing, c.extra, c.error, c.other_error FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0 OR c.other_error IS NOT NULL;
-- Where probe columns wait for the results, and where they go along.
SET gpujoin.carry = off;
SELECT q.n, c.rows, c.missing, c.extra, c.error, c.other_error FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0 OR c.other_error IS NOT NULL;
SET gpujoin.carry = on;
SELECT q.n, c.rows, c.missing, c.extra, c.error, c.other_error FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0 OR c.other_error IS NOT NULL;
RESET gpujoin.carry;
-- In partitions, where no part has all rows.
SET gpujoin.max_join_memory = '1MB';
SELECT q.n, c.rows, c.missing, c.extra, c.error, c.other_error FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0 OR c.other_error IS NOT NULL;
RESET gpujoin.max_join_memory;

-- Each participant of a parallel join leaves out what it can.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.force = on;
SELECT explained('SELECT id, name FROM facts JOIN dims USING (k) ORDER BY v DESC, id LIMIT 10');
SELECT sum(bounded_nodes(query)) >= 30 AS bounded FROM queries;
RESET gpujoin.force;
SELECT q.n, c.rows, c.missing, c.extra, c.error, c.other_error FROM queries AS q, compare_nodes(q.query) AS c WHERE c.missing + c.extra > 0 OR c.other_error IS NOT NULL;
SET client_min_messages = warning;
DROP SCHEMA top_rows CASCADE;
