-- What is taken and what is left to core, line by line of the two tables of docs/joins.md.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE own_range AS RANGE (SUBTYPE = float8);
CREATE TYPE text_range AS RANGE (SUBTYPE = text);
CREATE TABLE l AS SELECT i AS n, i::int2 AS i2, i::int8 AS i8, i::oid AS o, i % 2 = 0 AS b, chr(64 + i)::"char" AS c, i::float4 AS f4, i::float8 AS f8, i::numeric AS nu, date '2024-01-01' + i AS d, time '10:00' + i * interval '1 s' AS ti,
    ('10:00:' || i || '+00')::timetz AS tt, timestamp '2024-01-01' + i * interval '1 d' AS ts, timestamptz '2024-01-01 00:00+00' + i * interval '1 d' AS tz, i * interval '1 d' AS iv, 't' || i AS t, ('t' || i)::char(9) AS ch,
    ('t' || i)::name COLLATE "C" AS na, ('t' || i)::bytea AS by, md5(i::text)::uuid AS u, (enum_range(NULL::mood))[1 + i % 3] AS e, ('10.0.0.' || i)::inet AS ip, jsonb_build_array(i) AS j, ARRAY[i] AS ar, int4range(i, i + 2) AS ra, int8range(i, i + 2) AS ra8,
    numrange(i, i + 2) AS nr, daterange(date '2024-01-01' + i, date '2024-01-03' + i) AS dr, tsrange(timestamp '2024-01-01' + i * interval '1 d', NULL) AS tr, tstzrange(NULL, timestamptz '2024-01-01 00:00+00' + i * interval '1 d') AS tzr,
    own_range(i, i + 2) AS xr, int4multirange(int4range(i, i + 2)) AS mr, i::money AS mo, point(i, i) AS p, pg_lsn '0/0' + i AS ls, text_range('t' || i, NULL) AS tx
FROM generate_series(1, 12) AS i;
CREATE TABLE r AS SELECT * FROM l WHERE n % 3 <> 0;
ANALYZE l, r;
CREATE FUNCTION is_even(integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 % 2 = 0; END';
CREATE FUNCTION takes(conditions text[]) RETURNS TABLE (condition text, taken boolean, "rows" bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT condition, c.* FROM unnest(conditions) WITH ORDINALITY AS conditions (condition, i), compare(format('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON %s', condition)) AS c ORDER BY i
$$;
-- Equality on encoded values, on hashes; core's alone where no hash function is.
SELECT * FROM takes((SELECT array_agg(format('l.%s = r.%s', a, b)) FROM unnest(ARRAY['i2', 'n', 'i8']) AS a, unnest(ARRAY['i2', 'n', 'i8']) AS b));
SELECT * FROM takes((SELECT array_agg(format('l.%1$s = r.%1$s', a)) FROM unnest(ARRAY['o', 'b', 'c', 'f4', 'f8', 'nu', 'd', 'ti', 'ts', 'tz', 't', 'ch', 'na', 'by', 'u', 'e']) AS a));
SELECT * FROM takes(ARRAY['l.f4 = r.f8', 'l.f8 = r.f4', 'l.d = r.ts', 'l.ts = r.d', 'l.na = r.t', 'l.d = r.tz', 'l.ts = r.tz']);
SELECT * FROM takes((SELECT array_agg(format('l.%1$s = r.%1$s', a)) FROM unnest(ARRAY['iv', 'tt', 'ip', 'j', 'ar', 'ra', 'nr', 'xr', 'mr', 'ls', 'mo']) AS a));
SELECT * FROM takes(ARRAY['l.p ~= r.p', 'l.t COLLATE no_case = r.t']);
-- Ranges.
SELECT * FROM takes((SELECT array_agg(format('l.%s %s r.%s', a, op, b)) FROM unnest(ARRAY['i2', 'n', 'i8'], ARRAY['i8', 'i2', 'n'], ARRAY['<', '>=', '<=']) AS x(a, b, op)));
SELECT * FROM takes((SELECT array_agg(format('l.%1$s < r.%1$s', a)) FROM unnest(ARRAY['o', 'b', 'c', 'f4', 'f8', 'nu', 'd', 'ti', 'ts', 'tz', 'na', 'by', 'u']) AS a));
SELECT * FROM takes(ARRAY['l.t COLLATE "C" < r.t', 'l.ch COLLATE "C" < r.ch', 'l.t < r.t', 'l.e < r.e', 'l.iv < r.iv', 'l.tt < r.tt', 'l.ip < r.ip', 'l.ar < r.ar', 'l.mo < r.mo', 'l.d < r.tz', 'l.ts <= r.tz', 'l.d < r.ts']);
SELECT * FROM takes(ARRAY['l.n BETWEEN r.n - 1 AND r.n + 1', 'abs(l.n - r.n) <= 2', 'abs(r.i8 - l.n) < 2', 'l.n <@ r.ra', 'r.ra @> l.n', 'l.ra && r.ra', 'l.i8 <@ r.ra8', 'l.nu <@ r.nr', 'l.d <@ r.dr', 'l.ts <@ r.tr', 'l.tz <@ r.tzr', 'l.tr && r.tr',
    'l.ra <@ r.ra', 'l.f8 <@ r.xr', 'l.mr && r.mr', 'l.n <@ r.mr', 'l.tx && r.tx', 'l.n BETWEEN SYMMETRIC r.n + 1 AND r.n - 1', 'l.n NOT BETWEEN SYMMETRIC r.n + 1 AND r.n - 1']);
-- Filters and residuals come along; alone, filters that can be evaluated for a pair will do.
SELECT * FROM takes(ARRAY['l.n = r.n AND l.i8 <> r.i2', 'l.n <> r.n', 'l.n = r.n OR l.i8 = r.i2', 'l.n < r.n AND (l.i8 = r.i2 + 1 OR l.n = 3)', 'is_even(l.n + r.n)', 'l.n = r.n AND is_even(l.n + r.n)',
    'l.n = r.n AND l.i2 > (SELECT min(i2) FROM r x WHERE x.b = r.b)', 'true', 'l.n = 3', 'l.n IS NOT DISTINCT FROM r.n']);
-- Keys of expressions; those of ranges may raise no error.
SELECT * FROM takes(ARRAY['l.n * 2 = r.n + r.i2', 'l.n / 1 = r.n', 'lower(l.t) = lower(r.t)', 'l.n + 2 > r.n - 1', 'l.nu * 2 >= r.nu', 'l.n / 1 > r.n', 'l.n / l.i2 < r.n', 'l.i8 + l.i8 > r.i8', 'l.n <@ int4range(r.n, r.n + 2)', 'l.i8 = r.i8 AND l.n / 1 > r.n - 1',
    'l.n + (random() * 0)::integer = r.n', 'l.n = (SELECT max(x.n) FROM l x WHERE x.n <= r.n)', 'l.n = r.n AND now() > ''2024-01-01''']);
-- Join types, and what core does not plan as a join.
SELECT query, c.*
FROM unnest(ARRAY['SELECT l.n FROM l JOIN r USING (n)', 'SELECT l.n FROM l RIGHT JOIN r USING (n)', 'SELECT l.n FROM l FULL JOIN r USING (n)', 'SELECT n FROM l WHERE n IN (SELECT n FROM r)', 'SELECT n FROM l WHERE EXISTS (SELECT FROM r WHERE l.n < r.n)',
    'SELECT n FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.n = r.n)', 'SELECT n FROM l WHERE n NOT IN (SELECT n FROM r)', 'SELECT l.n FROM l, r x WHERE l.n = x.n AND (l.i2, x.i8) IN (SELECT i2, i8 FROM r)', 'SELECT n FROM l WHERE n < ANY (SELECT n FROM r)',
    'SELECT l.n FROM l, LATERAL (SELECT n FROM r WHERE r.n = l.n OFFSET 0) r', 'SELECT l.n FROM l, r']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;
-- From 17 on core makes a semijoin of a correlated IN, and tests conditions on no row above custom joins.
SELECT query, taken = since(17) AS taken_since_17, rows, missing, extra
FROM unnest(ARRAY['SELECT n FROM l WHERE n IN (SELECT n FROM r WHERE r.i2 >= l.i2)', 'SELECT l.n FROM l JOIN r ON l.n = r.n AND now() > ''2024-01-01''',
    'SELECT l.n FROM l JOIN r ON l.n = r.n AND now() < ''2024-01-01''', 'SELECT l.n FROM l LEFT JOIN r ON l.n = r.n WHERE now() < ''2024-01-01''']) WITH ORDINALITY AS queries (query, i),
     compare(query) AS c
ORDER BY i;
DROP FUNCTION takes, is_even;
DROP TABLE l, r;
DROP TYPE own_range, text_range, mood;
DROP COLLATION no_case;
