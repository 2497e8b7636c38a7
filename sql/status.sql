-- What gpujoin says of itself. (Not preloaded, down, switched off by another extension: test/tap.)
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
SELECT gpujoin_version() = extversion AS versions_agree FROM pg_extension WHERE extname = 'gpujoin';

SELECT ready, reason, server, since <= now() AS since, generation > 0 AS generation, server_pid > 0 AS server_pid,
       host_memory > 0 AS host_memory, staging_memory > 0 AS staging_memory, enabled
FROM gpujoin_status();
SET gpujoin.enabled = off;
SELECT ready, reason, enabled FROM gpujoin_status();
RESET gpujoin.enabled;

SELECT engine, number, state, processors > 0 AS processors, memory > 0 AS memory
FROM gpujoin_devices WHERE engine = 'cpu';
SELECT count(*) FROM gpujoin_devices WHERE engine NOT IN ('cpu', 'cuda') OR sessions < 0 OR state IS NULL;

-- Devices are measured, at the server's start and on demand; on a busy machine it may take some attempts until all
-- figures tell something.
CREATE FUNCTION is_measured() RETURNS boolean LANGUAGE plpgsql SET client_min_messages = error AS $$
BEGIN
    FOR attempt IN 1 .. 50 LOOP
        BEGIN
            PERFORM gpujoin_calibrate();
        EXCEPTION WHEN system_error THEN CONTINUE;
        END;
        IF (SELECT bool_and(setup_ms > 0 AND build_row_ns > 0 AND probe_row_ns > 0 AND match_ns > 0 AND transfer_mb_s > 0)
            FROM gpujoin_devices WHERE state = 'ready') THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;
SELECT is_measured();
DROP FUNCTION is_measured;

-- Joins that run.
SET gpujoin.aggregate = off;
SET gpujoin.force = on;
SET max_parallel_workers_per_gather = 0;
BEGIN;
DECLARE c CURSOR FOR SELECT a FROM generate_series(1, 10000) a JOIN generate_series(1, 20000) b ON a = b;
FETCH c;
SELECT pid = pg_backend_pid() AS mine, leader_pid, database = current_database() AS here, since <= clock_timestamp() AS since, phase,
       device ~ '^(CPU|GPU)' AS on_device, build_rows, probe_rows > 0 AS probe_rows, result_rows > 0 AS result_rows, bytes > 0 AS bytes
FROM gpujoin_running;
CLOSE c;
SELECT count(*) FROM gpujoin_running;
COMMIT;
-- Nothing is left of those that an error ended.
SELECT count(*) FROM generate_series(1, 1000) a JOIN generate_series(1, 1000) b ON a = b AND length((1000 / (a - 500))::text || b) > 0;
SELECT count(*) FROM gpujoin_running;
RESET gpujoin.force;
RESET max_parallel_workers_per_gather;

-- Settings.
SELECT name, context, unit, vartype FROM pg_settings WHERE name LIKE 'gpujoin.%' ORDER BY name;
SET gpujoin.algorithm = 'bogo';
SET gpujoin.transfer_cost = -2;
SET gpujoin.device = 'cpu';
SET gpujoin.nonsense = 1;

-- For whom.
SELECT p.proname, coalesce(g.rolname, 'public') AS grantee, a.privilege_type
FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a LEFT JOIN pg_roles g ON g.oid = a.grantee
WHERE p.proname LIKE 'gpujoin%' AND a.grantee <> p.proowner ORDER BY 1, 2;
SELECT c.relname, coalesce(g.rolname, 'public') AS grantee, a.privilege_type
FROM pg_class c, aclexplode(c.relacl) a LEFT JOIN pg_roles g ON g.oid = a.grantee
WHERE c.relname IN ('gpujoin_devices', 'gpujoin_kept', 'gpujoin_running', 'pg_stat_gpujoin') AND a.grantee <> c.relowner ORDER BY 1, 2;
