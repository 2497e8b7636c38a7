-- compare_write(statement): runs a statement that writes with core's joins and with GPU Join forced, rolled back in
-- between, and compares the rows that it returns and those that it leaves: what a function all_rows() of the test's own
-- says. taken: the forced plan has a GPU Join. changed: the statement leaves other rows than there were.
CREATE OR REPLACE FUNCTION state_after(statement text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    returned text := '';
    state text[];
BEGIN
    BEGIN
        IF statement LIKE '%RETURNING%' AND statement NOT LIKE 'WITH%' THEN
            EXECUTE 'WITH w AS (' || statement || $q$) SELECT count(*) || '/' || md5(string_agg(w::text, ',' ORDER BY w::text)) FROM w$q$ INTO returned;
        ELSE
            EXECUTE statement;
        END IF;
        SELECT ARRAY[returned, coalesce(md5(string_agg(line, ',' ORDER BY line)), 'none')] INTO state FROM all_rows() AS line;
        RAISE EXCEPTION 'undo' USING ERRCODE = 'UNDO0';
    EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
        RETURN state;
    END;
END $$;

CREATE OR REPLACE FUNCTION compare_write(statement text, partitionwise boolean DEFAULT false, OUT taken boolean, OUT changed boolean, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    core text[];
    gpu text[];
BEGIN
    PERFORM set_config('enable_partitionwise_join', partitionwise::text, true), set_config('gpujoin.enabled', 'off', true);
    core := state_after(statement);
    PERFORM set_config('gpujoin.enabled', 'on', true), set_config('gpujoin.force', 'on', true);
    taken := EXISTS (SELECT FROM plan_of(statement) AS line WHERE line LIKE '%Custom Scan (GPU Join)%');
    EXECUTE 'EXPLAIN (VERBOSE) ' || statement;
    gpu := state_after(statement);
    PERFORM set_config('gpujoin.force', 'off', true);
    same := core = gpu;
    changed := core[2] <> (state_after('SELECT'))[2];
END $$;
