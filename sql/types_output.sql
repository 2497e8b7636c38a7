-- Columns of every kind of type carried through a join on either side, also rows wider than a block.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE everything AS SELECT CASE WHEN i % 9 <> 0 THEN i % 30 END AS k,
    i::int2 AS i2, i AS i4, i::int8 AS i8, i % 2 = 0 AS b, chr(64 + i)::"char" AS c, (i / 3.0)::float4 AS f4, i / 3.0::float8 AS f8,
    (i / 7.0)::numeric AS num, date '2020-01-01' + i AS d, time '10:00' + i * interval '1 s' AS ti, ('10:00:00+0' || i % 5)::timetz AS tt,
    timestamp '2020-01-01' + i * interval '1 h' AS ts, make_interval(days => i, secs => i) AS iv, repeat('t', i) AS t, ('c' || i)::char(9) AS ch,
    ('n' || i)::name AS na, decode(repeat('0a', i), 'hex') AS by, md5(i::text)::uuid AS u, ('10.0.0.' || i)::inet AS ip,
    ('08:00:2b:01:02:' || lpad(to_hex(i), 2, '0'))::macaddr AS m, ('08:00:2b:01:02:03:04:' || lpad(to_hex(i), 2, '0'))::macaddr8 AS m8,
    point(i, -i) AS pt, box(point(i, i), point(0, 0)) AS bx, circle(point(i, i), 2) AS ci, ARRAY[i, NULL, 3] AS ar, ARRAY['x', NULL, repeat('y', i)] AS tar,
    int4range(i, i + 1) AS ra, jsonb_build_object('a', i) AS j, ('{"a": ' || i || '}')::json AS js, B'101'::varbit AS bits, i::money AS mo,
    ROW(i, 'x')::text AS ro, ('(' || i || ',1)')::tid AS ct
FROM generate_series(1, 62) AS i;
INSERT INTO everything (k) VALUES (3), (4), (NULL);
ANALYZE everything;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT x, y FROM everything x %s JOIN everything y ON x.k = y.k', kind)) AS c;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT a.*, b.i4 AS b1, b.na AS b2, b.iv AS b3, b.ar AS b4, b.pt AS b5, b.t AS b6, b.num AS b7, b.u AS b8, b.m AS b9, b.b AS b10, b.c AS b11, b.i2 AS b12, b.f4 AS b13, b.ct AS b14
    FROM everything a %s JOIN everything b ON a.k = b.k AND a.i4 + b.i4 > 40', kind)) AS c;

-- Columns that were dropped and added.
ALTER TABLE everything DROP COLUMN f4, DROP COLUMN t;
ALTER TABLE everything ADD COLUMN late text DEFAULT 'late', ADD COLUMN later integer;
SELECT * FROM compare('SELECT x, y.late, y.later, x.js FROM everything x JOIN everything y ON x.i8 = y.i8');

-- Values computed by expanded objects, and cstrings.
SELECT * FROM compare('SELECT a.k, b.grown FROM everything a JOIN (SELECT i4, array_append(ar, 7) AS grown, int4out(i4) AS cs FROM everything) b ON a.i4 = b.i4');

-- A row of several MB among small ones, on both sides, as output column and as key.
CREATE TABLE huge AS SELECT i AS k, CASE i % 40 WHEN 7 THEN repeat(md5(i::text), 300000) ELSE 'small ' || i END AS t
FROM generate_series(1, 100) AS i;
SELECT count(*), sum(length(a.t)), sum(length(b.t)), bool_and(a.t = b.t) FROM huge a JOIN huge b USING (k);
SET gpujoin.force = on;
SELECT count(*), sum(length(a.t)), sum(length(b.t)), bool_and(a.t = b.t) FROM huge a JOIN huge b USING (k);
SELECT count(*), sum(length(a.t)), bool_and(a.k = b.k) FROM huge a JOIN huge b USING (t);
SELECT count(*), sum(length(b.x)) FROM huge a JOIN (SELECT k, t || 'x' AS x FROM huge) b USING (k);
SELECT count(*), sum(length(b.x)) FROM huge a LEFT JOIN (SELECT k + 50 AS k, t || 'x' AS x, t FROM huge) b ON a.k = b.k AND a.t || 'x' <> b.x;
RESET gpujoin.force;

-- Many columns.
DO $$
BEGIN
    EXECUTE (SELECT 'CREATE TABLE many AS SELECT i AS k, ' || string_agg(format('CASE WHEN i %% %s <> 0 THEN i + %s END AS c%s', n % 7 + 1, n, n), ', ')
                    || ' FROM generate_series(1, 50) AS i' FROM generate_series(1, 700) AS n);
END $$;
SELECT * FROM compare('SELECT a.k, hashtext(a::text || b::text) FROM many a LEFT JOIN many b ON a.k = b.k + 3');
DROP TABLE everything, huge, many;
