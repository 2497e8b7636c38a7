-- Statements that write: each is run with core's joins and with GPU Join, rolled back in between, and the tables
-- are compared afterwards.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\i sql/include/writes.sql
\set ECHO all
CREATE TABLE a (k integer PRIMARY KEY, g integer, t text);
CREATE TABLE b (k integer, g integer, t text);
CREATE TABLE log (k integer, what text);
INSERT INTO a SELECT i, i % 10, 'a' || i FROM generate_series(1, 300) AS i;
INSERT INTO b SELECT i, i % 15, 'b' || i FROM generate_series(2, 500, 3) AS i;
ANALYZE a, b;

-- The rows of all tables, with the tables that they are in.
CREATE FUNCTION all_rows() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT 'a' || a::text FROM a UNION ALL SELECT 'b' || b::text FROM b UNION ALL SELECT 'log' || log::text FROM log;
END $$;

SELECT statement, c.*
FROM unnest(ARRAY[
    'UPDATE a SET t = b.t FROM b WHERE a.k = b.k',
    'UPDATE a SET t = b.t, g = a.g + b.g FROM b WHERE a.k = b.k AND a.g < b.g RETURNING a.*, b.t',
    'UPDATE a SET t = s.t FROM (SELECT b.k, max(x.t) AS t FROM b JOIN b x ON b.g = x.g GROUP BY b.k) s WHERE a.k = s.k',
    'UPDATE a SET g = x.g FROM a x WHERE a.k = x.k + 1', 'UPDATE a SET t = NULL WHERE EXISTS (SELECT FROM b WHERE b.k BETWEEN a.k - 1 AND a.k)',
    'UPDATE a SET k = -a.k FROM b WHERE a.k = b.k AND b.g = 5', 'UPDATE a SET t = (SELECT min(b.t) FROM b JOIN b x USING (k) WHERE b.g = a.g)',
    'DELETE FROM a USING b WHERE a.k = b.k', 'DELETE FROM a USING b WHERE a.k = b.k RETURNING a, b.t', 'DELETE FROM b USING b x WHERE b.g = x.g AND b.k < x.k',
    'DELETE FROM a WHERE NOT EXISTS (SELECT FROM b WHERE a.k = b.k)', 'DELETE FROM b WHERE k IN (SELECT k FROM a)',
    'INSERT INTO log SELECT a.k, b.t FROM a LEFT JOIN b USING (k)', 'INSERT INTO log SELECT a.k, ''full'' FROM a FULL JOIN b USING (k) RETURNING *',
    'INSERT INTO a SELECT b.k, x.g, x.t FROM b JOIN b x ON b.g = x.k ON CONFLICT (k) DO UPDATE SET t = excluded.t, g = a.g + 1 WHERE a.g > 2',
    'INSERT INTO b SELECT b.* FROM b JOIN a USING (k)',
    'WITH gone AS (DELETE FROM a USING b WHERE a.k = b.k RETURNING a.k, b.t) INSERT INTO log SELECT gone.k, b.t FROM gone JOIN b ON gone.k = b.k + 3',
    'WITH moved AS (UPDATE a SET g = 99 FROM b WHERE a.k = b.k RETURNING a.k) SELECT count(*) FROM moved JOIN a USING (k) WHERE a.g <> 99',
    'MERGE INTO a USING b ON a.k = b.k WHEN MATCHED AND b.g > 7 THEN UPDATE SET t = b.t WHEN MATCHED AND b.g = 0 THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (b.k, b.g, ''new'')',
    'MERGE INTO a USING (SELECT b.k, count(*) AS n FROM b JOIN b x USING (g) GROUP BY b.k) s ON a.k = s.k WHEN MATCHED THEN UPDATE SET g = s.n WHEN NOT MATCHED AND s.n > 11 THEN INSERT VALUES (s.k, s.n)',
    'MERGE INTO b USING a ON a.k = b.k AND a.g < b.g WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (a.k, a.g, ''from a'')',
    'MERGE INTO b USING a ON a.k > b.k - 2 AND a.k < b.k WHEN MATCHED THEN DELETE']) WITH ORDINALITY AS statements (statement, i),
     compare_write(statement) AS c
ORDER BY i;

-- Triggers see the same rows, row by row and as transition tables that are joined themselves.
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log SELECT o.k, o.t || ' to ' || n.t FROM old_rows o JOIN new_rows n USING (k);
    RETURN NULL;
END $$;
CREATE TRIGGER note AFTER UPDATE ON a REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note();
SELECT * FROM compare_write('UPDATE a SET t = b.t FROM b WHERE a.k = b.k');
DROP TRIGGER note ON a;

-- Referential integrity runs joins of its own (to validate a constraint, with a left join).
SET gpujoin.force = on;
INSERT INTO b VALUES (1000, 0, 'refers to nothing');
ALTER TABLE b ADD CONSTRAINT refers FOREIGN KEY (g) REFERENCES a (k) NOT VALID;
ALTER TABLE b VALIDATE CONSTRAINT refers;
INSERT INTO a VALUES (0, 0, 'zero');
ALTER TABLE b VALIDATE CONSTRAINT refers;
ALTER TABLE b DROP CONSTRAINT refers;
DELETE FROM b WHERE k = 1000;
DELETE FROM a WHERE k = 0;

-- CREATE TABLE AS, SELECT INTO, materialized views, COPY, and locking.
CREATE TABLE made AS SELECT a.k, b.t FROM a LEFT JOIN b USING (k);
SELECT b.k, a.t INTO chosen FROM a RIGHT JOIN b USING (k);
CREATE MATERIALIZED VIEW kept AS SELECT a.k AS ak, b.k AS bk FROM a FULL JOIN b USING (k);
REFRESH MATERIALIZED VIEW kept;
SELECT (SELECT count(*) FROM made), (SELECT count(t) FROM made), (SELECT count(*) FROM chosen), (SELECT count(t) FROM chosen), (SELECT count(*) FROM kept);
COPY (SELECT a.k, b.t FROM a JOIN b USING (k) WHERE a.k < 20 ORDER BY 1) TO STDOUT;
SELECT a.k, b.t FROM a JOIN b USING (k) WHERE a.k < 10 ORDER BY 1 FOR UPDATE;
SELECT a.k FROM a JOIN b USING (k) WHERE a.k < 10 ORDER BY 1 FOR UPDATE OF b SKIP LOCKED;
SELECT a.k, s.t FROM a LEFT JOIN (SELECT * FROM b OFFSET 0) s USING (k) WHERE a.k < 6 ORDER BY 1 FOR NO KEY UPDATE OF a;
SELECT a.k FROM a JOIN b USING (k) JOIN (VALUES (5), (8)) v(k) ON v.k = a.k ORDER BY 1 FOR SHARE OF a, b;
RESET gpujoin.force;
DROP MATERIALIZED VIEW kept;
DROP TABLE a, b, log, made, chosen;
DROP FUNCTION note, all_rows;
