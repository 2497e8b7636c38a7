-- The rows of a table that meet conditions, without a join or groups above: from kept columns, and from the table where blocks are not
-- kept. The same rows as core's. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE kept_row (id integer, filler text, k integer, s smallint, w bigint, f4 real, f8 double precision, b boolean, d date, ts timestamptz, p numeric(12, 2),
    x numeric, t text, v varchar(30), c char(6), u uuid, y bytea, o oid, i interval);
INSERT INTO kept_row SELECT i, repeat('x', i % 90), i % 40, (i % 300 - 150)::smallint, i * 4294967296 - 7, i / 8.0, i / 3.0, i % 3 = 0, '2024-01-01'::date + i % 100,
    '2024-01-01 00:00:00+00'::timestamptz + i * interval '1 minute', (i % 5000 - 2500) / 100.0, i / 7.0, 'a text of ' || i % 700, 'v' || i % 11, 'c' || i % 5,
    md5((i % 900)::text)::uuid, decode(md5(i::text), 'hex'), i, i * interval '1 second' FROM generate_series(1, 30000) AS i;
UPDATE kept_row SET k = NULL, s = NULL, w = NULL, f4 = NULL, f8 = NULL, b = NULL, d = NULL, ts = NULL, p = NULL, x = NULL, t = NULL, v = NULL, c = NULL, u = NULL, y = NULL, o = NULL,
    i = NULL WHERE id % 17 = 0;
UPDATE kept_row SET p = 'NaN', x = 'NaN', f4 = 'NaN', f8 = '-0', t = '', v = '', c = '', y = '' WHERE id % 1001 = 0;
ALTER TABLE kept_row DROP COLUMN filler, ADD COLUMN e integer DEFAULT 7, ADD COLUMN et text DEFAULT 'added';
VACUUM (FULL) kept_row;
ALTER TABLE kept_row ADD COLUMN e2 text DEFAULT 'later';
VACUUM ANALYZE kept_row;
SELECT gpujoin_keep('kept_row') > 128 AS kept;

-- Of few blocks, and by force: otherwise a table is to have 1,024 blocks, and a scan to cost much less.
EXPLAIN (COSTS OFF) SELECT id, t FROM kept_row WHERE k = 5 AND d > '2024-02-01';
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT id, t FROM kept_row WHERE k = 5 AND d > '2024-02-01';
EXPLAIN (COSTS OFF, VERBOSE) SELECT id + 1, upper(t) FROM kept_row WHERE k = 5 ORDER BY p DESC, id LIMIT 3;

-- Not: rows that are locked or written, of what is computed by the scan's system columns, and of samples; and groups have nodes of
-- their own.
CREATE FUNCTION is_scanned(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'GPU Scan' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;
SELECT q, is_scanned(q) FROM unnest(ARRAY['SELECT id FROM kept_row WHERE k = 5 FOR UPDATE', 'SELECT ctid FROM kept_row WHERE k = 5', 'SELECT kept_row FROM kept_row WHERE k = 5',
    'SELECT id FROM kept_row TABLESAMPLE SYSTEM (50) WHERE k = 5', 'SELECT id FROM kept_row WHERE k = 5', 'UPDATE kept_row SET e = 1 WHERE k = 5',
    'INSERT INTO kept_row (id) SELECT id FROM kept_row WHERE k = 5', 'SELECT count(*) FROM kept_row WHERE k = 5', 'SELECT id FROM kept_row WHERE k = 5 AND random() < 2', 'SELECT id FROM kept_row WHERE k = 5 AND current_user <> ''x''',
    'SELECT id FROM kept_row WHERE k = (SELECT 5) AND id > 3']) AS q;
RESET gpujoin.force;

-- All types, expressions, orders and conditions. (OFFSET 0: the subquery of the comparison stays one.)
CREATE FUNCTION compare_rows(queries text[]) RETURNS TABLE (n bigint, chunks integer, "rows" integer, missing bigint, extra bigint) LANGUAGE sql AS $$
SELECT q.n, r.chunks, r.rows, r.missing, r.extra
FROM unnest(queries) WITH ORDINALITY AS q (query, n), compare_kept(q.query || ' OFFSET 0', 4) AS r
$$;
SELECT * FROM compare_rows(ARRAY['SELECT id, k, s, w, f4, f8, b, d, ts FROM kept_row WHERE id % 3 < 2', 'SELECT id, p, x, t, v, c FROM kept_row WHERE k < 20', 'SELECT id, u, y, o FROM kept_row WHERE k < 20',
    'SELECT id, i FROM kept_row WHERE k < 20', 'SELECT e, et, e2 FROM kept_row', 'SELECT * FROM kept_row',
    'SELECT e2, t FROM kept_row WHERE t LIKE ''a text of 6%'' OR t IS NULL', 'SELECT id FROM kept_row WHERE false', 'SELECT id FROM kept_row WHERE k > 1000', 'SELECT 1 FROM kept_row WHERE k = 5',
    'SELECT id * 2, upper(t), p + 1, CASE WHEN b THEN d ELSE ''2000-01-01'' END FROM kept_row WHERE p BETWEEN 1 AND 2', 'SELECT id, c || v FROM kept_row WHERE (b OR k = 7) AND NOT d = ''2024-01-05''',
    'SELECT id, t FROM kept_row WHERE k IN (3, 4) ORDER BY p, id LIMIT 7', 'SELECT t, p FROM kept_row WHERE k = 3 ORDER BY p DESC NULLS LAST, id', 'SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM kept_row WHERE s > 140',
    'SELECT id FROM kept_row WHERE k = 1 UNION ALL SELECT id FROM kept_row WHERE k = 2', 'SELECT id FROM kept_row WHERE k = 1 EXCEPT SELECT id FROM kept_row WHERE s > 0',
    'SELECT k, (SELECT max(p) FROM kept_row AS r WHERE r.k = l.k) FROM generate_series(1, 5) AS l (k)', 'SELECT l.k, r.id FROM generate_series(1, 3) AS l (k), LATERAL (SELECT id FROM kept_row WHERE k = l.k AND p > 20 OFFSET 0) AS r',
    'WITH x AS MATERIALIZED (SELECT id, t FROM kept_row WHERE k = 9) SELECT a.id, b.t FROM x AS a JOIN x AS b USING (id)', 'SELECT generate_series(1, 2), id FROM kept_row WHERE k = 11']);

-- A LIMIT may stop it, and a cursor comes back to where it was.
SET gpujoin.force = on;
SELECT count(*) FROM (SELECT id, t FROM kept_row WHERE k < 30 LIMIT 100) AS q;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, t FROM kept_row WHERE k = 5 ORDER BY id;
FETCH 3 FROM c;
MOVE 100 FROM c;
FETCH 2 FROM c;
FETCH BACKWARD 2 FROM c;
DECLARE target CURSOR FOR SELECT id, t FROM kept_row WHERE k = 5 AND id < 100;
FETCH 2 FROM target;
UPDATE kept_row SET e = 8 WHERE CURRENT OF target RETURNING id;
ROLLBACK;
DO $$
DECLARE
    c CURSOR FOR SELECT id FROM kept_row WHERE k = 6 AND id < 100;
    r record;
BEGIN
    FOR r IN c LOOP UPDATE kept_row SET e = 8 WHERE CURRENT OF c; END LOOP;
END $$;
SELECT id, e FROM kept_row WHERE k = 6 AND id < 100;
PREPARE by_key (integer, date) AS SELECT id, t, d FROM kept_row WHERE k = $1 AND d > $2 ORDER BY id LIMIT 2;
EXECUTE by_key (5, '2024-02-01');
EXECUTE by_key (6, '2024-03-01');
EXECUTE by_key (NULL, '2024-03-01');
SET plan_cache_mode = force_generic_plan;
EXECUTE by_key (6, '2024-03-01');
EXECUTE by_key (7, NULL);
RESET plan_cache_mode;

-- Rows that were changed, by this transaction too, come from the table, and so do those that others cannot see.
RESET gpujoin.force;
UPDATE kept_row SET t = 'changed' WHERE id BETWEEN 100 AND 110;
DELETE FROM kept_row WHERE id BETWEEN 20000 AND 20050;
SELECT * FROM compare_rows(ARRAY['SELECT id, t FROM kept_row WHERE k < 20', 'SELECT id, p FROM kept_row WHERE id BETWEEN 90 AND 120', 'SELECT id, e2 FROM kept_row WHERE id > 19990 AND id < 20100']);
BEGIN;
INSERT INTO kept_row (id, k, t) VALUES (40000, 5, 'mine');
UPDATE kept_row SET p = 0 WHERE id = 5;
SELECT * FROM compare_rows(ARRAY['SELECT id, t, p FROM kept_row WHERE k = 5']);
ROLLBACK;
SELECT * FROM compare_rows(ARRAY['SELECT id, t, p FROM kept_row WHERE k = 5']);
VACUUM kept_row;
SELECT * FROM compare_rows(ARRAY['SELECT id, t FROM kept_row WHERE k < 20', 'SELECT id, e2 FROM kept_row WHERE id > 19990 AND id < 20100']);

-- Errors are core's. What a policy hides no condition sees that could tell of it.
SET gpujoin.force = on;
SELECT id FROM kept_row WHERE 10 / (k - 5) > 3;
SELECT id / 0 FROM kept_row WHERE k = 5;
CREATE FUNCTION tells(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE 'sees %', $1; RETURN true; END $$;
CREATE ROLE kept_row_reader;
GRANT SELECT ON kept_row TO kept_row_reader;
ALTER TABLE kept_row ENABLE ROW LEVEL SECURITY;
CREATE POLICY first_rows ON kept_row TO kept_row_reader USING (id < 4);
SET ROLE kept_row_reader;
SELECT id, t FROM kept_row WHERE tells(t) ORDER BY id;
SELECT id, t FROM kept_row WHERE k > 1 ORDER BY id;
RESET ROLE;
RESET gpujoin.force;
DROP TABLE kept_row;
DROP ROLE kept_row_reader;
DROP FUNCTION tells(text), compare_rows(text[]), is_scanned(text);
