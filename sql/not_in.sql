-- NOT IN (SELECT ...) as an antijoin where neither side can be NULL, with the same rows as core's, which looks rows up in all
-- of the subquery's; and those that have to stay as they are.
\set ECHO none
\i sql/include/joined.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
-- Not enough for hash tables of these subqueries: each row is compared with all of theirs, which a join is always cheaper than.
SET hash_mem_multiplier = 1;
SET work_mem = '64kB';
CREATE TABLE a (k integer NOT NULL, n integer, c char(6) NOT NULL, v varchar(8) NOT NULL, d numeric(8, 2) NOT NULL, t date NOT NULL, z integer NOT NULL, w text COLLATE "C" NOT NULL);
CREATE TABLE b (k integer NOT NULL, n integer, c char(6) NOT NULL, v text NOT NULL, d numeric(8, 2) NOT NULL, t timestamp NOT NULL, z integer NOT NULL, big bigint NOT NULL, w text COLLATE "POSIX" NOT NULL);
CREATE TABLE many (k integer NOT NULL, n integer);
CREATE TABLE few (k integer NOT NULL, n integer);
INSERT INTO a SELECT i % 900, nullif(i % 900, 7), 'c' || i % 300, 'v' || i % 70, i % 211 / 4.0, date '2024-01-01' + i % 90, i % 5, i % 90 FROM generate_series(1, 1100) AS i;
INSERT INTO b SELECT i * 7 % 800, nullif(i * 7 % 800, 14), 'c' || i % 280, 'v' || i % 60, i % 113 / 4.0, date '2024-01-01' + i % 80, i % 7, i % 450, i % 80 FROM generate_series(1, 3600) AS i;
INSERT INTO many SELECT i % 850, nullif(i, 9) FROM generate_series(1, 3600) AS i;
INSERT INTO few VALUES (1, 1), (2, NULL), (3, 3);
VACUUM ANALYZE a, b, many, few;

SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE z <> 3 AND k < 700)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b, few WHERE b.z > few.k AND b.n < 500)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b JOIN few ON b.z > few.k WHERE few.n IS NOT NULL)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b LEFT JOIN few ON b.z = few.k WHERE b.z <> 2)',
    'SELECT * FROM a WHERE k NOT IN (SELECT big FROM b)',
    'SELECT * FROM a WHERE c NOT IN (SELECT c FROM b WHERE c <> ''c5'')',
    'SELECT * FROM a WHERE v NOT IN (SELECT v FROM b WHERE v <> ''v5'')',
    'SELECT * FROM a WHERE d NOT IN (SELECT d FROM b)',
    'SELECT * FROM a WHERE NOT (k IN (SELECT k FROM b WHERE v NOT LIKE ''v1%''))',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE z <> 2) AND c NOT IN (SELECT c FROM b WHERE z > 1) AND n > 100',
    'SELECT z, count(*), sum(d) FROM a WHERE k NOT IN (SELECT k FROM b) GROUP BY z',
    'SELECT x.k, few.n FROM a x JOIN few ON few.k = x.z WHERE x.k NOT IN (SELECT k FROM b)',
    'SELECT x.k, few.n FROM a x LEFT JOIN few ON few.k = x.z WHERE x.k NOT IN (SELECT k FROM b)',
    'SELECT x.k, few.n FROM few RIGHT JOIN a x ON few.k = x.z WHERE x.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM few WHERE k IN (SELECT z FROM a WHERE k NOT IN (SELECT k FROM b))',
    'SELECT * FROM few WHERE EXISTS (SELECT FROM a WHERE a.z = few.k AND a.k NOT IN (SELECT k FROM b))',
    'SELECT * FROM (SELECT k, z FROM a WHERE k NOT IN (SELECT k FROM b)) q WHERE z > 2 UNION ALL SELECT k, n FROM few',
    'WITH w AS (SELECT k FROM a WHERE k NOT IN (SELECT k FROM b)) SELECT count(*) FROM w',
    'SELECT k FROM a WHERE k NOT IN (SELECT k FROM b) ORDER BY k LIMIT 20',
    'SELECT k FROM a WHERE k NOT IN (SELECT k FROM many WHERE k NOT IN (SELECT k FROM b))'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- What may be NULL, on either side.
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE n NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT n FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT n FROM b WHERE n IS NOT NULL)',
    'SELECT * FROM few LEFT JOIN a ON a.z = few.n WHERE a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a RIGHT JOIN few ON a.z = few.n WHERE a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a FULL JOIN few ON a.z = few.k WHERE a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a FULL JOIN few ON a.z = few.k WHERE few.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM many LEFT JOIN b ON b.k = many.n)',
    'SELECT * FROM a WHERE k NOT IN (SELECT many.k FROM many RIGHT JOIN b ON b.k = many.n)',
    'SELECT * FROM a WHERE k NOT IN (SELECT many.k FROM (few LEFT JOIN many ON many.n = few.n) RIGHT JOIN b ON b.z = few.k)',
    'SELECT * FROM few, LATERAL (SELECT * FROM a WHERE a.z = few.n) l WHERE l.k NOT IN (SELECT k FROM b)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- What is no comparison of columns with a plain subquery's.
CREATE FUNCTION steps() RETURNS integer LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN 1; END';
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE k NOT IN (SELECT max(k) FROM b GROUP BY k, z, t)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b ORDER BY k LIMIT 3000)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE z < 3 UNION ALL SELECT k FROM many)',
    'SELECT * FROM a WHERE k NOT IN (SELECT DISTINCT ON (t, z) k FROM b ORDER BY t, z, k)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b WHERE b.z = a.z)',
    'SELECT * FROM a WHERE k + 1 NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k + 1 FROM b)',
    'SELECT * FROM a WHERE (k, z) NOT IN (SELECT k, z FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) OR z = 1',
    'SELECT * FROM a WHERE (k NOT IN (SELECT k FROM b)) IS NOT TRUE',
    'SELECT * FROM a WHERE t NOT IN (SELECT t FROM b)',
    'SELECT * FROM a WHERE w NOT IN (SELECT w FROM b)',
    'WITH q AS MATERIALIZED (SELECT k FROM b) SELECT * FROM a WHERE k NOT IN (SELECT k FROM q)',
    'SELECT * FROM a WHERE k <> ALL (SELECT k FROM b)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- What may fail, or does more than compare, anywhere in the statement: rows that NOT IN leaves out might come to it first.
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE k >= 0 OR 10 / (z - 9) < 5)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE k >= 0 OR z >= steps())',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) AND 10 / (k / 800) > 5',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) AND 10 / (k - 901) < 5',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) AND z >= steps()',
    'SELECT * FROM a, few WHERE 10 / (a.k - few.k - 900) < 100 AND a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a LEFT JOIN few ON few.k = a.z AND 10 / (a.k - 901) < 5 WHERE a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) AND z = (SELECT max(k) FROM few)',
    'SELECT * FROM (SELECT * FROM a WHERE k NOT IN (SELECT k FROM b)) q WHERE 10 / (k - 901) < 5',
    'SELECT * FROM (SELECT * FROM a WHERE 10 / (k - 901) < 5) q WHERE k NOT IN (SELECT k FROM b)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- A table's children may have NULL where it has none itself; and so may a table whose constraint is yet to be looked at (18).
CREATE TABLE parent (k integer);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT i % 1000 FROM generate_series(1, 3600) AS i;
INSERT INTO child VALUES (NULL), (2000);
CREATE TABLE unseen (k integer);
INSERT INTO unseen SELECT nullif(i % 1000, 5) FROM generate_series(1, 3600) AS i;
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        EXECUTE 'ALTER TABLE parent ADD CONSTRAINT own NOT NULL k NO INHERIT';
        EXECUTE 'ALTER TABLE unseen ADD CONSTRAINT later NOT NULL k NOT VALID';
    ELSE
        ALTER TABLE ONLY parent ALTER k SET NOT NULL;
    END IF;
END $$;
CREATE TABLE parted (k integer NOT NULL, z integer) PARTITION BY RANGE (k);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (300);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (300) TO (3000);
INSERT INTO parted SELECT i % 1500, i % 7 FROM generate_series(1, 3600) AS i;
VACUUM ANALYZE parent, child, unseen, parted;
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM parent)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM ONLY parent)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM unseen)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM parted)',
    'SELECT * FROM parent WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM ONLY parent WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM unseen WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM parted WHERE k NOT IN (SELECT k FROM b)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- A plan that counts on a constraint goes with it.
PREPARE unmatched AS SELECT count(*) FROM a WHERE k NOT IN (SELECT k FROM b WHERE z < 6);
SET plan_cache_mode = force_generic_plan;
EXECUTE unmatched;
SELECT bool_or(line ~ 'SubPlan') AS compares FROM plan_of('EXECUTE unmatched') AS line;
ALTER TABLE b ALTER k DROP NOT NULL;
INSERT INTO b VALUES (NULL, 1, 'c', 'v', 1, now(), 1, 1, 'w');
EXECUTE unmatched;
SELECT bool_or(line ~ 'SubPlan') AS compares FROM plan_of('EXECUTE unmatched') AS line;
DELETE FROM b WHERE k IS NULL;
ALTER TABLE b ALTER k SET NOT NULL;
EXECUTE unmatched;
RESET plan_cache_mode;

-- Under a snapshot that may be older than the constraint, with locks of rows, and where it is switched off.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT bool_or(line ~ 'SubPlan') AS compares FROM plan_of('SELECT * FROM a WHERE k NOT IN (SELECT k FROM b)') AS line;
ROLLBACK;
SELECT bool_or(line ~ 'SubPlan') AS compares FROM plan_of('SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) FOR UPDATE') AS line;
SET gpujoin.decorrelate = off;
SELECT bool_or(line ~ 'SubPlan') AS compares FROM plan_of('SELECT * FROM a WHERE k NOT IN (SELECT k FROM b)') AS line;
RESET gpujoin.decorrelate;

-- With a hash table, of statements that take long.
RESET work_mem;
SET seq_page_cost = 5000;
SET gpujoin.force = on;
SELECT r.* FROM compare_joined('SELECT z, count(*), sum(d) FROM a WHERE k NOT IN (SELECT k FROM b) GROUP BY z') AS r;
RESET gpujoin.force;
RESET seq_page_cost;
SET work_mem = '64kB';

-- Row security holds within the subquery, which stays as it is.
CREATE ROLE gpujoin_seer;
GRANT SELECT ON a, b TO gpujoin_seer;
ALTER TABLE b ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON b USING (k < 600);
SET ROLE gpujoin_seer;
SELECT count(*), sum(d) FROM a WHERE k NOT IN (SELECT k FROM b);
SELECT bool_or(line ~ 'SubPlan') AS compares FROM plan_of('SELECT * FROM a WHERE k NOT IN (SELECT k FROM b)') AS line;
SET gpujoin.enabled = off;
SELECT count(*), sum(d) FROM a WHERE k NOT IN (SELECT k FROM b);
RESET gpujoin.enabled;
RESET ROLE;
DROP FUNCTION compare_joined, compare_once, compare_all, compare_nodes, rows_or_error, steps;
DROP TABLE a, b, many, few, parent, child, unseen, parted;
DROP ROLE gpujoin_seer;
