-- What later major versions of PostgreSQL have: each query is run where it can be, and named here if gpujoin did not
-- take it, or gives other rows than core.
\set ECHO none
\i sql/include/nodes.sql
\i sql/include/writes.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS id, CASE WHEN i % 11 <> 0 THEN i % 70 END AS k, i % 13 AS v, CASE WHEN i % 7 <> 0 THEN 't' || i % 9 END AS t,
    '2024-01-01'::timestamp + i * interval '5 hours' AS ts, CASE i % 40 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE '2024-01-01'::timestamp + i * interval '3 hours' END AS far
FROM generate_series(1, 700) AS i;
CREATE TABLE b AS SELECT i AS id, CASE WHEN i % 9 <> 0 THEN i % 90 END AS k, i % 17 AS w, 't' || i % 8 AS t,
    '2024-01-03'::timestamp + i * interval '9 hours' AS ts, CASE i % 50 WHEN 0 THEN 'infinity' ELSE '2024-01-03'::timestamp + i * interval '9 hours' END AS far
FROM generate_series(1, 300) AS i;
CREATE TABLE c (id integer PRIMARY KEY, k integer, x integer);
INSERT INTO c SELECT i, i % 30, i % 5 FROM generate_series(1, 100) AS i;
CREATE FUNCTION all_rows() RETURNS SETOF text LANGUAGE sql AS 'SELECT c::text FROM c';
ANALYZE a, b, c;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION trouble(major integer, queries text[]) RETURNS TABLE (query text, nodes bigint, "rows" integer, missing bigint, extra bigint, error text, other_error text)
LANGUAGE sql AS $$
SELECT q, c.joins + c.aggregates, c.rows, c.missing, c.extra, c.error, c.other_error
FROM unnest(CASE WHEN since(major) THEN queries END) AS q, compare_nodes(q) AS c
WHERE c.joins + c.aggregates = 0 OR c.rows = 0 OR c.missing + c.extra > 0 OR c.error IS NOT NULL OR c.other_error IS NOT NULL
$$;
CREATE FUNCTION trouble_of_writes(major integer, statements text[]) RETURNS TABLE (statement text, taken boolean, changed boolean, same boolean) LANGUAGE sql AS $$
SELECT s, c.* FROM unnest(CASE WHEN since(major) THEN statements END) AS s, compare_write(s) AS c WHERE NOT (c.taken AND c.changed AND c.same)
$$;

-- Columns and values that outer joins may null, below and above: from 16 on they say so.
SELECT * FROM trouble(15, ARRAY[
    'SELECT a.id, s.y FROM a LEFT JOIN (SELECT b.k, coalesce(c.x, b.w, -1) AS y FROM b LEFT JOIN c ON b.k = c.k) s ON a.k = s.k',
    'SELECT a.id, s.y, s.z FROM a LEFT JOIN (SELECT b.k, coalesce(c.x, b.w, -1) AS y, c.x AS z FROM b LEFT JOIN c ON b.k = c.k AND c.x > b.w % 3) s ON a.k = s.k AND s.y < a.v',
    'SELECT a.id, s.y + 1, coalesce(s.y, 5) FROM a LEFT JOIN (SELECT b.k, coalesce(c.x, b.w) AS y FROM b LEFT JOIN c ON b.k = c.k) s ON a.k = s.k WHERE s.y IS NULL OR s.y > a.v % 4',
    'SELECT s.y, count(*), sum(a.v), max(s.y) FROM a LEFT JOIN (SELECT b.k, coalesce(c.x, b.w, -1) AS y FROM b LEFT JOIN c ON b.k = c.k) s ON a.k = s.k GROUP BY s.y',
    'SELECT sum(coalesce(s.y, 3)), sum(s.z) FROM a LEFT JOIN (SELECT b.k, coalesce(c.x, 1) AS y, b.w + 1 AS z FROM b LEFT JOIN c USING (k)) s USING (k)',
    'SELECT a.id, r.y, r.s FROM a LEFT JOIN (SELECT s.k, s.y, coalesce(s.y, c.x, 0) AS s FROM (SELECT b.k, coalesce(c.x, b.w, -1) AS y FROM b LEFT JOIN c ON b.k = c.k) s FULL JOIN c ON s.y = c.id) r ON a.k = r.k',
    'SELECT a.id, b.id, c.id FROM a LEFT JOIN (b LEFT JOIN c ON b.k = c.k) ON a.k = b.k WHERE coalesce(c.x, 3) = 3',
    'SELECT a.id, b.id, c.id FROM (a LEFT JOIN b ON a.k = b.k) LEFT JOIN c ON b.w = c.k AND a.v > c.x',
    'SELECT a.id, c.x FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.w = c.id AND coalesce(b.t, a.t) <> ''t3''',
    'SELECT coalesce(s.t, a.t) AS u, count(*) FROM a FULL JOIN (SELECT b.k, coalesce(b.t, ''none'') AS t FROM b) s ON a.k = s.k GROUP BY 1',
    'SELECT a.id FROM a LEFT JOIN (SELECT b.k, coalesce(c.x, b.w) AS y FROM b LEFT JOIN c USING (k)) s USING (k) WHERE NOT EXISTS (SELECT FROM c WHERE c.id = s.y)',
    'SELECT a, s, s.y FROM a LEFT JOIN (SELECT b.k, b AS row, coalesce(c.x, 7) AS y FROM b LEFT JOIN c USING (k)) s ON a.k = s.k AND a.id < 200',
    'SELECT a.id, s.n, s.y FROM a LEFT JOIN (SELECT b.k, (SELECT max(c.x) FROM c WHERE c.k = b.w) AS n, coalesce(d.x, 2) AS y FROM b LEFT JOIN c d ON d.k = b.k) s ON a.k = s.k',
    'SELECT g.k, g.n, g.y FROM a LEFT JOIN (SELECT b.k, count(*) AS n, max(coalesce(c.x, b.w)) AS y FROM b LEFT JOIN c USING (k) GROUP BY b.k) g USING (k)']);
-- Full joins by several processes.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM trouble(16, ARRAY['SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k', 'SELECT count(*), sum(b.w) FROM a RIGHT JOIN b ON a.k = b.k AND a.v > 3', 'SELECT b.id FROM b WHERE NOT EXISTS (SELECT FROM a WHERE a.k = b.k)', 'SELECT c.id FROM c WHERE EXISTS (SELECT FROM a WHERE a.k = c.k)',
    'SELECT s.y, count(*) FROM a LEFT JOIN (SELECT b.k, coalesce(c.x, b.w, -1) AS y FROM b LEFT JOIN c ON b.k = c.k) s ON a.k = s.k GROUP BY s.y']);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- Infinite intervals, JSON_TABLE, conditions of no table, IN with outer columns inside.
SELECT * FROM trouble(17, ARRAY[
    'SELECT a.id, b.id FROM a JOIN b ON a.k = b.k WHERE a.far - b.ts < interval ''infinity'' AND a.far - b.ts > interval ''-infinity''', 'SELECT a.id, b.id FROM a JOIN b ON a.far - b.ts < interval ''3 hours'' AND a.far - b.ts >= interval ''-2 hours''',
    'SELECT a.id, b.id FROM a JOIN b ON a.far - b.ts <= interval ''infinity'' AND a.k = b.k', 'SELECT a.id, b.id FROM a JOIN b ON a.far < b.ts + interval ''infinity'' AND a.k = b.k', 'SELECT a.id, b.id FROM a JOIN b ON a.ts BETWEEN b.far - interval ''2 hours'' AND b.far + interval ''2 hours''',
    'SELECT x.id, y.id FROM (SELECT id, CASE id % 30 WHEN 0 THEN interval ''infinity'' WHEN 1 THEN ''-infinity'' ELSE id % 40 * interval ''1 day'' END AS i FROM a) x JOIN (SELECT id, CASE id % 30 WHEN 0 THEN interval ''infinity'' ELSE id % 40 * interval ''24 hours'' END AS i FROM b) y USING (i)',
    'SELECT count(*) FROM (SELECT id, CASE id % 30 WHEN 0 THEN interval ''infinity'' WHEN 1 THEN ''-infinity'' ELSE id % 40 * interval ''1 day'' END AS i FROM a) x JOIN (SELECT id, CASE id % 30 WHEN 0 THEN interval ''infinity'' ELSE id % 20 * interval ''24 hours'' END AS i FROM b) y ON x.i > y.i',
    $$SELECT a.id, j.x FROM a JOIN JSON_TABLE('[{"k": 3, "x": "three"}, {"k": 5}, {"k": null}]', '$[*]' COLUMNS (k integer PATH '$.k', x text PATH '$.x')) j ON a.k = j.k$$,
    'SELECT a.id, b.id FROM a JOIN b ON a.k = b.k WHERE (SELECT count(*) FROM c) > 5', 'SELECT a.id, b.id FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT FROM c WHERE x = 2)', 'SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k AND (SELECT count(*) FROM c) > 5000', 'SELECT a.id FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.w = a.v)']);
SELECT * FROM trouble_of_writes(17, ARRAY[
    'MERGE INTO c USING b ON c.id = b.id WHEN MATCHED AND b.w > 8 THEN UPDATE SET x = b.w WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.k, b.w) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET x = -1 RETURNING merge_action(), c.*, b.id',
    'MERGE INTO c USING (SELECT * FROM b WHERE id BETWEEN 20 AND 60) b ON c.id = b.id WHEN NOT MATCHED BY SOURCE THEN DELETE', 'MERGE INTO c USING b ON c.id = b.id AND b.w > 3 WHEN NOT MATCHED BY SOURCE AND c.x > 2 THEN UPDATE SET k = 0 WHEN NOT MATCHED BY TARGET AND b.w = 4 THEN INSERT VALUES (b.id + 1000, 0, 0)']);
-- Into a view whose rows a trigger writes, of which all are looked at.
CREATE VIEW c_written AS SELECT id, k, x, 'constant' AS said FROM c WHERE id > 5;
CREATE FUNCTION write_c() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN DELETE FROM c WHERE id = OLD.id; END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    INSERT INTO c VALUES (NEW.id, NEW.k, NEW.x);
    RETURN NEW;
END $$;
CREATE TRIGGER write_c INSTEAD OF INSERT OR UPDATE OR DELETE ON c_written FOR EACH ROW EXECUTE FUNCTION write_c();
SELECT * FROM trouble_of_writes(17, ARRAY[
    'MERGE INTO c_written v USING b ON v.id = b.id WHEN MATCHED AND b.w > 5 THEN UPDATE SET x = b.w WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (b.id + 2000, b.k, b.w)',
    'MERGE INTO c_written v USING b ON v.id = b.id WHEN MATCHED THEN UPDATE SET x = b.w WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED AND b.w = 4 THEN INSERT VALUES (b.id + 3000, b.k, b.w) RETURNING merge_action(), b.*, v.*',
    'MERGE INTO c_written v USING (SELECT * FROM b WHERE id BETWEEN 20 AND 60) b ON v.id = b.id WHEN NOT MATCHED BY SOURCE AND v.said = ''constant'' THEN UPDATE SET x = -7']);
DROP VIEW c_written;
DROP FUNCTION write_c;

-- Old and new rows that are returned, columns that are computed when they are read, NOT NULL that old rows do not keep, joins of a table with itself.
SELECT * FROM trouble_of_writes(18, ARRAY['UPDATE c SET x = b.w FROM b WHERE c.id = b.id AND b.w > 4 RETURNING old.*, new.x, b.w, c.x', 'DELETE FROM c USING b WHERE c.id = b.id AND b.k < 40 RETURNING old.x, new.x, old', 'MERGE INTO c USING b ON c.id = b.id WHEN MATCHED THEN UPDATE SET x = b.w WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.k, b.w) RETURNING old.x, new, b.id']);
DO $$ BEGIN
    IF since(18) THEN
        CREATE TABLE later (id integer, n integer, k integer);
        INSERT INTO later SELECT i, CASE WHEN i % 5 <> 0 THEN i END, i % 50 FROM generate_series(1, 200) AS i;
        EXECUTE 'ALTER TABLE later ADD CONSTRAINT some_null NOT NULL n NOT VALID, ADD twice integer GENERATED ALWAYS AS (coalesce(k, 0) * 2) VIRTUAL, ADD tail text DEFAULT ''tail''';
        ANALYZE later;
    END IF;
END $$;
SELECT * FROM trouble(18, ARRAY[
    'SELECT a.id, later FROM a JOIN later ON a.k = later.k', 'SELECT a.id, later.n, later.twice, later.tail FROM a JOIN later ON a.k = later.twice', 'SELECT a.id, later.n, later.twice FROM a LEFT JOIN later ON a.k = later.n', 'SELECT a.id, later.twice, later.tail FROM a LEFT JOIN (later JOIN c USING (k)) ON a.k = later.twice AND c.x < 4',
    'SELECT later.twice, count(*), sum(later.n), min(a.v) FROM a LEFT JOIN later ON a.k = later.k GROUP BY later.twice', 'SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM later WHERE later.n = a.k)', 'SELECT a.id, later.n FROM a FULL JOIN later ON a.k = later.n AND later.twice > 20',
    'SELECT a.id, p.x FROM a JOIN c p ON a.k = p.id JOIN c q ON p.id = q.id AND q.x > 1', 'SELECT a.v, b.w, count(*), grouping(a.v) FROM a JOIN b USING (k) GROUP BY ROLLUP (a.v, b.w)', 'SELECT a.v + 1, count(*) FROM a LEFT JOIN b USING (k) GROUP BY GROUPING SETS ((a.v + 1), ()) HAVING count(b.id) > 3']);
-- EXPLAIN has an option for what gpujoin_why() says of joins and aggregates that are left to core, in all formats.
CREATE FUNCTION why_shown(query text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    lines text := '';
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
        lines := lines || line || E'\n';
    END LOOP;
    RETURN lines;
END $$;
CREATE FUNCTION why_told(query text, options text) RETURNS TABLE (node text, kind text, tables text[], reason text, advice text) LANGUAGE sql AS $$
SELECT j ->> 'Node', j ->> 'Kind', ARRAY(SELECT jsonb_array_elements_text(j -> 'Tables')), j ->> 'Reason', j ->> 'Advice'
FROM jsonb_array_elements(why_shown(query, options || ', FORMAT json')::jsonb -> 0 -> 'Left to Core') AS j
$$;
CREATE FUNCTION why_reasons(query text) RETURNS TABLE (node text, kind text, tables text[], reason text, advice text) LANGUAGE sql AS $$
SELECT node, kind, tables, reason, advice FROM gpujoin_why(query) WHERE NOT taken
$$;
CREATE FUNCTION why_apart(queries text[]) RETURNS TABLE (query text, options text) LANGUAGE sql AS $$
SELECT q, o FROM unnest(CASE WHEN since(18) THEN queries END) AS q, unnest(ARRAY['GPUJOIN_WHY', 'ANALYZE, GPUJOIN_WHY ON']) AS o
WHERE NOT EXISTS (SELECT * FROM why_reasons(q)) OR EXISTS (SELECT * FROM why_reasons(q) EXCEPT ALL SELECT * FROM why_told(q, o)) OR EXISTS (SELECT * FROM why_told(q, o) EXCEPT ALL SELECT * FROM why_reasons(q))
    OR (SELECT bool_or(strpos(why_shown(q, o), format(E'Left to Core: %s of %s: %s\n', node, array_to_string(tables, ', '), reason)) = 0) FROM why_reasons(q))
    OR strpos(why_shown(q, o || ', FORMAT xml'), '<Left-to-Core>') = 0 OR strpos(why_shown(q, o || ', FORMAT yaml'), 'Left to Core:') = 0
$$;
SELECT * FROM why_apart(ARRAY['SELECT a.id FROM a JOIN b ON a.k <> b.k', 'SELECT string_agg(a.t, '','') FROM a JOIN b USING (k)', 'SELECT FROM a JOIN b ON a.t < b.t COLLATE "POSIX" || b.t AND random() < 2 JOIN c ON c.id <> a.id', 'WITH s AS MATERIALIZED (SELECT a.id FROM a JOIN b ON a.k <> b.k) SELECT count(*) FROM s JOIN c USING (id)']);
PREPARE made_before AS SELECT a.id FROM a JOIN b ON a.k <> b.k;
SELECT o FROM unnest(CASE WHEN since(18) THEN ARRAY['GPUJOIN_WHY OFF', 'COSTS OFF'] END) AS o WHERE strpos(why_shown('SELECT a.id FROM a JOIN b ON a.k <> b.k', o), 'Left to Core') > 0
UNION ALL SELECT o FROM unnest(CASE WHEN since(18) THEN ARRAY['GPUJOIN_WHY'] END) AS o WHERE strpos(why_shown('EXECUTE made_before', o), 'Left to Core: not known of the plan of a prepared statement') = 0
UNION ALL SELECT o FROM unnest(CASE WHEN since(18) THEN ARRAY['GPUJOIN_WHY'] END) AS o WHERE (SELECT count(*) FROM why_told('EXECUTE made_before', o) WHERE node IS NULL AND reason LIKE 'not known%') <> 1
UNION ALL SELECT o FROM unnest(CASE WHEN since(18) THEN ARRAY['GPUJOIN_WHY'] END) AS o WHERE strpos(why_shown('SELECT count(*)', o), 'Left to Core: Aggregate: ') = 0;
DEALLOCATE made_before;
DROP FUNCTION why_shown, why_told, why_reasons, why_apart;
SET client_min_messages = warning;
DROP TABLE IF EXISTS later;
RESET client_min_messages;
RESET max_parallel_workers_per_gather;
DROP FUNCTION trouble, trouble_of_writes, all_rows;
DROP TABLE a, b, c;
