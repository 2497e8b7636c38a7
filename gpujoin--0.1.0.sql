-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpujoin" to load this file. \quit

CREATE FUNCTION gpujoin_version() RETURNS text
AS 'MODULE_PATHNAME', 'gpujoin_version'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gpujoin_version() IS 'version of the loaded library';

-- Can joins be taken, and if not why? Plans a query of its own where another extension is in the way.
CREATE FUNCTION gpujoin_status(
    OUT ready boolean,
    OUT reason text,                  -- why not; NULL when ready
    OUT server text,                  -- not preloaded, starting, ready, down
    OUT since timestamptz,            -- when that began
    OUT generation bigint,            -- counts server processes
    OUT server_pid integer,
    OUT last_words text,              -- of a server that went down: what it logged last
    OUT has_gpu boolean,
    OUT device_memory bigint,         -- bytes that a join may take on a GPU
    OUT host_memory bigint,           -- bytes that all joins may take in the server
    OUT staging_memory bigint,
    OUT enabled boolean,
    OUT device text)                  -- the setting gpujoin.device
AS 'MODULE_PATHNAME', 'gpujoin_status'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpujoin_status() IS 'whether joins can be taken, and if not why';

CREATE FUNCTION gpujoin_list_devices(
    OUT engine text,
    OUT number integer,               -- of the GPU; NULL for the CPU
    OUT name text,
    OUT state text,                   -- ready, or why it cannot be used
    OUT processors integer,
    OUT memory bigint,                -- bytes
    OUT free_memory bigint,
    OUT used_memory bigint,           -- charged to joins now
    OUT sessions integer,             -- joins now
    OUT setup_ms double precision,    -- what calibration found: an empty join,
    OUT build_row_ns double precision,
    OUT probe_row_ns double precision,
    OUT match_ns double precision,
    OUT transfer_mb_s double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_list_devices'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 4;
COMMENT ON FUNCTION gpujoin_list_devices() IS 'what the server can execute joins on';

CREATE VIEW gpujoin_devices AS SELECT * FROM gpujoin_list_devices();
COMMENT ON VIEW gpujoin_devices IS 'what the server can execute joins on';

CREATE FUNCTION gpujoin_calibrate() RETURNS void
AS 'MODULE_PATHNAME', 'gpujoin_calibrate'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpujoin_calibrate() IS 'measures the devices anew, for the planner';

CREATE FUNCTION gpujoin_statistics(
    OUT joins bigint,
    OUT failed bigint,
    OUT build_rows bigint,
    OUT probe_rows bigint,
    OUT result_rows bigint,
    OUT bytes bigint,                 -- to and from the server
    OUT server_restarts bigint,
    OUT since timestamptz)
AS 'MODULE_PATHNAME', 'gpujoin_statistics'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpujoin_statistics() IS 'what gpujoin has done since the cluster was started';

CREATE VIEW pg_stat_gpujoin AS SELECT * FROM gpujoin_statistics();
COMMENT ON VIEW pg_stat_gpujoin IS 'what gpujoin has done since the cluster was started';

REVOKE ALL ON FUNCTION gpujoin_status(), gpujoin_list_devices(), gpujoin_calibrate(), gpujoin_statistics() FROM PUBLIC;
REVOKE ALL ON gpujoin_devices, pg_stat_gpujoin FROM PUBLIC;
GRANT EXECUTE ON FUNCTION gpujoin_status(), gpujoin_list_devices(), gpujoin_statistics() TO pg_monitor;
GRANT SELECT ON gpujoin_devices, pg_stat_gpujoin TO pg_monitor;
