-- Types that are joined on their hash, with the operator itself tested for the pairs of equal hash: one value can
-- have several forms (24 hours and a day, numbers in jsonb), and forms that look alike can differ.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all

-- interval, timetz, inet and cidr, macaddr, and the other built-in types without canonical bytes.
CREATE TABLE l AS SELECT i AS n, make_interval(hours => i * 24) AS iv, ('10:00:00+0' || i % 5)::timetz AS tt,
    ('10.0.' || i % 7 || '.' || i)::inet AS ip, ('10.0.' || i || '.0/24')::cidr AS ci,
    ('08:00:2b:01:02:' || lpad(to_hex(i), 2, '0'))::macaddr AS m,
    ('08:00:2b:01:02:03:04:' || lpad(to_hex(i), 2, '0'))::macaddr8 AS m8, pg_lsn '0/0' + i AS ls,
    ('(' || i || ',1)')::tid AS ct, i::text::xid8 AS x8, i::text::xid AS x, (i || ' ' || i + 1)::oidvector AS ov,
    ('postgres=r' || CASE WHEN i % 2 = 0 THEN 'w' ELSE '' END || '/postgres')::aclitem AS acl
FROM generate_series(1, 40) AS i;
CREATE TABLE r AS SELECT * FROM l WHERE n % 3 <> 0;
INSERT INTO l (n, iv, tt, ip, ci) VALUES (101, '1 mon', '23:59:60+00', '10.0.0.1/8', '10.0.0.0/8'), (102, '-1 day', '24:00+01', '::1', '::/0'),
    (103, '0', '00:00-01', '10.0.1.1/24', '10.0.1.0/24'), (104, '80000000 years', NULL, '::ffff:10.0.1.1', NULL);
INSERT INTO r (n, iv, tt, ip, ci) VALUES (201, '30 days', '24:00+00', '10.0.0.1', '10.0.0.0/16'), (202, '-24 hours', '23:00+00', '0:0::1', '::/0'),
    (203, '1 mon -30 days', '00:00-01', '10.0.1.1/24', '10.0.1.0/24'), (204, '720 hours', '01:00+00', '10.0.1.1/32', NULL), (205, '80000000 years', NULL, NULL, NULL);
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY['l.iv = r.iv', 'l.iv * 2 = r.iv + r.iv', 'l.tt = r.tt', 'l.ip = r.ip', 'l.ci = r.ci', 'l.ip = r.ci', 'l.ci = r.ip',
        'l.m = r.m', 'l.m8 = r.m8', 'l.m::macaddr8 = r.m8', 'l.ls = r.ls', 'l.ct = r.ct', 'l.x8 = r.x8', 'l.x = r.x', 'l.ov = r.ov',
        'l.acl = r.acl AND l.n = r.n', 'l.iv = r.iv AND l.ip = r.ip AND l.m = r.m AND l.tt = r.tt']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l FULL JOIN r ON %s', condition)) AS c
ORDER BY i;
SELECT kind, c.*
FROM unnest(ARRAY['EXISTS', 'NOT EXISTS']) AS kind,
     compare(format('SELECT l.* FROM l WHERE %s (SELECT FROM r WHERE l.iv = r.iv AND (l.n + r.n) %% 2 = 0)', kind)) AS c;
DROP TABLE l, r;

-- Arrays: of fixed and of varying types, with NULLs, other bounds, none and several dimensions.
CREATE TABLE l AS SELECT i AS n, ARRAY[i % 9, NULL, i % 2] AS ia, ARRAY['x' || i % 11, NULL] AS ta, ARRAY[i / 2.0, 1.50] AS na,
    ARRAY[[i % 4, 1], [2, 3]] AS deep, ARRAY[interval '1 day' * (i % 5)] AS va
FROM generate_series(1, 60) AS i;
CREATE TABLE r AS SELECT n + 20 AS n, ia, ta, na || '{}' AS na, deep, ARRAY[interval '24 hours' * (n % 7)] AS va FROM l WHERE n % 4 <> 0;
INSERT INTO l (n, ia, ta, na, deep) VALUES (101, '{}', '{}', '{NaN}', '{}'), (102, '[0:1]={1,2}', '{""}', '{1.0,1.5}', '{1,1,2,3}'), (103, NULL, '{NULL}', NULL, NULL);
INSERT INTO r (n, ia, ta, na, deep) VALUES (201, '{}', '{}', '{NaN}', '{}'), (202, '{1,2}', '{""}', '{1,1.50}', '{{1,1},{2,3}}'), (203, '[0:1]={1,2}', '{"NULL"}', NULL, NULL);
ANALYZE l, r;
SELECT kind, condition, c.*
FROM unnest(ARRAY['INNER', 'FULL']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.ia = r.ia', 'l.ta = r.ta', 'l.na = r.na', 'l.deep = r.deep', 'l.va = r.va', 'l.ia = r.ia AND l.ta = r.ta',
        'ARRAY[l.n, l.n + 1] = ARRAY[r.n, r.n + 1]', 'l.ia || l.n = r.ia || (r.n - 20)']) WITH ORDINALITY AS conditions (condition, b),
     compare(format('SELECT l.n, r.n AS rn FROM l %s JOIN r ON %s', kind, condition)) AS c
ORDER BY a, b;
DROP TABLE l, r;

-- Ranges and multiranges: equality of values, not of spelling.
CREATE TABLE l AS SELECT i AS n, int4range(i, i + 5) AS ra, numrange(i, i + 1.50, '[]') AS nr, daterange('2024-01-01', '2024-01-01'::date + i) AS dr,
    int4multirange(int4range(i, i + 2), int4range(i + 10, i + 12)) AS mr, nummultirange(numrange(i, i + 0.5)) AS nm
FROM generate_series(1, 40) AS i;
CREATE TABLE r AS SELECT n, int4range(n, n + 4, '[]') AS ra, numrange(n, n + 1.5, '[]') AS nr, daterange('2024-01-01', '2023-12-31'::date + n, '[]') AS dr,
    int4multirange(int4range(n + 10, n + 12), int4range(n, n + 1), int4range(n + 1, n + 2)) AS mr, nummultirange(numrange(n, n + 0.50)) AS nm
FROM l WHERE n % 3 <> 0;
INSERT INTO l VALUES (101, 'empty', 'empty', 'empty', '{}', '{}'), (102, '(,)', '[NaN,NaN]', '(,infinity)', '{(,)}', NULL), (103, NULL, '(,1)', '(,)', NULL, NULL);
INSERT INTO r VALUES (201, '(3,4)', '(1,1)', 'empty', '{empty}', '{}'), (202, '(,)', '[NaN,NaN]', '(,infinity)', '{(,5),[5,)}', NULL), (203, NULL, '(,1]', '(,)', NULL, NULL);
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY['l.ra = r.ra', 'l.nr = r.nr', 'l.dr = r.dr', 'l.mr = r.mr', 'l.nm = r.nm', 'l.ra * int4range(3, 9) = r.ra * int4range(3, 9)',
        'range_merge(l.mr) = range_merge(r.mr)']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l FULL JOIN r ON %s', condition)) AS c
ORDER BY i;
DROP TABLE l, r;

-- jsonb: order of keys, duplicates and scales of numbers do not matter.
CREATE TABLE l AS SELECT i AS n, jsonb_build_object('a', i % 20, 'b', NULL, 'c', ARRAY[i % 3]) AS j FROM generate_series(1, 60) AS i;
CREATE TABLE r AS SELECT i AS n, ('{"c": [' || i % 3 || '.0], "b": 1, "b": null, "a": ' || i % 20 || '.00}')::jsonb AS j FROM generate_series(10, 50) AS i;
INSERT INTO l VALUES (101, '1'), (102, '"1"'), (103, 'null'), (104, '{}'), (105, '[]'), (106, NULL), (107, '[1, 2]'), (108, 'true');
INSERT INTO r VALUES (201, '1.000'), (202, '1e0'), (203, 'null'), (204, '{}'), (205, '[]'), (206, NULL), (207, '[2, 1]'), (208, 'true');
ANALYZE l, r;
SELECT kind, condition, c.*
FROM unnest(ARRAY['INNER', 'FULL']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.j = r.j', $$l.j -> 'a' = r.j -> 'a'$$, $$l.j -> 'c' = r.j -> 'c' AND l.j -> 'a' = r.j -> 'a'$$, $$l.j || '[]' = r.j || '[]'$$]) WITH ORDINALITY AS conditions (condition, b),
     compare(format('SELECT l.n, r.n AS rn FROM l %s JOIN r ON %s', kind, condition)) AS c
ORDER BY a, b;
DROP TABLE l, r;

-- Records: composite types, whole rows, and anonymous rows, which core takes apart.
CREATE TYPE pair AS (number numeric, name text);
CREATE TYPE nested AS (p pair, a integer[]);
CREATE TABLE l AS SELECT i AS n, ROW(i % 13, 'r' || i % 3)::pair AS p, ROW(ROW(i % 13, 'r')::pair, ARRAY[i % 5])::nested AS ne FROM generate_series(1, 50) AS i;
CREATE TABLE r AS SELECT i AS n, ROW((i % 13)::numeric(9, 3), 'r' || i % 3)::pair AS p, ROW(ROW((i % 13)::numeric(9, 2), 'r')::pair, ARRAY[i % 5])::nested AS ne FROM generate_series(20, 70) AS i;
INSERT INTO l VALUES (101, NULL, NULL), (102, ROW(NULL, NULL), ROW(NULL, NULL)), (103, ROW(1, NULL), ROW(ROW(1, NULL), NULL));
INSERT INTO r VALUES (101, NULL, NULL), (202, ROW(NULL, NULL), ROW(NULL, NULL)), (203, ROW(1.0, NULL), ROW(ROW(1.0, NULL), NULL));
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY['l.p = r.p', 'l.ne = r.ne', '(l.ne).p = (r.ne).p', 'l = r', 'ROW(l.p, l.n) = ROW(r.p, r.n)', 'ROW(l.n, l.p)::text = ROW(r.n, r.p)::text']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l FULL JOIN r ON %s', condition)) AS c
ORDER BY i;
SELECT * FROM compare('SELECT a.n, b.n AS bn FROM l a LEFT JOIN l b ON a = b');
SELECT * FROM compare('SELECT l.n FROM l WHERE p IN (SELECT p FROM r)');
DROP TABLE l, r;
DROP TYPE nested, pair;
