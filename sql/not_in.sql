-- NOT IN (SELECT ...) as an antijoin where neither side can be NULL, with the same rows as core's, which looks rows up in all
-- of the subquery's; and those that have to stay as they are.
\set ECHO none
\i sql/include/joined.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET hash_mem_multiplier = 1;
SET work_mem = '64kB';  -- which is not enough for a hash table of most of these subqueries
CREATE TABLE a (k integer NOT NULL, n integer, c char(6) NOT NULL, v varchar(8) NOT NULL, d numeric(8, 2) NOT NULL, t date NOT NULL, z integer NOT NULL);
CREATE TABLE b (k integer NOT NULL, n integer, c char(6) NOT NULL, v text NOT NULL, d numeric(8, 2) NOT NULL, t timestamp NOT NULL, z integer NOT NULL, big bigint NOT NULL);
CREATE TABLE few (k integer NOT NULL, n integer);
INSERT INTO a SELECT i % 900, nullif(i % 900, 7), 'c' || i % 300, 'v' || i % 70, i % 211 / 4.0, date '2024-01-01' + i % 90, i % 5 FROM generate_series(1, 2000) AS i;
INSERT INTO b SELECT i * 7 % 800, nullif(i * 7 % 800, 14), 'c' || i % 280, 'v' || i % 60, i % 113 / 4.0, date '2024-01-01' + i % 80, i % 7, i % 450 FROM generate_series(1, 3600) AS i;
INSERT INTO few VALUES (1, 1), (2, NULL), (3, 3);
VACUUM ANALYZE a, b, few;

SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE z <> 3 AND k < 700)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE z > 10)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b, few WHERE b.z > few.k AND b.n < 500)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b JOIN few ON b.z > few.k WHERE few.n IS NOT NULL)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b LEFT JOIN few ON b.z = few.k WHERE few.k IS NULL)',
    'SELECT * FROM a WHERE k NOT IN (SELECT DISTINCT k FROM b WHERE z <> 4 ORDER BY 1)',
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
    'SELECT k FROM a WHERE k NOT IN (SELECT k FROM b) ORDER BY k LIMIT 20'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- What may be NULL, on either side, or is not as simple.
CREATE FUNCTION steps() RETURNS integer LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN 1; END';
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE n NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT n FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT n FROM b WHERE n IS NOT NULL)',
    'SELECT * FROM few LEFT JOIN a ON a.z = few.n WHERE a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a RIGHT JOIN few ON a.z = few.n WHERE a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a FULL JOIN few ON a.z = few.k WHERE a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a FULL JOIN few ON a.z = few.k WHERE few.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM few LEFT JOIN b ON b.z = few.n)',
    'SELECT * FROM a WHERE k NOT IN (SELECT few.k FROM few RIGHT JOIN b ON b.z = few.n)',
    'SELECT * FROM few, LATERAL (SELECT * FROM a WHERE a.z = few.n) l WHERE l.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT max(k) FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT max(k) FROM b GROUP BY z)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b ORDER BY k LIMIT 30)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b UNION SELECT k FROM few)',
    'SELECT * FROM a WHERE k NOT IN (SELECT b.k FROM b WHERE b.z = a.z)',
    'SELECT * FROM a WHERE k + 1 NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k + 1 FROM b)',
    'SELECT * FROM a WHERE (k, z) NOT IN (SELECT k, z FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) OR z = 1',
    'SELECT * FROM a WHERE (k NOT IN (SELECT k FROM b)) IS NOT TRUE',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE 10 / (z - 9) < 5)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE 10 / (z - 3) < 5)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE 10 / (z - 3) < 5) AND z > 10',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM b WHERE z >= steps())',
    'SELECT * FROM a, few WHERE 10 / (a.k - few.k - 900) < 100 AND a.k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE t NOT IN (SELECT t FROM b)',
    'WITH w AS (SELECT k FROM b) SELECT * FROM a WHERE k NOT IN (SELECT k FROM w)',
    'SELECT * FROM a WHERE k <> ALL (SELECT k FROM b)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- A table's children may have NULL where it has none itself; and so may a table whose constraint is yet to be looked at (18).
CREATE TABLE parent (k integer);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT i FROM generate_series(1, 1000) AS i;
INSERT INTO child VALUES (NULL), (2000);
CREATE TABLE unseen (k integer);
INSERT INTO unseen SELECT nullif(i, 5) FROM generate_series(1, 1000) AS i;
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
INSERT INTO parted SELECT i, i % 7 FROM generate_series(1, 1500) AS i;
VACUUM ANALYZE parent, child, unseen, parted;
SELECT q.n, r.* FROM unnest(ARRAY[
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM parent)',
    'SELECT * FROM parent WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM ONLY parent WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM ONLY parent)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM unseen)',
    'SELECT * FROM unseen WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM parted WHERE k NOT IN (SELECT k FROM b)',
    'SELECT * FROM a WHERE k NOT IN (SELECT k FROM parted WHERE z <> 1)'
]) WITH ORDINALITY AS q (query, n), compare_joined(q.query) AS r ORDER BY q.n;

-- A plan that counts on a constraint goes with it.
PREPARE unmatched AS SELECT count(*) FROM a WHERE k NOT IN (SELECT k FROM b WHERE z < 5);
SET plan_cache_mode = force_generic_plan;
EXECUTE unmatched;
ALTER TABLE b ALTER k DROP NOT NULL;
INSERT INTO b VALUES (NULL, 1, 'c', 'v', 1, now(), 1, 1);
EXECUTE unmatched;
DELETE FROM b WHERE k IS NULL;
EXECUTE unmatched;
ALTER TABLE b ALTER k SET NOT NULL;
RESET plan_cache_mode;

-- With a hash table, of statements that take long.
RESET work_mem;
SET seq_page_cost = 5000;
SELECT r.* FROM compare_joined('SELECT z, count(*), sum(d) FROM a WHERE k NOT IN (SELECT k FROM b) GROUP BY z') AS r;
RESET seq_page_cost;
SET work_mem = '64kB';
SET gpujoin.decorrelate = off;
SELECT bool_or(line ~ 'SubPlan') AS looks FROM plan_of('SELECT count(*) FROM a WHERE k NOT IN (SELECT k FROM b)') AS line;
RESET gpujoin.decorrelate;
SELECT bool_or(line ~ 'SubPlan') AS looks FROM plan_of('SELECT * FROM a WHERE k NOT IN (SELECT k FROM b) FOR UPDATE') AS line;

-- Row security holds within the subquery.
CREATE ROLE gpujoin_seer;
GRANT SELECT ON a, b TO gpujoin_seer;
ALTER TABLE b ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON b USING (z < 4);
SET ROLE gpujoin_seer;
SELECT count(*), sum(d) FROM a WHERE k NOT IN (SELECT k FROM b);
SET gpujoin.decorrelate = off;
SELECT count(*), sum(d) FROM a WHERE k NOT IN (SELECT k FROM b);
RESET ROLE;
DROP FUNCTION compare_joined, compare_once, compare_all, compare_nodes, rows_or_error, steps;
DROP TABLE a, b, few, parent, child, unseen, parted;
DROP ROLE gpujoin_seer;
