-- Settings under which every GPU Join that may be parallel-aware is, and comparisons of such plans with core's
-- results. taken: the forced plan has a parallel-aware GPU Join.
\i sql/include/compare.sql
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.startup_cost = 0;
SET gpujoin.encode_cost = 1;  -- what participants divide among themselves decides
SET max_parallel_workers_per_gather = 2;

CREATE OR REPLACE FUNCTION compare_parallel(query text, OUT taken boolean, OUT rows bigint,
                                            OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT c.rows, c.missing, c.extra INTO rows, missing, extra FROM compare(query) AS c;
    PERFORM set_config('gpujoin.force', 'on', true);
    SELECT bool_or(line LIKE '%Parallel Custom Scan (GPU Join)%') INTO taken FROM plan_of(query) AS line;
    PERFORM set_config('gpujoin.force', 'off', true);
END $$;

-- The same with so many workers, the leader taking part or not. launched: how many may be started.
CREATE OR REPLACE FUNCTION compare_workers(query text, workers integer, leader boolean, launched integer,
                                           OUT taken boolean, OUT rows bigint, OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, true),
            set_config('parallel_leader_participation', leader::text, true),
            set_config('max_parallel_workers', launched::text, true);
    SELECT c.* INTO taken, rows, missing, extra FROM compare_parallel(query) AS c;
    PERFORM set_config('max_parallel_workers', '8', true),
            set_config('parallel_leader_participation', 'on', true);
END $$;
