-- Texts as keys: blanks of bpchar, names, collations of both providers, nondeterministic ones, and comparisons across
-- types, whose meaning follows the operator and not what is under a cast.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS citext;
RESET client_min_messages;
CREATE COLLATION libc_c (provider = libc, locale = 'C');
CREATE COLLATION libc_utf8 (provider = libc, locale = 'C.UTF-8');
CREATE COLLATION icu_de (provider = icu, locale = 'de-DE');
CREATE COLLATION icu_no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE l AS SELECT n, v AS t, v::varchar(300) AS vc, v::char(10) AS ch, left(v, 60)::name COLLATE "C" AS na, v::citext AS ci, v COLLATE icu_de AS de, v COLLATE icu_no_case AS nd, v::bytea AS by
FROM unnest(ARRAY['', ' ', 'a', 'A', 'a ', 'ä', 'Ä', 'ae', 'a' || chr(776), 'b', 'B', 'z', 'ab', 'aB', 'a' || chr(9), '1', '01', 'ß', 'ss', 'é', '日本', repeat('x', 10), NULL, NULL]) WITH ORDINALITY AS v(v, n);
INSERT INTO l SELECT 100 + i, 'key ' || i, 'key ' || i, 'key ' || i, 'key ' || i, 'KEY ' || i, 'key ' || i, 'kEy ' || i FROM generate_series(1, 30) AS i;
CREATE TABLE r AS SELECT n + 500 AS n, upper(t) AS t, vc, (ch || '   ')::char(20) AS ch, na, ci, upper(de) AS de, upper(nd) AS nd, by FROM l WHERE n % 4 <> 0;
ANALYZE l, r;
SELECT condition, c.*
FROM unnest(ARRAY['l.t = r.t', 'l.t = r.vc', 'l.vc = r.t', 'l.ch = r.ch', 'l.ch = r.vc', 'l.ch::text = r.vc', 'l.vc::bpchar = r.ch', 'l.t::bpchar = r.t::bpchar', 'l.t::char(2) = r.t::char(2)',
        'l.na = r.na', 'l.na = r.vc', 'l.vc = r.na', 'l.na::text = r.ch', 'l.by = r.by', 'l.ci = r.ci', 'l.ci = r.t', 'l.de = r.de', 'l.de = r.de COLLATE "C"', 'l.t COLLATE "C" = r.t', 'l.t COLLATE libc_utf8 = r.t',
        'l.t COLLATE icu_de = r.t', 'lower(l.t) = lower(r.t)', 'l.t || l.t = r.t || r.t', 'upper(l.t COLLATE icu_de) = r.t', 'l.t = r.t AND l.ch = r.ch AND l.na = r.na', 'l.t = r.t AND l.de <> r.de',
        'l.n + 500 = r.n AND l.t <> r.t', 'l.n + 500 = r.n AND l.t < r.t', 'l.n + 500 = r.n AND l.t COLLATE "C" < r.t', 'l.n + 500 = r.n AND l.ch COLLATE "C" >= r.ch', 'l.n + 500 = r.n AND l.na <= r.na', 'l.n + 500 = r.n AND l.by > r.by',
        'l.n + 500 = r.n AND l.t LIKE r.t', 'l.n + 500 = r.n AND l.t ~~* r.t', 'l.n + 500 = r.n AND l.nd = r.nd']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l FULL JOIN r ON %s', condition)) AS c
ORDER BY i;
-- Ranges of texts: under C alone.
SELECT condition, c.*
FROM unnest(ARRAY['l.t COLLATE "C" < r.t', 'l.t COLLATE libc_c >= r.t', 'l.ch COLLATE "C" <= r.ch', 'l.na > r.na', 'l.na COLLATE icu_de > r.na', 'l.na < r.vc', 'l.by >= r.by', 'l.t COLLATE "C" BETWEEN r.t AND r.t || ''zz''', 'l.ch COLLATE "C" BETWEEN r.ch AND r.ch',
        'l.t COLLATE icu_de < r.t', 'l.t COLLATE libc_utf8 < r.t', 'l.nd < r.nd', 'l.t ~<~ r.t']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON %s', condition)) AS c
ORDER BY i;
-- Under a nondeterministic collation equal texts have different bytes: core's alone, also inside arrays.
SELECT condition, c.*
FROM unnest(ARRAY['l.nd = r.nd', 'l.t COLLATE icu_no_case = r.t', 'ARRAY[l.nd] = ARRAY[r.nd]', 'l.t::bpchar COLLATE icu_no_case = r.t::bpchar', 'ROW(l.nd) = ROW(r.nd)']) WITH ORDINALITY AS conditions (condition, i),
     compare(format('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON %s', condition)) AS c
ORDER BY i;
-- A composite type or a range that is equal under such a collation has equal hashes.
CREATE TYPE loose AS (t text COLLATE icu_no_case);
CREATE TYPE loose_range AS RANGE (SUBTYPE = text, COLLATION = icu_no_case);
SELECT * FROM compare('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON ROW(l.t)::loose = ROW(r.t)::loose');
SELECT * FROM compare('SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON loose_range(l.t, NULL) = loose_range(r.t, NULL)');
DROP TYPE loose, loose_range;
DROP TABLE l, r;
DROP COLLATION libc_c, libc_utf8, icu_de, icu_no_case;
DROP EXTENSION citext;
