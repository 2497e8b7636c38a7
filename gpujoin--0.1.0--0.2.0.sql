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
