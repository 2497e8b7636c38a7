-- Tables whose rows lie in pages in every way: NULLs, alignments, lengths, columns added and dropped, toast.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA heap_layout;
SET search_path = heap_layout, public;
-- Every order of types of 1, 2, 4, 8 and 16 bytes, of variable length and cstring-like names: three columns
-- before the key, with and without NULLs, so that the key's offset is fixed, or varies with padding.
CREATE TABLE probe AS SELECT i AS k FROM generate_series(1, 40) AS i;
ANALYZE probe;
DO $$
DECLARE
    types text[] := ARRAY['bool', '"char"', 'int2', 'int4', 'int8', 'float4', 'float8', 'uuid', 'name', 'text', 'varchar(9)', 'char(3)',
                          'numeric', 'int4[]', 'interval', 'timetz', 'macaddr', 'point', 'tid', 'varbit'];
    samples text[] := ARRAY['i % 2 = 0', 'chr(64 + i)::"char"', 'i::int2', '-i', '-i::int8', '(i / 4.0)::float4', 'i / 4.0', 'md5(i::text)::uuid',
                            '(''n'' || i)::name', 'repeat(''t'', i * 5)', 'left(md5(i::text), i % 10)::varchar(9)', '''ab''::char(3)', 'i / 8.0::numeric',
                            'array_fill(i, ARRAY[i % 5])', 'make_interval(days => i)', '''10:00:00+01''::timetz', '''08:00:2b:01:02:03''::macaddr',
                            'point(i, i)', '(''('' || i || '',1)'')::tid', 'B''101''::varbit'];
    one int;
    nulls text;
    failed int;
BEGIN
    FOR one IN 1 .. array_length(types, 1) LOOP
        FOREACH nulls IN ARRAY ARRAY['true', 'i % 3 <> 0', 'i % 4 < 2'] LOOP
            FOR two IN 1 .. array_length(types, 1) BY 1 LOOP
                CONTINUE WHEN (one * 7 + two) % 5 <> 0;
                EXECUTE format('CREATE TEMP TABLE laid AS SELECT %s AS a, CASE WHEN %s THEN %s END AS b, i AS k, %s AS d, CASE WHEN %s THEN i END AS e, %s AS f
                                FROM generate_series(1, 60) AS i',
                               samples[one], nulls, samples[two], samples[two], nulls, samples[one]);
                SELECT c.missing + c.extra + (NOT c.taken)::int INTO failed
                FROM compare('SELECT probe.k, laid.* FROM probe JOIN laid ON probe.k = laid.k') AS c;
                IF failed <> 0 THEN RAISE WARNING 'build side: % before % (%)', types[one], types[two], nulls; END IF;
                SELECT c.missing + c.extra + (NOT c.taken)::int INTO failed
                FROM compare('SELECT probe.k, laid.* FROM laid LEFT JOIN probe ON probe.k = laid.e') AS c;
                IF failed <> 0 THEN RAISE WARNING 'probe side: % before % (%)', types[one], types[two], nulls; END IF;
                DROP TABLE laid;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

-- Rows of ten columns in many orders of types, the lengths of which change from row to row: empty, short, with headers of
-- four bytes on all alignments, out of line, and bytes that look like headers and padding. Some rows have NULLs.
DO $$
DECLARE
    samples text[] := ARRAY[
        'repeat(chr(1 + i % 3), i % 9)', 'i', 'CASE WHEN i % 7 = 0 THEN repeat(chr(i % 5 + 1), 118 + i % 16) ELSE ''s'' END', 'i::int2',
        'i * 256::int8', '''fixed''::char(15)', 'i % 2 = 0', 'decode(repeat(''00ff0301'', i % 40), ''hex'')', '(i % 300)::numeric',
        '''\x00''::bytea', '(i * 65536)::float8', 'CASE WHEN i % 11 = 0 THEN big ELSE '''' END', 'chr(1 + i % 120)::"char"', 'ARRAY[i, NULL]',
        '''x''::char(1)', 'i % 4', 'md5(i::text)::uuid', 'repeat(''é'', i % 70)'];
    kinds int := array_length(samples, 1);
    nulls text;
    types text;
    failed int;
BEGIN
    CREATE TEMP TABLE big AS SELECT string_agg(md5(n::text), '') AS big FROM generate_series(1, 120) AS n;
    FOR one IN 1 .. kinds BY 2 LOOP
        FOREACH nulls IN ARRAY ARRAY['false', 'i % 50 = 0', 'i % 3 = 0'] LOOP
            SELECT string_agg(format(CASE WHEN n % 3 = 0 THEN 'CASE WHEN %1$s THEN NULL ELSE %2$s END AS c%3$s' ELSE '%2$s AS c%3$s' END,
                                     nulls, samples[(one * n + n * n / 2) % kinds + 1], n), ', ') INTO types
            FROM generate_series(1, 10) AS n;
            EXECUTE format('CREATE TEMP TABLE laid AS SELECT %s, i AS k FROM generate_series(1, 300) AS i, big', types);
            SELECT sum(c.missing + c.extra + (NOT c.taken)::int) INTO failed
            FROM (VALUES ('laid.*'), ('c9, c3'), ('c10')) AS columns (wanted),
                 compare(format('SELECT probe.k, %s FROM laid LEFT JOIN probe ON probe.k = laid.k', wanted)) AS c;
            IF failed <> 0 THEN RAISE WARNING '%', types; END IF;
            DROP TABLE laid;
        END LOOP;
    END LOOP;
END $$;

-- Columns added with constant defaults, by value and by reference, and without; rows from before and after.
CREATE TABLE grown AS SELECT i AS k, 'first ' || i AS t FROM generate_series(1, 300) AS i;
ALTER TABLE grown ADD COLUMN n int DEFAULT 42, ADD COLUMN s text DEFAULT 'it was missing', ADD COLUMN u uuid DEFAULT '00000000-0000-0000-0000-000000000001',
    ADD COLUMN nothing int, ADD COLUMN b bool DEFAULT true;
INSERT INTO grown SELECT i, NULL, NULLIF(i % 5, 0), CASE WHEN i % 3 <> 0 THEN 'later ' || i END FROM generate_series(200, 400) AS i;
UPDATE grown SET nothing = k WHERE k % 7 = 0;
ANALYZE grown;
SELECT * FROM compare('SELECT * FROM grown x JOIN grown y ON x.k = y.k');
SELECT * FROM compare('SELECT x.k, y.s FROM grown x JOIN grown y ON x.n = y.k');
SELECT * FROM compare('SELECT x.k, y.* FROM grown x LEFT JOIN grown y ON x.k = y.n AND x.s = y.s WHERE x.n = 42 AND x.b');
SELECT * FROM compare('SELECT x.k, y.nothing FROM grown x FULL JOIN grown y ON x.nothing = y.k');

-- Dropped columns, before the wanted ones, between them, and where rows have more or fewer than there are now.
ALTER TABLE grown DROP COLUMN t, DROP COLUMN u;
INSERT INTO grown (k, s) SELECT i, 'last ' || i FROM generate_series(390, 410) AS i;
ALTER TABLE grown ADD COLUMN z int8 DEFAULT 7;
SELECT * FROM compare('SELECT x, y FROM grown x JOIN grown y ON x.k = y.k');
SELECT * FROM compare('SELECT x.z, y.s, y.b FROM grown x JOIN grown y ON x.k = y.k AND x.z = y.z');
SELECT * FROM compare('SELECT x.k FROM grown x JOIN grown y ON x.z = y.k');

-- System columns, whole rows and the table's oid.
SELECT * FROM compare('SELECT x.ctid, y.ctid, x.tableoid, y.xmin FROM grown x JOIN grown y ON x.k = y.k');
SELECT * FROM compare('SELECT x.k, y FROM grown x JOIN grown y ON x.ctid = y.ctid AND x.k = y.k');

-- Values that are compressed, out of line, and short, as keys and as output columns, with headers of both lengths.
CREATE TABLE toasted (k int, plain text, compressed text, apart text, either text);
ALTER TABLE toasted ALTER plain SET STORAGE PLAIN, ALTER compressed SET STORAGE MAIN, ALTER apart SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT i, repeat(chr(97 + i % 26), i % 150), repeat('compress' || i, 900),
    repeat(md5(i::text), CASE WHEN i % 3 = 0 THEN 200 ELSE 1 END), CASE WHEN i % 4 <> 0 THEN repeat(md5(i::text) || i, i) END
FROM generate_series(1, 120) AS i;
ANALYZE toasted;
SELECT * FROM compare('SELECT x, y FROM toasted x JOIN toasted y ON x.k = y.k');
SELECT * FROM compare('SELECT x.k, y.apart FROM toasted x JOIN toasted y ON x.apart = y.apart AND x.compressed = y.compressed');
SELECT * FROM compare('SELECT x.k, y.k AS z FROM toasted x FULL JOIN toasted y ON x.either = y.either AND x.plain = y.plain');
SELECT * FROM compare('SELECT x.k, y.compressed FROM toasted x JOIN toasted y ON x.k = y.k AND length(x.apart) = length(y.apart)');

-- No rows, one row a page, and rows that leave no room for more.
CREATE TABLE no_rows (k int, t text);
CREATE TABLE wide AS SELECT i AS k, (SELECT string_agg(md5(i::text || n), '') FROM generate_series(1, 200) AS n) AS t FROM generate_series(1, 50) AS i;
ALTER TABLE wide ALTER COLUMN t SET STORAGE PLAIN;
CREATE TABLE wider (LIKE wide INCLUDING STORAGE);
INSERT INTO wider TABLE wide;
ANALYZE no_rows, wide, wider;
SELECT * FROM compare('SELECT * FROM wide x JOIN wider y ON x.k = y.k');
SELECT * FROM compare('SELECT x.k FROM wide x LEFT JOIN no_rows y ON x.k = y.k');

-- Other kinds of children: samples, partitions and their parents, materialized views, temporary tables.
CREATE TABLE parts (k int, t text) PARTITION BY RANGE (k);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_high (extra int, t text, k int);
ALTER TABLE parts_high DROP COLUMN extra;
ALTER TABLE parts ATTACH PARTITION parts_high FOR VALUES FROM (100) TO (1000);
INSERT INTO parts SELECT i, 'part ' || i FROM generate_series(0, 299) AS i;
CREATE MATERIALIZED VIEW seen AS SELECT k, s FROM grown;
CREATE TEMP TABLE passing AS SELECT k, t FROM parts;
ANALYZE parts, seen, passing;
SELECT * FROM compare('SELECT parts.*, s FROM parts JOIN seen ON parts.k = seen.k');
SELECT * FROM compare('SELECT * FROM passing JOIN parts_high ON passing.k = parts_high.k');
SELECT * FROM compare('SELECT x.k FROM parts x TABLESAMPLE BERNOULLI (40) REPEATABLE (1) JOIN seen ON x.k = seen.k');
SET enable_partitionwise_join = on;
SELECT * FROM compare('SELECT x.*, y.t AS yt FROM parts x JOIN parts y ON x.k = y.k');
