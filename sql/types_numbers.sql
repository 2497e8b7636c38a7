-- Numbers as keys: NaN, both zeros, infinities, denormals, scales of numeric, and comparisons across types, each as
-- equality, as order, with every algorithm that may run it.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE f AS SELECT n, v::float8 AS f8, (CASE WHEN v IN ('1e308', '5e-324', '1e-45', '1.7976931348623157e308') THEN '1' ELSE v END)::float4 AS f4
FROM unnest(ARRAY['NaN', '-NaN', '0', '-0', 'Infinity', '-Infinity', '1', '1.0000000000000002', '0.1', '-0.1', '5e-324', '1e-45', '1e308', '1.7976931348623157e308',
    '16777216', '16777217', '9007199254740992', '9007199254740993', '-1', '3.4028235e38', '1e-38', NULL, NULL]) WITH ORDINALITY AS v(v, n);
CREATE TABLE nu AS SELECT n, v::numeric AS v
FROM unnest(ARRAY['NaN', '0', '-0', '0.000', 'Infinity', '-Infinity', '1', '1.0', '1.000000000000000000000', '10', '10.00', '1e1', '100', '10000', '10000.0000', '100000000',
    '-10000.5', '-10000.00000001', '-1.0001', '-1.00000001', '0.1', '0.10', '0.0001', '0.00010', '-0.1', '-1', '-10', '-10000', '1e300', '1e-300', '1e130000', '-1e130000', '1e-16000', '12345678901234567890123456789012345678.9',
    '12345678901234567890123456789012345678.90', '9999', '9999.9999', '99999999', '0.99999999', '2147483648', '9223372036854775807', '9223372036854775808', NULL, NULL]) WITH ORDINALITY AS v(v, n);
INSERT INTO nu SELECT 100 + i, i * 0.25 FROM generate_series(-10, 10) AS i;
CREATE TABLE i AS SELECT n, v::int8 AS i8, (CASE WHEN abs(v::numeric) < 2147483648 THEN v END)::int4 AS i4, (CASE WHEN abs(v::numeric) < 32768 THEN v END)::int2 AS i2
FROM unnest(ARRAY['0', '1', '-1', '10', '32767', '-32767', '2147483647', '-2147483647', '4294967296', '4294967297', '9223372036854775807', '-9223372036854775808', '100', NULL, '9007199254740993']) WITH ORDINALITY AS v(v, n);
INSERT INTO i VALUES (101, -2147483648, -2147483648, -32768);
ANALYZE f, nu, i;
CREATE FUNCTION compare_numbers(algorithm text) RETURNS TABLE (condition text, taken boolean, "rows" bigint, missing bigint, extra bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpujoin.algorithm', algorithm, true);
    RETURN QUERY SELECT q, c.*
        FROM unnest(ARRAY['f a, f b, a.f8 = b.f8', 'f a, f b, a.f4 = b.f4', 'f a, f b, a.f4 = b.f8', 'f a, f b, a.f8 = b.f4', 'f a, f b, a.f8 < b.f8', 'f a, f b, a.f8 >= b.f8',
                'f a, f b, a.f4 > b.f4', 'f a, f b, a.f4 <= b.f8', 'f a, f b, a.f8 BETWEEN b.f4 AND b.f4', 'f a, f b, a.f8 <> b.f8 AND a.f4 = b.f4', 'f a, f b, - a.f8 = b.f8',
                'nu a, nu b, a.v = b.v', 'nu a, nu b, a.v < b.v', 'nu a, nu b, a.v >= b.v', 'nu a, nu b, a.v BETWEEN b.v - 0.5 AND b.v + 0.50', 'nu a, nu b, - a.v = b.v', 'nu a, nu b, a.v = b.v AND a.v <> b.n',
                'i a, i b, a.i8 = b.i4', 'i a, i b, a.i2 = b.i8', 'i a, i b, a.i4 = b.i2 AND a.i8 <= b.i8', 'i a, i b, a.i8 > b.i4', 'i a, i b, a.i2 <= b.i8', 'i a, i b, a.i4 <> b.i8 AND a.i2 = b.i2',
                'i a, nu b, a.i8 = b.v', 'i a, nu b, a.i4 >= b.v', 'i a, f b, a.i4 = b.f8', 'f a, nu b, a.f8 = b.n']) WITH ORDINALITY AS conditions (q, i),
            LATERAL regexp_match(q, '(.*), (.*), (.*)') AS parts, compare(format('SELECT a.n, b.n AS bn FROM %s FULL JOIN %s ON %s',
                parts[1], parts[2], parts[3] || CASE WHEN q ~ '[<>]|BETWEEN' AND q !~ ' = ' THEN ' AND a.n * 0 = b.n * 0' ELSE '' END)) AS c
        ORDER BY i;
END $$;
SELECT * FROM compare_numbers('auto');
SELECT algorithm, count(*), bool_and(c.taken) AS taken, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM unnest(ARRAY['hash', 'sort_merge', 'index', 'nested_loop']) WITH ORDINALITY AS algorithms (algorithm, i), compare_numbers(algorithm) AS c
GROUP BY i, algorithm ORDER BY i;
-- Ranges alone, which core would not take for a FULL JOIN.
SELECT condition, c.*
FROM unnest(ARRAY['a.f8 < b.f8', 'a.f4 >= b.f8', 'a.f8 BETWEEN b.f4 AND b.f8']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT a.n, b.n AS bn FROM f a LEFT JOIN f b ON %s', condition)) AS c ORDER BY i;
SELECT condition, c.*
FROM unnest(ARRAY['a.v < b.v', 'a.v >= b.v', 'a.v > b.v AND a.v < b.v + 1', 'a.v BETWEEN b.v AND b.v']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT a.n, b.n AS bn FROM nu a LEFT JOIN nu b ON %s', condition)) AS c ORDER BY i;
SELECT condition, c.*
FROM unnest(ARRAY['a.i8 < b.i2', 'a.i4 >= b.i8', 'a.i8 BETWEEN b.i2 - 1 AND b.i2 + 1', 'abs(a.i2 - b.i2::int4) <= 1', 'a.i4::int8 + 1 > b.i8 AND a.i2 < b.i2']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT a.n, b.n AS bn FROM i a LEFT JOIN i b ON %s', condition)) AS c ORDER BY i;
-- A few rows that span all of their type.
SELECT algorithm, condition, c.*
FROM unnest(ARRAY['index', 'sort_merge', 'nested_loop']) WITH ORDINALITY AS algorithms (algorithm, a), unnest(ARRAY['a.i8 < b.k', 'a.i8 >= b.k', 'a.i8 BETWEEN b.k AND b.k']) WITH ORDINALITY AS conditions (condition, b),
     set_config('gpujoin.algorithm', algorithm, true),
     compare(format('SELECT a.n, b.k FROM i a LEFT JOIN (VALUES (3::int8), (-9223372036854775808), (9223372036854775807)) b(k) ON %s', condition)) AS c ORDER BY a, b;

-- Integers as oids.
SELECT * FROM compare('SELECT a.n, b.n AS bn FROM i a JOIN i b ON a.i4::oid = b.i4::oid');
SELECT * FROM compare('SELECT a.n, b.n AS bn FROM i a LEFT JOIN i b ON a.i4::oid < b.i4::oid');
SELECT * FROM compare('SELECT a.n, b.n AS bn FROM i a JOIN (SELECT n, n::oid AS o FROM i) b ON a.i4::oid = b.o');
SELECT * FROM compare('SELECT a.n, c.relname FROM (VALUES (1, 1259), (2, 1247), (3, -1)) a(n, k) LEFT JOIN pg_class c ON a.k::oid = c.oid');
DROP FUNCTION compare_numbers;
DROP TABLE f, nu, i;
