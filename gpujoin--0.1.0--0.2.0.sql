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
