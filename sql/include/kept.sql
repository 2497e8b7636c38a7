-- compare_kept(query): runs a query with core's plan and, as often as it takes to use kept columns, with gpujoin's forced,
-- and compares the rows as multisets, as text. chunks, read: of how many chunks kept columns were used in the last run,
-- and how many blocks of the table were read.
\i sql/include/compare.sql

CREATE OR REPLACE FUNCTION kept_by(query text, OUT chunks integer, OUT read integer) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    SELECT (kept->>'Chunks Used')::integer, (kept->>'Blocks Read')::integer INTO chunks, read
    FROM jsonb_path_query(plan::jsonb, 'strict $.**.Kept') AS kept;
END $$;

CREATE OR REPLACE FUNCTION compare_kept(query text, runs integer DEFAULT 2, OUT chunks integer, OUT read integer, OUT rows integer,
                                        OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
    lines text := 'SELECT coalesce(array_agg(q::text), ''{}'') FROM (' || query || ') AS q';
    core text[];
    gpu text[];
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE lines INTO core;
    PERFORM set_config('gpujoin.enabled', 'on', true), set_config('gpujoin.force', 'on', true);
    FOR i IN 1..runs LOOP EXECUTE lines INTO gpu; END LOOP;
    SELECT k.* INTO chunks, read FROM kept_by(query) AS k;
    PERFORM set_config('gpujoin.force', 'off', true);
    rows := cardinality(core);
    SELECT count(*) INTO missing FROM (SELECT unnest(core) EXCEPT ALL SELECT unnest(gpu)) AS difference;
    SELECT count(*) INTO extra FROM (SELECT unnest(gpu) EXCEPT ALL SELECT unnest(core)) AS difference;
END $$;
