-- Searches for an order of five relations and more: core's plan is searched for first, then roughly, then carefully. Plans are the
-- same as core's where core looks few rows up, have GPU Joins where tables are read, and give the same rows in any case.
CREATE SCHEMA planning_search;
SET search_path = planning_search, public;
CREATE TABLE a AS SELECT i AS id, i % 7 AS c FROM generate_series(1, 30000) AS i;
CREATE TABLE b AS SELECT i AS id, i % 11 AS c FROM generate_series(1, 30000) AS i;
CREATE TABLE d AS SELECT i AS id, i % 5 AS c FROM generate_series(1, 2000) AS i;
CREATE TABLE f AS SELECT i AS id, i * 7 % 2000 + 1 AS c FROM generate_series(1, 40000) AS i;
ALTER TABLE a ADD PRIMARY KEY (id);
ALTER TABLE b ADD PRIMARY KEY (id);
ALTER TABLE d ADD PRIMARY KEY (id);
ALTER TABLE f ADD PRIMARY KEY (id);
VACUUM ANALYZE a, b, d, f;
SET gpujoin.startup_cost = 0;
SET gpujoin.keep_in_background = off;
SET max_parallel_workers_per_gather = 0;
-- Whatever was measured on this machine.
SET gpujoin.build_cost = 0.0024;
SET gpujoin.probe_cost = 0.0002;
SET gpujoin.match_cost = 0.0002;
SET gpujoin.transfer_cost = 20;

CREATE FUNCTION lines_of(query text, enabled text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    line text;
    lines text[] := '{}';
BEGIN
    PERFORM set_config('gpujoin.enabled', enabled, true);
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        lines := lines || line;
    END LOOP;
    RETURN lines;
END $$;
CREATE FUNCTION answer_of(query text, enabled text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM set_config('gpujoin.enabled', enabled, true);
    EXECUTE 'SELECT string_agg(q::text, '','' ORDER BY q::text) FROM (' || query || ') AS q' INTO answer;
    RETURN answer;
END $$;
CREATE FUNCTION judged(query text, OUT is_cores boolean, OUT has_ours boolean, OUT is_same boolean) LANGUAGE plpgsql AS $$
DECLARE
    plan text[] := lines_of(query, 'on');
BEGIN
    is_cores := plan = lines_of(query, 'off');
    has_ours := plan::text ~ '[(]GPU ';
    is_same := answer_of(query, 'on') IS NOT DISTINCT FROM answer_of(query, 'off');
END $$;

SELECT n, j.* FROM unnest(ARRAY[
    -- A few rows of one table look others up.
    'SELECT count(*), sum(b.c) FROM a, b, d, f, a a2, b b2 WHERE a.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id AND a2.id = b2.id AND a.id IN (5, 77, 1234)',
    'SELECT a.c, max(f.c) FROM a LEFT JOIN b USING (id) LEFT JOIN f USING (id) LEFT JOIN d ON f.c = d.id LEFT JOIN b b2 ON b2.id = d.id WHERE a.id < 9 GROUP BY a.c',
    'SELECT a.id, d.c FROM a, b, f, d, a a2 WHERE a.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id AND a.id = 29000',
    -- All of them are read.
    'SELECT count(*), sum(b.c), sum(a2.c) FROM a, b, d, f, a a2, b b2 WHERE a.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id AND a2.id = b2.id',
    'SELECT d.c, count(*), sum(a.id) FROM f JOIN a USING (id) JOIN b USING (id) JOIN d ON f.c = d.id JOIN a a2 ON a2.id = d.id GROUP BY d.c ORDER BY 2 DESC, 1 LIMIT 3',
    'SELECT count(*) FROM f JOIN a USING (id) JOIN b USING (id) JOIN d ON f.c = d.id WHERE EXISTS (SELECT FROM a a2 WHERE a2.id = d.id AND a2.c > 3)',
    'SELECT count(*) FROM f WHERE f.id IN (SELECT a.id FROM a, b WHERE a.id = b.id AND b.c < 9) AND f.c IN (SELECT d.id FROM d, a a2 WHERE d.id = a2.id AND a2.c > 1)',
    'SELECT count(*) FROM f JOIN a USING (id) LEFT JOIN (b JOIN d ON d.id = b.id JOIN a a2 ON a2.id = b.id) ON b.id = f.c WHERE a.c <> 3'])
    WITH ORDINALITY AS queries (query, n), judged(query) AS j ORDER BY n;
-- The first rows are all that is wanted, and no bound is known.
SELECT is_same FROM judged('SELECT count(*) FROM (SELECT a.id FROM a, b, d, f, a a2 WHERE a.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id LIMIT 10) AS q');
-- Some have no condition in common with any other.
SELECT is_same FROM judged('SELECT count(*) FROM a, d, (VALUES (1), (2)) AS v (x), (VALUES (3)) AS w (y), (VALUES (4), (5)) AS u (z) WHERE a.c = d.c AND d.id < 30 AND a.id < 500');

-- In any order, in searches of many sizes.
CREATE FUNCTION chosen(seed integer, place integer, n integer) RETURNS integer IMMUTABLE LANGUAGE sql AS $$
SELECT (hashint4(seed * 1000 + place)::bigint & 65535)::integer % n
$$;
-- Tables number 0 to `last`, each joined to one before it by a key that it has once.
CREATE FUNCTION joins(seed integer, last integer) RETURNS text IMMUTABLE LANGUAGE sql AS $$
SELECT string_agg(CASE WHEN n > 0 THEN (ARRAY['LEFT JOIN ', 'JOIN ', 'JOIN ', 'RIGHT JOIN '])[1 + chosen(seed, 600 + n, 4)] ELSE '' END
    || (ARRAY['a', 'b', 'd', 'f'])[1 + chosen(seed, 500 + n, 4)] || ' t' || n
    || CASE WHEN n > 0 THEN format(' ON t%s.%s = t%s.id', chosen(seed, 700 + n, n), (ARRAY['id', 'c'])[1 + chosen(seed, 800 + n, 2)], n) ELSE '' END, ' ' ORDER BY n)
FROM generate_series(0, last) AS n
$$;
SELECT count(*), count(*) FILTER (WHERE has_ours) > 5 AS some_have_ours, count(*) FILTER (WHERE NOT is_same) AS different
FROM generate_series(1, 40) AS seed,
     judged(format('SELECT count(*), sum(t0.id), sum(t%s.c) FROM %s WHERE t%s.id < %s', 4 + seed % 4, joins(seed, 4 + seed % 4), seed % 5,
         (ARRAY[5, 700, 40000])[1 + seed % 3])) AS j;

-- However the search is made.
CREATE FUNCTION judged_with(setting text, value text, OUT has_ours boolean, OUT different bigint) LANGUAGE plpgsql AS $$
DECLARE
    before text := current_setting(setting);
BEGIN
    PERFORM set_config(setting, value, true);
    SELECT count(*) FILTER (WHERE j.has_ours) > 0, count(*) FILTER (WHERE NOT j.is_same) INTO has_ours, different
    FROM generate_series(1, 12) AS seed,
         judged(format('SELECT count(*), sum(t0.id), sum(t%s.c) FROM %s', 5 + seed % 3, joins(seed, 5 + seed % 3))) AS j;
    PERFORM set_config(setting, before, true);
END $$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT setting, value, j.* FROM (VALUES ('geqo_threshold', '4'), ('join_collapse_limit', '5'), ('join_collapse_limit', '7'), ('enable_nestloop', 'off'), ('enable_hashjoin', 'off'),
    ('gpujoin.chain', 'off'), ('gpujoin.aggregate', 'off'), ('max_parallel_workers_per_gather', '2'), ('enable_memoize', 'off')) AS settings (setting, value), judged_with(setting, value) AS j;

-- Functions that are evaluated for an estimate, in the midst of a search, plan queries of their own, or fail; the next search knows nothing of it.
CREATE TABLE x AS SELECT i AS id, i % 9 AS c FROM generate_series(1, 20000) AS i;
CREATE TABLE y AS TABLE x;
VACUUM ANALYZE x, y;
CREATE FUNCTION found() RETURNS integer[] STABLE LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT ARRAY[count(*) % 100 + 3, 9] FROM a, b, d, f, a a2, y WHERE a.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id AND y.id = d.id);
END $$;
CREATE FUNCTION fails() RETURNS integer[] STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN ARRAY[1 / (current_setting('gpujoin.chain')::boolean::integer - 1)]; END $$;
SELECT is_same FROM judged('SELECT count(*), sum(b.c) FROM x, y, b, d, f, a a2 WHERE x.id = y.id AND y.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id AND x.id < 9 AND x.c + y.id = ANY (found())');
EXPLAIN SELECT count(*) FROM x, y, b, d, f, a a2 WHERE x.id = y.id AND y.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id AND x.c + y.c = ANY (fails());
SELECT has_ours, is_same FROM judged('SELECT count(*), sum(b.c) FROM x, b, d, f, a a2 WHERE x.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id');

-- Of searches that end with core's plan gpujoin_why() tells, too.
RESET gpujoin.enabled;
SELECT DISTINCT taken, reason IS NOT NULL AS is_told FROM gpujoin_why('SELECT count(*), sum(b.c) FROM a, b, d, f, a a2, b b2 WHERE a.id = b.id AND b.id = f.id AND f.c = d.id AND d.id = a2.id AND a2.id = b2.id AND a.id IN (5, 77, 1234)');

SET client_min_messages = warning;
DROP SCHEMA planning_search CASCADE;
