-- compare_nodes(query): runs a query with core's plan and with gpujoin's forced, and compares the rows as multisets, as text,
-- or the errors. joins, aggregates: how many GPU Joins and GPU Aggregates the forced plan has; core_joins: how many joins
-- of core's are left in it.
\i sql/include/compare.sql

CREATE OR REPLACE FUNCTION rows_or_error(query text, OUT lines text[], OUT error text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('WITH q AS MATERIALIZED (%s) SELECT coalesce(array_agg(q::text), ''{}'') FROM q', query) INTO lines;
EXCEPTION WHEN OTHERS THEN
    lines := '{}';
    error := SQLERRM;
END $$;

CREATE OR REPLACE FUNCTION compare_nodes(query text, OUT joins bigint, OUT aggregates bigint, OUT core_joins bigint, OUT rows integer,
                                         OUT missing bigint, OUT extra bigint, OUT error text, OUT other_error text)
LANGUAGE plpgsql AS $$
DECLARE
    core text[];
    gpu text[];
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    SELECT r.* INTO core, error FROM rows_or_error(query) AS r;
    PERFORM set_config('gpujoin.enabled', 'on', true), set_config('gpujoin.force', 'on', true);
    SELECT count(*) FILTER (WHERE line LIKE '%Custom Scan (GPU Join)%'), count(*) FILTER (WHERE line LIKE '%Custom Scan (GPU Aggregate)%'),
           count(*) FILTER (WHERE line ~ '^[ ]*(-> +)?(Parallel )?((Hash|Merge)( \w+)* Join|Nested Loop)')
    INTO joins, aggregates, core_joins FROM plan_of(query) AS line;
    SELECT r.* INTO gpu, other_error FROM rows_or_error(query) AS r;
    PERFORM set_config('gpujoin.force', 'off', true);
    other_error := CASE WHEN other_error IS DISTINCT FROM error THEN coalesce(other_error, 'none') END;
    rows := cardinality(core);
    SELECT count(*) INTO missing FROM (SELECT unnest(core) EXCEPT ALL SELECT unnest(gpu)) AS difference;
    SELECT count(*) INTO extra FROM (SELECT unnest(gpu) EXCEPT ALL SELECT unnest(core)) AS difference;
END $$;

-- The same for many queries: a line for each. The number is its place in the array.
CREATE OR REPLACE FUNCTION compare_all(queries text[]) RETURNS TABLE (n bigint, joins bigint, aggregates bigint, core_joins bigint,
    "rows" integer, missing bigint, extra bigint, error text, other_error text) LANGUAGE sql AS $$
SELECT q.n, c.* FROM unnest(queries) WITH ORDINALITY AS q (query, n), compare_nodes(q.query) AS c ORDER BY q.n
$$;

-- The same once, for a query of one text: which plan of ours is made is up to the caller.
CREATE OR REPLACE FUNCTION compare_once(query text, OUT same boolean, OUT result text) LANGUAGE plpgsql AS $$
DECLARE core text;
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE query INTO core;
    PERFORM set_config('gpujoin.enabled', 'on', true);
    EXECUTE query INTO result;
    same := result = core;
END $$;
