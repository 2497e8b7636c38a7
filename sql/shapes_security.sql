-- Row security and security barriers: a function that tells what it is called with must not be called for rows that
-- the policy or the view hides. The functions below fail for such rows.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE secrets AS SELECT i AS k, i % 10 AS g, i % 2 = 0 AS hidden, 's' || i AS t FROM generate_series(1, 300) AS i;
CREATE TABLE probes AS SELECT i AS k, i % 7 AS g, i AS hidden_k FROM generate_series(1, 400, 3) AS i;
ANALYZE secrets, probes;
CREATE FUNCTION leaks(k integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
    IF k % 2 = 0 THEN
        RAISE EXCEPTION 'called with the hidden %', k;
    END IF;
    RETURN k;
END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT k, g, t FROM secrets WHERE NOT hidden;
CREATE VIEW inner_join WITH (security_barrier) AS SELECT s.k, s.g, p.g AS pg FROM secrets s JOIN probes p ON s.k = p.k WHERE NOT s.hidden;
CREATE VIEW outer_join WITH (security_barrier) AS SELECT s.k, s.g, p.k AS pk FROM secrets s LEFT JOIN probes p ON s.k = p.k AND NOT s.hidden WHERE NOT s.hidden;
SELECT query, c.*
FROM unnest(ARRAY[
    'SELECT * FROM barrier b JOIN probes p ON leaks(b.k) = p.k', 'SELECT * FROM barrier b LEFT JOIN probes p ON b.k = p.k AND leaks(b.k) > p.g',
    'SELECT * FROM barrier b RIGHT JOIN probes p ON leaks(b.k) = p.k', 'SELECT * FROM barrier b FULL JOIN probes p ON leaks(b.k) = p.k AND b.g < p.g',
    'SELECT * FROM barrier b WHERE NOT EXISTS (SELECT FROM probes p WHERE p.k = leaks(b.k))', 'SELECT * FROM probes p WHERE EXISTS (SELECT FROM barrier b WHERE p.k = leaks(b.k))',
    'SELECT * FROM inner_join WHERE leaks(k) > 100', 'SELECT * FROM outer_join WHERE leaks(k) > 100',
    'SELECT * FROM inner_join i JOIN probes p ON leaks(i.k) = p.k', 'SELECT * FROM inner_join i JOIN inner_join j ON leaks(i.k) = leaks(j.k) AND i.g = j.g',
    'SELECT * FROM barrier b JOIN probes p ON p.k BETWEEN leaks(b.k) - 1 AND leaks(b.k)']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;

-- Conditions of one join at two levels: the leaky one is tested last.
CREATE VIEW two_levels WITH (security_barrier) AS SELECT s.k, s.g, p.g AS pg FROM secrets s, probes p WHERE s.k = p.k AND (NOT s.hidden OR p.g > 100);
SELECT * FROM compare('SELECT * FROM two_levels WHERE leaks(k) + pg > 5');
SELECT * FROM compare('SELECT * FROM two_levels WHERE leaks(k) = pg + 1');
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT * FROM two_levels WHERE leaks(k) + pg > 5;
RESET gpujoin.force;

-- Row security, as another user than the tables' owner.
ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
CREATE POLICY shown ON secrets USING (NOT hidden);
CREATE POLICY linked ON secrets AS RESTRICTIVE USING (EXISTS (SELECT FROM probes p WHERE p.k % 100 = secrets.k % 100));
CREATE ROLE gpujoin_reader;
GRANT SELECT, UPDATE ON secrets TO gpujoin_reader;
GRANT SELECT ON probes TO gpujoin_reader;
GRANT ALL ON SCHEMA public TO gpujoin_reader;
DO $$ BEGIN EXECUTE format('GRANT TEMP ON DATABASE %I TO gpujoin_reader', current_database()); END $$;
DROP TABLE core_rows, gpu_rows;
SET ROLE gpujoin_reader;
SELECT query, c.*
FROM unnest(ARRAY[
    'SELECT s.*, p.g AS pg FROM secrets s JOIN probes p ON leaks(s.k) = p.k', 'SELECT s.*, p.g AS pg FROM secrets s LEFT JOIN probes p ON s.k = p.k AND leaks(s.k) <> p.g',
    'SELECT s.k, p.k AS pk FROM secrets s FULL JOIN probes p ON s.k = p.k', 'SELECT p.k FROM probes p WHERE NOT EXISTS (SELECT FROM secrets s WHERE s.k = p.k)',
    'SELECT x.k, y.t FROM secrets x JOIN secrets y ON leaks(x.k) = leaks(y.k)']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;
RESET ROLE;
SET row_security = off;
SELECT * FROM compare('SELECT s.k, p.k AS pk FROM secrets s JOIN probes p ON s.k = p.k');
RESET row_security;
PREPARE as_whoever AS SELECT count(*) FROM secrets s JOIN probes p ON s.k = p.k;
SET gpujoin.force = on;
EXECUTE as_whoever;
SET ROLE gpujoin_reader;
EXECUTE as_whoever;
RESET ROLE;
EXECUTE as_whoever;
RESET gpujoin.force;
DEALLOCATE as_whoever;

-- Columns without a grant stay out of reach.
REVOKE SELECT ON secrets FROM gpujoin_reader;
GRANT SELECT (k) ON secrets TO gpujoin_reader;
SET ROLE gpujoin_reader;
SET gpujoin.force = on;
SELECT count(s.t) FROM secrets s JOIN probes p ON s.k = p.k;
RESET gpujoin.force;
RESET ROLE;
DO $$ BEGIN EXECUTE format('REVOKE ALL ON DATABASE %I FROM gpujoin_reader', current_database()); END $$;
REVOKE ALL ON SCHEMA public FROM gpujoin_reader;
DROP VIEW barrier, inner_join, outer_join, two_levels;
DROP TABLE secrets, probes;
DROP FUNCTION leaks;
DROP ROLE gpujoin_reader;
