-- In the database that the entry point makes (POSTGRES_DB).
CREATE EXTENSION gpujoin;
