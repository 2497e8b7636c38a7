-- Errors that a query raises with core's joins are raised with GPU Join where pairs are tested, and no others: one
-- condition guards another in core's order, and what is evaluated once a row raises none. Each query is compared with
-- core's plan without hash and merge joins too, which tests every condition on pairs.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
-- The rows, or the error.
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    EXECUTE format('SELECT coalesce(string_agg(q::text, '' '' ORDER BY q::text), ''no row'') FROM (%s) AS q', query) INTO found;
    RETURN found;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
CREATE FUNCTION compare_outcomes(query text, OUT taken boolean, OUT outcome text, OUT with_gpujoin text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    outcome := outcome(query);
    PERFORM set_config('gpujoin.enabled', 'on', true), set_config('gpujoin.force', 'on', true);
    taken := EXISTS (SELECT FROM plan_of(query) AS line WHERE line LIKE '%Custom Scan (GPU Join)%');
    with_gpujoin := nullif(outcome(query), outcome);
    PERFORM set_config('gpujoin.force', 'off', true);
END $$;
CREATE TABLE a (id int, i int, d date, x text);
CREATE TABLE b (LIKE a);
INSERT INTO a VALUES (1, 4, 'infinity', '4'), (2, 3, '2000-01-05', '3'), (3, 9, NULL, 'x');
INSERT INTO b VALUES (1, 2, '2000-01-01', '2'), (2, 4, 'infinity', '4'), (3, 9, '2000-01-01', 'y');
ANALYZE a, b;

-- Cheap conditions are tested first, whichever comes first in the query, and whether or not they have been through an
-- equivalence class: by the engine (Filter Cond), and by PostgreSQL (Residual Cond) between those.
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT FROM a JOIN b ON 10 / (a.i - b.i - 2) < 3 AND a.i % b.i = 1;
EXPLAIN (COSTS OFF) SELECT FROM a LEFT JOIN b ON a.x::int + b.x::int < 100 AND length(a.x || b.x) > 1 AND a.i + b.i <> 18;
RESET gpujoin.force;
SELECT query, c.* FROM unnest(ARRAY[
    'SELECT a.id, b.id FROM a JOIN b ON a.i % b.i = 1 AND 10 / (a.i - b.i - 2) < 3', 'SELECT a.id, b.id FROM a JOIN b ON 10 / (a.i - b.i - 2) < 3 AND a.i % b.i = 1', 'SELECT a.id, b.id FROM a JOIN b ON a.i % b.i = 1 AND (a.d - b.d) * 2 > 5',
    'SELECT a.id, b.id FROM a LEFT JOIN b ON 10 / (a.i - b.i - 2) < 3 AND a.i % b.i = 1', 'SELECT a.id, b.id FROM a FULL JOIN b ON a.id = b.id AND 10 / (a.i - b.i - 2) < 3 AND a.i % b.i = 1', 'SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE 10 / (a.i - b.i - 2) < 3 AND a.i % b.i = 1)',
    'SELECT a.id, b.id FROM a JOIN b ON a.id >= b.id AND 10 / (a.i - 4 + b.i - 2) < 3 AND a.i + b.i <> 6', 'SELECT a.id, b.id FROM a JOIN b ON 10 / (a.i - b.i - 2) < 3',
    -- the engine's guard before a residual, and a residual's before what the engine cannot decide
    'SELECT a.id, b.id FROM a LEFT JOIN b ON a.i + b.i < 12 AND length(a.x || b.x) + a.x::int + b.x::int < 100', 'SELECT a.id, b.id FROM a LEFT JOIN b ON a.x || b.x = ''32'' AND 10 / (a.i - b.i - 2) / 1 / 1 / 1 < 3 AND a.i >= b.i', 'SELECT a.id, b.id FROM a LEFT JOIN b ON a.i >= b.i AND (a.d - b.d) * 2 > 3 AND a.x::int / (b.i - 4) + 0 < 100',
    'SELECT a.id, b.id FROM a LEFT JOIN b ON a.i >= b.i AND (a.d - b.d) * 1 <> 3 AND ''1'' || b.x > a.x AND a.x::int / (b.i - 4) / 1 / 1 / 1 < 100', 'SELECT a.id, b.id FROM a JOIN b ON a.id <> b.id AND (a.d - b.d) * 2 < 3 AND a.x < b.x AND 100 / (a.i + b.i - 7) > 1',
    -- above an outer join
    'SELECT a.id, b.id FROM a LEFT JOIN b ON a.id = b.id WHERE 100 / (coalesce(a.i, 0) - coalesce(b.i, 4)) > 1 AND coalesce(b.i, 0) <> 9', 'SELECT a.id, b.id FROM a FULL JOIN b ON a.id = b.id + 1 WHERE 10 / (a.i - 4) + b.i < 100 AND a.i + b.i <> 6']) WITH ORDINALITY AS queries (query, n), compare_outcomes(query) AS c ORDER BY n;
-- The security barrier's conditions are before all others, however dear, except for what leaks nothing.
CREATE FUNCTION nosy(text, text) RETURNS boolean COST 0.01 LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', $1, $2; RETURN true; END $$;
CREATE VIEW guarded WITH (security_barrier) AS SELECT a.id, a.i, a.x, b.x AS bx FROM a JOIN b ON a.id = b.id AND 10 / (a.i - b.i + 2) / 1 / 1 / 1 < 4 AND length(a.x || b.x) > 1;
SET gpujoin.force = on;
SELECT id FROM guarded WHERE nosy(x, bx);
RESET gpujoin.force;
DROP VIEW guarded;

-- Keys of equalities are evaluated once a row by core, too, but not behind one that is NULL.
CREATE TABLE k (a int, b int);
INSERT INTO k VALUES (1, 10), (NULL, 0), (2, 5);
ANALYZE k;
SELECT query, c.* FROM unnest(ARRAY['SELECT l.a, r.a FROM k l JOIN k r ON l.a = r.a AND l.b = 50 / r.b', 'SELECT l.a, r.a FROM k l LEFT JOIN k r ON r.a = l.a AND 50 / r.b = l.b', 'SELECT l.a FROM k l WHERE EXISTS (SELECT FROM k r WHERE l.a = r.a AND 100 / l.b = 50 / r.b)']) AS query, compare_outcomes(query) AS c;
DROP TABLE k;

-- Sums that overflow, in rows without a partner (the right table is empty, or another condition lets none through).
CREATE TABLE l (id int, ts timestamp, tz timestamptz, iv interval, d date, f4 float4, f8 float8, n numeric);
CREATE TABLE r (LIKE l);
INSERT INTO l VALUES (1, '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00', '1 day', '5874897-12-31', '3.4e38', '1.7e308', ('1' || repeat('0', 131071))::numeric),
    (2, '4714-11-24 BC', '4714-11-24 00:00:00+00 BC', '-1 day', '4714-11-24 BC', '-3.4e38', '-1.7e308', ('-1' || repeat('0', 131071))::numeric), (3, '2000-01-01', '2000-01-01', '1 mon', '2000-01-01', 1, 1, 1), (4, 'infinity', 'infinity', '1 hour', 'infinity', 'Infinity', 'Infinity', 'NaN'), (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
ANALYZE l, r;
CREATE TABLE sums AS SELECT * FROM unnest(ARRAY['l.ts + interval ''1 second'' > r.d', 'l.ts - interval ''1 second'' < r.d', 'l.ts + interval ''1 month'' > r.ts', 'l.ts - interval ''2 months 3 days'' <= r.ts', 'l.tz + interval ''1 day'' > r.tz', 'l.tz - interval ''1 month'' < r.tz', 'l.tz - interval ''1 day'' <> r.tz',
    'l.ts + l.iv > r.ts', 'l.ts - l.iv <= r.ts', 'l.tz + l.iv > r.tz', 'l.d + l.iv > r.ts', 'l.d - interval ''1 hour'' < r.ts', 'l.d::timestamp > r.ts', 'l.ts + l.iv < r.d', 'l.f8 + l.f8 > r.f8', 'l.f8 - -l.f8 < r.f8', 'l.f4 + l.f4 >= r.f4', 'l.f4 + l.f8 + l.f8 > r.f4', 'l.n * l.n > r.n', 'l.n + 9 * l.n * 100 < r.n',
    'l.ts - interval ''1 year'' BETWEEN SYMMETRIC r.ts AND r.ts + r.iv', 'l.ts - r.ts = interval ''1 second''', 'l.tz - r.tz < interval ''1 second''', 'l.d - r.d = 1', 'l.d - r.d = -1', 'l.d - r.d <= 1', 'l.ts + l.iv > r.ts OR l.id = r.id', 'l.f8 + l.f8 < r.f8 AND r.f8 > 0 OR l.id = r.id', 'l.d::timestamp + l.iv < r.ts OR l.id = r.id', 'l.ts - r.ts + interval ''1 day'' > interval ''1 day''',
    -- NULL is no overflow where it makes a condition true
    '((l.n * l.n > 1) IS NULL AND r.id > 0 OR l.id = r.id)', '((l.tz - interval ''1 month'' > l.tz) IS NOT TRUE AND r.id > 0 OR l.id = r.id)', '(l.n * l.n > 1) IS DISTINCT FROM (r.id > 0)', 'CASE WHEN l.n * l.n > 1 THEN l.id = r.id ELSE l.id < r.id END', '(l.n * l.n < 1 OR l.id < r.id)'])
    WITH ORDINALITY AS sums (condition, i);
SET timezone = 'Europe/Berlin';
SELECT condition, c.* FROM sums, compare_outcomes('SELECT l.id, r.id FROM l LEFT JOIN r ON ' || condition) AS c ORDER BY i;
SELECT condition, c.* FROM sums, compare_outcomes('SELECT l.id, r.id FROM r FULL JOIN l ON l.id = r.id AND ' || condition) AS c ORDER BY i;
INSERT INTO r SELECT 10 + id, ts, tz, iv, d, f4, f8, n FROM l WHERE id = 3;
INSERT INTO r VALUES (11);
ANALYZE r;
-- Rows that can have a partner, with or without an overflow elsewhere.
SELECT condition, c.* FROM sums, compare_outcomes('SELECT l.id, r.id FROM l LEFT JOIN r ON l.id = r.id - 10 AND ' || condition) AS c ORDER BY i;
SELECT condition, c.* FROM sums, compare_outcomes('SELECT l.id, r.id FROM (SELECT * FROM l WHERE id IN (3, 5) OFFSET 0) l JOIN r ON ' || condition) AS c ORDER BY i;
-- Other errors of once a row are errors.
SET gpujoin.force = on;
SELECT count(*) FROM l JOIN r ON l.id / (l.id - 3) = r.id;
RESET gpujoin.force;
RESET timezone;

-- Differences of timestamps that no bigint of microseconds is: as the PostgreSQL that runs has them.
TRUNCATE l, r;
INSERT INTO l (id, ts) VALUES (1, '294276-12-31 23:59:59'), (2, '4714-11-24 BC'), (3, '2000-01-01'), (4, '287600-01-01'), (5, '1000-01-01'), (6, '294246-01-01'), (7, NULL);
UPDATE l SET tz = ts AT TIME ZONE 'UTC';
INSERT INTO r TABLE l;
ANALYZE l, r;
CREATE FUNCTION compare_differences(condition text, OUT taken boolean, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    kind text;
    c record;
BEGIN
    taken := true;
    same := true;
    FOREACH kind IN ARRAY ARRAY['SELECT l.id, r.id FROM l JOIN r ON %s', 'SELECT l.id, r.id FROM l LEFT JOIN r ON %s', 'SELECT l.id, r.id FROM r LEFT JOIN l ON %s', 'SELECT l.id FROM l WHERE NOT EXISTS (SELECT FROM r WHERE %s)'] LOOP
        c := compare_outcomes(format(kind, condition));
        taken := taken AND c.taken;
        same := same AND (c.with_gpujoin IS NULL OR c.outcome = 'interval out of range');
    END LOOP;
END $$;
SELECT condition, c.* FROM unnest(ARRAY['l.ts - r.ts >= interval ''1 month''', 'l.ts - r.ts > interval ''-100000 years''', 'l.ts - r.ts < interval ''1 second''', 'l.ts - r.ts <= interval ''0''', 'l.ts - r.ts = interval ''0''', 'r.tz - l.tz < interval ''-1 day''', 'interval ''1 day'' <= r.tz - l.tz',
    'l.ts - r.ts BETWEEN interval ''-1 year'' AND interval ''100000 years''', 'l.ts - r.ts < r.ts - l.ts', 'l.id <> r.id AND l.tz - r.tz <> interval ''1 hour''', 'l.ts - r.ts > interval ''1 day'' OR l.id = r.id']) AS condition, compare_differences(condition) AS c;
DROP TABLE a, b, l, r, sums;
DROP FUNCTION compare_differences, compare_outcomes, outcome, nosy;
