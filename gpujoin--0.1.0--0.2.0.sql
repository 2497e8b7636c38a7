-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION gpujoin UPDATE TO '0.2.0'" to load this file. \quit

-- The functions of this version are in no older library, which goes on until PostgreSQL is started again.
DO $$
BEGIN
    IF gpujoin_version() <> '0.2.0' THEN
        RAISE EXCEPTION 'the loaded library is gpujoin %, and this is version 0.2.0 of the extension', gpujoin_version()
            USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Restart PostgreSQL, which then loads the library that is installed.';
    END IF;
END
$$;

-- Plans the statement, with the permissions that EXPLAIN asks of whoever calls it, and runs nothing.
CREATE FUNCTION gpujoin_why(
    query text,
    OUT tables text[],                -- of both sides, by the names that EXPLAIN gives them
    OUT kind text,                    -- Inner Join, Left Join, ..., Aggregate
    OUT taken boolean,
    OUT node text,                    -- GPU Join 1, stage 2; or core's node
    OUT reason text,                  -- why it is not taken
    OUT advice text)                  -- what would change that
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_why'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION gpujoin_why(text) IS 'which joins and aggregates of a statement are taken, and why others are not';

-- Reads a table so that the server keeps columns of it (all that it can keep, or those that are named); how many of
-- its blocks need not be read any more.
CREATE FUNCTION gpujoin_keep("table" regclass, columns text[] DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'gpujoin_keep'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION gpujoin_keep(regclass, text[]) IS 'lets the server keep columns of a table';

CREATE FUNCTION gpujoin_forget("table" regclass DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'gpujoin_forget'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpujoin_forget(regclass) IS 'lets the server forget the kept columns of a table, or of all tables';

CREATE FUNCTION gpujoin_list_kept(
    OUT database text,                -- NULL: it is gone
    OUT relation regclass,            -- NULL: of another database, or it is gone, or was written anew
    OUT columns integer,              -- of the chunk with the most
    OUT chunks integer,
    OUT rows bigint,
    OUT bytes bigint,
    OUT uses bigint)                  -- by scans, of the chunk with the most
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_list_kept'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION gpujoin_list_kept() IS 'tables that the server keeps columns of';

CREATE VIEW gpujoin_kept AS SELECT * FROM gpujoin_list_kept();
COMMENT ON VIEW gpujoin_kept IS 'tables that the server keeps columns of';

REVOKE ALL ON FUNCTION gpujoin_list_kept() FROM PUBLIC;
REVOKE ALL ON gpujoin_kept FROM PUBLIC;
GRANT EXECUTE ON FUNCTION gpujoin_list_kept() TO pg_monitor;
GRANT SELECT ON gpujoin_kept TO pg_monitor;

-- By database; gpujoin_statistics() has the sums. Its columns are first, since others' views may be over them. It is for
-- whoever may look at the view, and asks for that itself: so that whoever was allowed to still is.
CREATE FUNCTION gpujoin_list_statistics(
    OUT joins bigint,
    OUT failed bigint,
    OUT build_rows bigint,
    OUT probe_rows bigint,
    OUT result_rows bigint,
    OUT bytes bigint,                 -- sent to the server
    OUT server_restarts bigint,       -- where datid is 0; else NULL
    OUT since timestamptz,            -- when counting began
    OUT datid oid,                    -- 0: databases that have no row, or are gone
    OUT datname name,
    OUT cancelled bigint,             -- or given up
    OUT chains bigint,                -- of the joins: several in one node
    OUT aggregates bigint,            -- of the joins: with groups; also of single tables
    OUT partitions bigint,            -- by which joins were run for which memory was short
    OUT moved bigint,                 -- to the CPU, for want of a device's memory
    OUT spilled_bytes bigint,         -- written to temporary files
    OUT kept_chunks bigint,           -- that were read from kept columns,
    OUT kept_blocks bigint,           -- so that these blocks were not
    OUT build_ms double precision,
    OUT probe_ms double precision,
    OUT waited_ms double precision,   -- for the server, of both
    OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_list_statistics'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION gpujoin_list_statistics() IS 'what gpujoin has done, by database';

CREATE OR REPLACE VIEW pg_stat_gpujoin AS SELECT * FROM gpujoin_list_statistics();
COMMENT ON VIEW pg_stat_gpujoin IS 'what gpujoin has done, by database';
COMMENT ON FUNCTION gpujoin_statistics() IS 'what gpujoin has done in all databases';

CREATE FUNCTION gpujoin_reset_statistics(datid oid DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'gpujoin_reset_statistics'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpujoin_reset_statistics(oid) IS 'resets the statistics of a database, or of all';
REVOKE ALL ON FUNCTION gpujoin_reset_statistics(oid) FROM PUBLIC;

CREATE FUNCTION gpujoin_list_running(
    OUT pid integer,
    OUT leader_pid integer,           -- of a parallel worker; else NULL
    OUT database text,
    OUT since timestamptz,
    OUT phase text,                   -- building, sealing, probing, finishing
    OUT device text,                  -- where it began
    OUT build_rows bigint,            -- of this process, so far
    OUT probe_rows bigint,
    OUT result_rows bigint,           -- of groups, if the join's rows are aggregated
    OUT bytes bigint)                 -- sent to the server
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_list_running'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION gpujoin_list_running() IS 'joins that run now, by process';

CREATE VIEW gpujoin_running AS SELECT * FROM gpujoin_list_running();
COMMENT ON VIEW gpujoin_running IS 'joins that run now, by process';

REVOKE ALL ON FUNCTION gpujoin_list_running() FROM PUBLIC;
REVOKE ALL ON gpujoin_running FROM PUBLIC;
GRANT EXECUTE ON FUNCTION gpujoin_list_running() TO pg_monitor;
GRANT SELECT ON gpujoin_running TO pg_monitor;
