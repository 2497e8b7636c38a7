-- Keys of every kind of type: equal values meet whatever their bytes, and only they.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TABLE l AS SELECT i AS n,
    (i - 20)::int2 AS i2, i - 20 AS i4, (i - 20)::int8 AS i8, i::oid AS o, i % 3 = 0 AS b, chr(60 + i)::"char" AS c,
    ((i - 20) / 2.0)::float4 AS f4, ((i - 20) / 2.0)::float8 AS f8, ((i - 20) / 4.0)::numeric AS num,
    date '2020-02-20' + i AS d, time '10:00' + i * interval '1 minute' AS ti,
    timestamp '2020-02-20' + i * interval '12 hours' AS ts, timestamptz '2020-02-20 00:00+00' + i * interval '12 hours' AS tz,
    'text ' || i AS t, ('text ' || i)::varchar(20) AS vc, ('text ' || i)::char(12) AS ch, ('text ' || i)::name AS na,
    decode(lpad(to_hex(i), 4, '0'), 'hex') AS by, md5(i::text)::uuid AS u, (enum_range(NULL::mood))[1 + i % 3] AS e,
    i::positive AS p
FROM generate_series(1, 40) AS i;
INSERT INTO l (n, f4, f8, num, d, ts, tz, t, ch, by)
VALUES (100, 'NaN', 'NaN', 'NaN', 'infinity', 'infinity', 'infinity', '', '', ''),
       (101, '-0', '-0', '-0.000', '-infinity', '-infinity', '-infinity', ' ', ' ', '\x00'),
       (102, '0', '0', '0', '5874897-12-31', '294276-12-31', NULL, 'x ', 'x ', NULL),
       (103, 'Infinity', 'Infinity', 'Infinity', '4714-11-24 BC', '4714-11-24 BC', NULL, 'x', 'x', NULL),
       (104, '-Infinity', '-Infinity', '-Infinity', NULL, NULL, NULL, 'X', 'X', NULL),
       (105, NULL, NULL, 1e300, NULL, NULL, NULL, repeat('long ', 3000), repeat('l', 12), decode(repeat('ab', 9000), 'hex')),
       (106, NULL, NULL, 10000.10000000, NULL, NULL, NULL, NULL, NULL, NULL),
       (107, NULL, NULL, -1e-300, NULL, NULL, NULL, NULL, NULL, NULL),
       (108, NULL, NULL, 123456789012345678901234567890.5, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE r AS SELECT * FROM l WHERE n % 3 <> 0;
INSERT INTO r (n, f4, f8, num, ch) VALUES (201, '0', '-0', '0.00', 'x'), (202, '-0', '0', 10000.1, 'x   '),
       (203, 'NaN', '-NaN', 123456789012345678901234567890.50, NULL), (204, 0.5, 0.5, 1.50, NULL);
ANALYZE l, r;

SELECT condition, c.*
FROM unnest(ARRAY[
    'l.i2 = r.i2', 'l.i2 = r.i4', 'l.i4 = r.i2', 'l.i4 = r.i4', 'l.i2 = r.i8', 'l.i8 = r.i2', 'l.i4 = r.i8', 'l.i8 = r.i4',
    'l.i8 = r.i8', 'l.o = r.o', 'l.i4::oid = r.o', 'l.b = r.b', 'l.c = r.c', 'l.f4 = r.f4', 'l.f4 = r.f8',
    'l.f8 = r.f4', 'l.f8 = r.f8', 'l.num = r.num', 'l.i4 = r.num', 'l.d = r.d', 'l.ti = r.ti', 'l.ts = r.ts', 'l.tz = r.tz',
    'l.d = r.ts', 'l.ts = r.d', 'l.d = r.tz', 'l.ts = r.tz', 'l.t = r.t', 'l.vc = r.t', 'l.t = r.vc', 'l.ch = r.ch',
    'l.ch = r.t', 'l.ch::text = r.t', 'l.t::bpchar = r.ch', 'l.na = r.na', 'l.na = r.t', 'l.t = r.na', 'l.by = r.by',
    'l.u = r.u', 'l.e = r.e', 'l.p = r.p', 'l.p = r.i8', 'l.t COLLATE "C" = r.t', 'lower(l.t) = lower(r.t)',
    'l.i4 = r.i4 AND l.t = r.t AND l.u = r.u AND l.num = r.num']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l JOIN r ON %s', condition)) AS c
ORDER BY i;

-- Other hashable types.
CREATE TYPE pair AS (number integer, name text);
CREATE TABLE l2 AS SELECT i AS n, make_interval(days => i) AS iv, ('10:00:00+0' || i % 5)::timetz AS tt,
    ('10.0.0.' || i)::inet AS ip, ('10.0.' || i || '.0/24')::cidr AS ci, ('08:00:2b:01:02:' || lpad(to_hex(i), 2, '0'))::macaddr AS m,
    ARRAY[i, NULL, i + 1] AS ar, ARRAY['x' || i] AS tar, int4range(i, i + 5) AS ra, int4multirange(int4range(i, i + 2)) AS mr,
    jsonb_build_object('a', i, 'b', NULL) AS j, pg_lsn '0/0' + i AS ls, ('(' || i || ',0)')::tid AS ct, i::money AS mo,
    ROW(i, 'r' || i)::pair AS ro
FROM generate_series(1, 40) AS i;
CREATE TABLE r2 AS SELECT * FROM l2 WHERE n % 3 <> 0;
INSERT INTO r2 (n, iv, ar, j) VALUES (201, '48 hours', '[0:2]={1,NULL,2}', '{"b": null, "a": 5.0}'), (202, '1 mon', '{}', '{}'), (203, '30 days', NULL, NULL);
ANALYZE l2, r2;
SELECT condition, c.*
FROM unnest(ARRAY['l.iv = r.iv', 'l.tt = r.tt', 'l.ip = r.ip', 'l.ci = r.ci', 'l.ip = r.ci', 'l.m = r.m', 'l.ar = r.ar', 'l.tar = r.tar',
    'l.ra = r.ra', 'l.mr = r.mr', 'l.j = r.j', 'l.ls = r.ls', 'l.ct = r.ct', 'l.mo = r.mo', 'l.ro = r.ro', 'ROW(l.n, l.j) = ROW(r.n, r.j)']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l2 l LEFT JOIN r2 r ON %s', condition)) AS c
ORDER BY i;

-- Toasted keys: stored out of line, compressed, and changed under the hood.
CREATE TABLE wide (n integer, t text, by bytea);
ALTER TABLE wide ALTER t SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, repeat(md5(i::text), 200), decode(repeat(md5(i::text), 100), 'hex') FROM generate_series(1, 50) AS i;
SELECT * FROM compare('SELECT a.n, b.n AS bn, a.t, b.by FROM wide a JOIN wide b ON a.t = b.t');
SELECT * FROM compare('SELECT a.n, b.n AS bn FROM wide a JOIN wide b ON a.by = b.by AND a.t = b.t');
SELECT * FROM compare('SELECT a.n, b.n AS bn FROM wide a JOIN (SELECT n, repeat(md5(n::text), 200) AS t FROM generate_series(1, 60) AS n) b ON a.t = b.t');
DROP TABLE l, r, l2, r2, wide;
DROP DOMAIN positive;
DROP TYPE mood, pair;
