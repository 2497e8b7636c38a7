-- explained(query, options): the lines of a plan, without what only some major versions show: commas, fractions of rows,
-- "Disabled", what an InitPlan returns; nor how much memory a sort takes.
CREATE OR REPLACE FUNCTION explained(query text, options text DEFAULT 'FORMAT TEXT') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    part text;
BEGIN
    FOR part IN EXECUTE format('EXPLAIN (COSTS OFF, %s) %s', options, query) LOOP
        RETURN QUERY SELECT regexp_replace(line, '\.00\M|,$| \(returns \$0\)', '', 'g') FROM unnest(string_to_array(part, E'\n')) AS line
                     WHERE line !~ 'Disabled|Sort[ -](Method|Space)';
    END LOOP;
END $$;

-- The same after a run.
CREATE OR REPLACE FUNCTION analyzed(query text, format text DEFAULT 'text') RETURNS SETOF text LANGUAGE sql AS $$
SELECT explained(query, 'ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT ' || format)
$$;
