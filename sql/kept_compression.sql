-- Kept columns whose values lie close together, come again or are all the same are kept in less memory: the same rows as core's for all types,
-- as values, keys, groups and conditions, with NULLs and without. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
-- Columns of one, two and four bytes, of one value, of NULLs alone, and of such as are not compressed.
CREATE TABLE narrow (
    id bigint, small smallint, one integer, one_or_null bigint, nothing integer, n1 integer, n2 bigint, n4 bigint, wide bigint, d date, ts timestamp,
    price numeric(12, 2), cents numeric(12, 2), flag boolean, f double precision, u uuid, c char(1), c10 char(10), few text, often varchar(20), many text,
    no_text text);
INSERT INTO narrow SELECT 5000000000 + i, i % 7 - 30000, 42, CASE WHEN i % 3 > 0 THEN -7 END, NULL, i % 200 - 100, -9000000000000 - i % 60000,
    i::bigint * 40000 - 2000000000, i::bigint * 100000000000000 - 4000000000000000000, '2024-01-01'::date + i % 300, '2024-01-01'::timestamp + i * interval '1 second',
    i % 100 / 4.0, 1000000 + i / 100.0, CASE WHEN i % 11 > 0 THEN i % 2 = 0 END, i % 5 / 4.0, md5((i % 9)::text)::uuid, chr(65 + i % 3),
    CASE WHEN i % 13 > 0 THEN 'ten' || i % 4 END, CASE i % 4 WHEN 0 THEN '' WHEN 1 THEN NULL ELSE 'value ' || i % 4 END, 'some ' || i % 300, 'many ' || i, NULL
    FROM generate_series(0, 59999) AS i;
CREATE TABLE narrow_keys AS SELECT 5000000000 + i * 100 AS id, i % 200 - 100 AS n1, '2024-01-01'::date + i % 300 AS d, 'some ' || i % 310 AS often, i FROM generate_series(0, 599) AS i;
VACUUM (ANALYZE) narrow, narrow_keys;
SELECT gpujoin_keep('narrow') > 0 AS kept;
-- A row had 150 bytes, and has some 80, of which f, u, wide and many have 50.
SELECT bytes / rows BETWEEN 60 AND 100 AS is_compressed FROM gpujoin_kept WHERE relation = 'narrow'::regclass;

CREATE FUNCTION compare_narrow(queries text[]) RETURNS TABLE (n bigint, chunks integer, "rows" integer, missing bigint, extra bigint)
LANGUAGE sql AS $$
SELECT q.n, r.chunks, r.rows, r.missing, r.extra FROM unnest(queries) WITH ORDINALITY AS q (query, n), compare_kept(q.query, 3) AS r
$$;
CREATE TABLE narrow_query (n serial, query text);
INSERT INTO narrow_query (query) VALUES
    ('SELECT count(*), sum(id), sum(small), sum(one), sum(one_or_null), sum(nothing), sum(n1), sum(n2), sum(n4), sum(wide), sum(price), sum(cents) FROM narrow'),
    ('SELECT min(id), max(small), min(one), max(one_or_null), max(nothing), min(n1), max(n2), min(n4), max(wide), min(d), max(ts), max(price), min(cents) FROM narrow WHERE n1 > 0'),
    ('SELECT * FROM narrow WHERE n1 = 5 AND d < ''2024-03-01'' OFFSET 0'),
    ('SELECT id, one_or_null, nothing, few, often, no_text FROM narrow WHERE id < 5000000300 OFFSET 0'),
    ('SELECT few, often, count(*), sum(n4) FROM narrow GROUP BY few, often'),
    ('SELECT c, c10, flag, count(*), count(one_or_null), sum(cents) FROM narrow WHERE small < -29995 GROUP BY c, c10, flag'),
    ('SELECT one, one_or_null, nothing, no_text, count(*) FROM narrow GROUP BY 1, 2, 3, 4'),
    ('SELECT d, u, count(*) FROM narrow GROUP BY d, u'),
    ('SELECT count(*), sum(id) FROM narrow WHERE few = '''''),
    ('SELECT count(*), sum(id) FROM narrow WHERE few <> ''value 2'' AND c10 = ''ten1'''),
    ('SELECT count(*), sum(id) FROM narrow WHERE few IS NULL OR c = ''B'' AND often IN (''some 1'', ''some 299'', ''some 300'')'),
    ('SELECT count(*), sum(id) FROM narrow WHERE one = 42 AND one_or_null = -7 AND nothing IS NULL'),
    ('SELECT count(*), sum(id) FROM narrow WHERE one_or_null IS NULL OR one_or_null <> -7'),
    ('SELECT count(*), sum(id) FROM narrow WHERE n2 BETWEEN -9000000050000 AND -9000000000100 AND n4 < 0'),
    ('SELECT count(*), sum(id) FROM narrow WHERE ts >= ''2024-01-01 05:00'' AND NOT flag'),
    ('SELECT count(*), sum(id) FROM narrow WHERE price = 24.75 OR cents > 1000599.9'),
    ('SELECT count(*), sum(id) FROM narrow WHERE many = ''many 777'' OR no_text = ''none'''),
    ('SELECT count(*), sum(k.i), sum(n.n2), min(n.d) FROM narrow AS n JOIN narrow_keys AS k USING (id)'),
    ('SELECT k.often, count(*), count(n.id) FROM narrow_keys AS k LEFT JOIN narrow AS n ON n.often = k.often AND n.n1 = k.n1 GROUP BY k.often'),
    ('SELECT n.c, n.few, sum(k.i) FROM narrow AS n JOIN narrow_keys AS k ON n.d = k.d AND n.n1 < k.n1 GROUP BY n.c, n.few'),
    ('SELECT count(*) FROM narrow_keys AS k WHERE NOT EXISTS (SELECT FROM narrow AS n WHERE n.often = k.often)');
SELECT * FROM compare_narrow((SELECT array_agg(query ORDER BY n) FROM narrow_query));

-- Columns that come later join a chunk that has lost blocks, whose columns are cut to what is left.
SELECT gpujoin_forget('narrow');
SELECT gpujoin_keep('narrow', '{id, n1, one_or_null, few, often}') > 0 AS kept;
UPDATE narrow SET n1 = 200, often = 'changed' WHERE id % 20000 = 77;
SELECT gpujoin_keep('narrow', '{n4, d, c10, nothing}') > 0 AS kept;
SELECT * FROM compare_narrow((SELECT array_agg(query ORDER BY n) FROM narrow_query));
SELECT gpujoin_forget('narrow');
DROP TABLE narrow, narrow_keys, narrow_query;
