-- User-defined types: their own equality, which bytes do not tell; with and without a 64-bit hash function; in
-- arrays, records, ranges and domains; across types; and types that cannot be hashed at all.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA user_types;
SET search_path = user_types, public;

-- A text without case that has the 32-bit hash function alone.
SET client_min_messages = warning;
CREATE TYPE code;
CREATE FUNCTION code_in(cstring) RETURNS code LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION code_out(code) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE code (INPUT = code_in, OUTPUT = code_out, LIKE = text);
RESET client_min_messages;
CREATE CAST (code AS text) WITHOUT FUNCTION;
CREATE CAST (text AS code) WITHOUT FUNCTION;
CREATE FUNCTION code_eq(code, code) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT lower($1::text COLLATE "C") = lower($2::text COLLATE "C")';
CREATE FUNCTION code_hash(code) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT hashtext(lower($1::text COLLATE "C"))';
CREATE FUNCTION code_hash_extended(code, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT hashtextextended(lower($1::text COLLATE "C"), $2)';
CREATE OPERATOR = (LEFTARG = code, RIGHTARG = code, FUNCTION = code_eq, COMMUTATOR = =, HASHES, RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR CLASS code_ops DEFAULT FOR TYPE code USING hash AS OPERATOR 1 =, FUNCTION 1 code_hash(code);
CREATE TYPE coded AS (c code, n integer);
CREATE DOMAIN short_code AS code CHECK (length(VALUE::text) < 10);
CREATE DOMAIN codes AS code[];

CREATE TABLE l AS SELECT i AS n, (CASE WHEN i % 2 = 0 THEN 'abc' ELSE 'ABC' END || i)::text::code AS c FROM generate_series(1, 30) AS i;
CREATE TABLE r AS SELECT i AS n, ('Abc' || i)::text::code AS c FROM generate_series(1, 60, 2) AS i;
INSERT INTO l VALUES (101, NULL), (102, '');
INSERT INTO r VALUES (201, NULL), (202, '');
ANALYZE l, r;
CREATE FUNCTION compare_codes() RETURNS TABLE (condition text, taken boolean, "rows" bigint, missing bigint, extra bigint) LANGUAGE sql AS $$
    SELECT condition, c.*
    FROM unnest(ARRAY['l.c = r.c', 'ARRAY[l.c] = ARRAY[r.c]', 'ARRAY[l.c]::codes = ARRAY[r.c]::codes', 'ROW(l.c, 1)::coded = ROW(r.c, 1)::coded',
            'ARRAY[ROW(l.c, 1)::coded] = ARRAY[ROW(r.c, 1)::coded]', 'l.c::short_code = r.c', 'l.c::short_code = r.c::short_code',
            'l.c = r.c AND (l.n + r.n) % 4 = 2']) WITH ORDINALITY AS conditions (condition, i),
         compare(format('SELECT l.n, r.n AS rn FROM l FULL JOIN r ON %s', condition)) AS c
    ORDER BY i
$$;
SELECT * FROM compare_codes();
-- The same with a 64-bit hash function.
ALTER OPERATOR FAMILY code_ops USING hash ADD FUNCTION 2 (code) code_hash_extended(code, bigint);
SELECT * FROM compare_codes();

-- An equality across types.
CREATE FUNCTION code_text_eq(code, text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT lower($1::text COLLATE "C") = lower($2 COLLATE "C")';
CREATE FUNCTION text_code_eq(text, code) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT lower($1 COLLATE "C") = lower($2::text COLLATE "C")';
CREATE FUNCTION text_hash(text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT hashtext(lower($1 COLLATE "C"))';
CREATE OPERATOR == (LEFTARG = code, RIGHTARG = text, FUNCTION = code_text_eq, COMMUTATOR = ==, HASHES, RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR == (LEFTARG = text, RIGHTARG = code, FUNCTION = text_code_eq, COMMUTATOR = ==, HASHES, RESTRICT = eqsel, JOIN = eqjoinsel);
ALTER OPERATOR FAMILY code_ops USING hash ADD OPERATOR 1 == (code, text), OPERATOR 1 == (text, code), FUNCTION 1 (text) text_hash(text);
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT l.n, r.n AS rn FROM l %s JOIN (SELECT n, c::text AS t FROM r) r ON l.c == r.t', kind)) AS c;

-- Marked as hashable without a hash operator class, as not strict, and not at all.
CREATE FUNCTION loose_eq(code, code) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 IS NOT DISTINCT FROM $2';
CREATE OPERATOR =~= (LEFTARG = code, RIGHTARG = code, FUNCTION = code_eq, COMMUTATOR = =~=, HASHES);
CREATE OPERATOR =?= (LEFTARG = code, RIGHTARG = code, FUNCTION = loose_eq, COMMUTATOR = =?=);
SELECT * FROM compare('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON l.c =?= r.c');
SELECT * FROM compare('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON l.n = r.n AND l.c =?= r.c');
SELECT * FROM compare('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON l.n = r.n AND l.c =~= r.c');
SELECT * FROM compare('SELECT a.n, b.n AS bn FROM (SELECT n, n::money AS m FROM l) a JOIN (SELECT n, n::money AS m FROM r) b ON a.m = b.m');

-- A range over a user's type, and a domain over a range.
CREATE TYPE code_order AS RANGE (SUBTYPE = text, COLLATION = "C");
CREATE DOMAIN window_of_time AS tsrange;
SELECT * FROM compare($$SELECT l.n, r.n AS rn FROM l FULL JOIN r ON code_order(lower(l.c::text), 'z') = code_order(lower(r.c::text), 'z')$$);
SELECT * FROM compare($$SELECT l.n, r.n AS rn FROM l JOIN r ON code_order(lower(l.c::text), 'z') && code_order(lower(r.c::text), 'z') AND l.n = r.n$$);
SELECT * FROM compare($$SELECT l.n, r.n AS rn FROM l FULL JOIN r ON tsrange('2024-01-01', '2024-01-01'::timestamp + l.n * interval '1 day')::window_of_time = tsrange('2024-01-01', '2024-01-01'::timestamp + r.n * interval '1 day')::window_of_time$$);

-- Domains over everything that has one: the operator is that of the base type.
CREATE DOMAIN d_int AS integer CHECK (VALUE > -100);
CREATE DOMAIN d_d_int AS d_int;
CREATE DOMAIN d_numeric AS numeric(12, 3);
CREATE DOMAIN d_text AS text COLLATE "C";
CREATE DOMAIN d_char AS char(6);
CREATE DOMAIN d_float AS float4;
CREATE DOMAIN d_jsonb AS jsonb;
CREATE DOMAIN d_interval AS interval;
CREATE DOMAIN d_inet AS inet;
CREATE DOMAIN d_uuid AS uuid;
CREATE DOMAIN d_ints AS integer[];
CREATE DOMAIN d_range AS int8range;
CREATE DOMAIN d_multirange AS int8multirange;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN d_mood AS mood CHECK (VALUE <> 'sad');
CREATE TABLE dl AS SELECT i AS n, i::d_int AS i, i::d_d_int AS ii, (i / 3.0)::d_numeric AS nu, ('t' || i)::d_text AS t, ('c' || i)::d_char AS c, (i / 2.0)::d_float AS f,
    jsonb_build_array(i)::d_jsonb AS j, make_interval(days => i)::d_interval AS iv, ('10.0.0.' || i)::d_inet AS ip, md5(i::text)::d_uuid AS u, ARRAY[i, 1]::d_ints AS ia,
    int8range(i, i + 2)::d_range AS ra, int8multirange(int8range(i, i + 2))::d_multirange AS mr, (CASE WHEN i % 2 = 0 THEN 'ok' ELSE 'happy' END)::d_mood AS mo
FROM generate_series(1, 30) AS i;
CREATE TABLE dr AS SELECT * FROM dl WHERE n % 3 <> 0;
INSERT INTO dl (n) VALUES (101);
INSERT INTO dr (n) VALUES (201);
ANALYZE dl, dr;
SELECT condition, c.*
FROM unnest(ARRAY['l.i = r.i', 'l.i = r.ii', 'l.ii = r.n', 'l.i::int8 = r.ii', 'l.nu = r.nu', 'l.nu = r.i', 'l.t = r.t', 'l.c = r.c', 'l.t = r.c::text', 'l.f = r.f', 'l.f = r.nu::float8',
        'l.j = r.j', 'l.iv = r.iv', 'l.ip = r.ip', 'l.u = r.u', 'l.ia = r.ia', 'l.ra = r.ra', 'l.mr = r.mr', 'l.mo::mood = r.mo::mood AND l.n = r.n',
        'l.i BETWEEN r.ii - 1 AND r.ii + 1', 'l.n::int8 <@ r.ra']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.*, r.n AS rn, r.c AS rc, r.ra AS rr FROM dl l LEFT JOIN dr r ON %s', condition)) AS c
ORDER BY i;
SET client_min_messages = warning;
DROP SCHEMA user_types CASCADE;
