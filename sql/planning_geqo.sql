-- Explicit joins within a larger search for the order of joins, which GEQO makes in memory that it forgets: what was noted of
-- relations that live longer must last.
CREATE SCHEMA planning_geqo;
SET search_path = planning_geqo, public;
CREATE TABLE a AS SELECT i AS id, i % 7 AS c FROM generate_series(1, 50000) AS i;
CREATE TABLE b AS SELECT i AS id, i % 11 AS c FROM generate_series(1, 50000) AS i;
CREATE TABLE d AS SELECT i AS id, i % 5 AS c FROM generate_series(1, 2000) AS i;
CREATE TABLE f AS SELECT i AS id, i * 7 % 2000 + 1 AS c FROM generate_series(1, 60000) AS i;
ALTER TABLE a ADD PRIMARY KEY (id);
ALTER TABLE b ADD PRIMARY KEY (id);
ALTER TABLE d ADD PRIMARY KEY (id);
ALTER TABLE f ADD PRIMARY KEY (id);
VACUUM ANALYZE a, b, d, f;
SET geqo_threshold = 3;
SET geqo_pool_size = 30;
SET geqo_generations = 40;
SET gpujoin.startup_cost = 0;
SET max_parallel_workers_per_gather = 0;
-- Whatever was measured on this machine.
SET gpujoin.build_cost = 0.0024;
SET gpujoin.probe_cost = 0.0002;
SET gpujoin.match_cost = 0.0002;
SET gpujoin.transfer_cost = 20;

-- chosen(seed, place, n): one of 0 to n - 1. tree(): tables number `first` to `last` of a query, joined in some order.
CREATE FUNCTION chosen(seed integer, place integer, n integer) RETURNS integer IMMUTABLE LANGUAGE sql AS $$
SELECT (hashint4(seed * 1000 + place)::bigint & 65535)::integer % n
$$;
CREATE FUNCTION tree(seed integer, first integer, last integer) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
    middle integer := first + chosen(seed, first * 20 + last, last - first + 1);
BEGIN
    IF first = last THEN
        RETURN (ARRAY['a', 'b', 'd', 'f'])[1 + chosen(seed, 500 + first, 4)] || ' t' || first;
    END IF;
    middle := least(middle, last - 1);
    RETURN format('(%s %s %s ON t%s.%s = t%s.id)', tree(seed, first, middle),
        CASE chosen(seed, 600 + first, 3) WHEN 0 THEN 'LEFT JOIN' ELSE 'JOIN' END, tree(seed, middle + 1, last),
        first + chosen(seed, 700 + last, middle - first + 1), CASE chosen(seed, 800 + last, 2) WHEN 0 THEN 'id' ELSE 'c' END,
        middle + 1 + chosen(seed, 900 + first, last - middle));
END $$;
CREATE FUNCTION planned(queries integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    count integer := 0;
    line text;
BEGIN
    FOR seed IN 1..queries LOOP
        PERFORM set_config('join_collapse_limit', (2 + seed % 4)::text, true), set_config('from_collapse_limit', (2 + seed % 5)::text, true);
        EXECUTE format('EXPLAIN SELECT count(*) FROM %s WHERE t%s.id < 40000', tree(seed, 0, 4 + seed % 5), seed % 5) INTO line;
        count := count + (line LIKE '%Aggregate%')::integer;
    END LOOP;
    RETURN count;
END $$;
SELECT planned(150);

SET client_min_messages = warning;
DROP SCHEMA planning_geqo CASCADE;
