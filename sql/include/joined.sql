-- compare_joined(query): the rows of core's plan and of ours, as multisets, as text, or the errors. is_joined: no subquery is left
-- that runs, or is looked at, for rows. error: of core, other_error: ours, where it is another one.
\i sql/include/nodes.sql

CREATE OR REPLACE FUNCTION compare_joined(query text, OUT is_joined boolean, OUT "rows" integer, OUT missing bigint, OUT extra bigint, OUT error text, OUT other_error text) LANGUAGE plpgsql AS $$
DECLARE
    core text[];
    ours text[];
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    SELECT r.* INTO core, error FROM rows_or_error(query) AS r;
    PERFORM set_config('gpujoin.enabled', 'on', true);
    SELECT r.* INTO ours, other_error FROM rows_or_error(query) AS r;
    other_error := CASE WHEN other_error IS DISTINCT FROM error THEN coalesce(other_error, 'none') END;
    IF other_error IS NULL THEN
        SELECT NOT bool_or(line ~ 'SubPlan') INTO is_joined FROM plan_of(query) AS line;
    END IF;
    "rows" := cardinality(core);
    SELECT count(*) INTO missing FROM (SELECT unnest(core) EXCEPT ALL SELECT unnest(ours)) AS difference;
    SELECT count(*) INTO extra FROM (SELECT unnest(ours) EXCEPT ALL SELECT unnest(core)) AS difference;
END $$;
