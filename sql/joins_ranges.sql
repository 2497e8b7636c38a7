-- Every kind of join on every form of range condition: inequalities, bands, intervals, overlaps, several ranges, with
-- equalities and residuals beside them, on every algorithm. Core has no FULL JOIN on a range; its rows are those of a
-- LEFT JOIN and of the rows on the right that have no partner.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE l AS SELECT i AS n, CASE WHEN i % 11 <> 0 THEN (i * 37) % 200 END AS a, (i * 37) % 200 + i % 13 AS b, i % 4 AS g, ((i * 31) % 100 / 4.0)::float8 AS f, ((i * 29) % 100 / 8.0)::numeric AS nu,
    date '2024-01-01' + (i * 17) % 60 AS d, timestamp '2024-01-01' + (i * 41) % 70 * interval '20 hours' AS ts, 't' || (i * 7) % 50 AS t,
    int4range((i * 37) % 200, (i * 37) % 200 + i % 13) AS ra
FROM generate_series(1, 100) AS i;
CREATE TABLE r AS SELECT i AS n, CASE WHEN i % 7 <> 0 THEN (i * 53) % 220 - 10 END AS a, (i * 53) % 220 - 10 + i % 9 AS b, i % 5 AS g, ((i * 13) % 120 / 4.0)::float8 AS f, ((i * 17) % 120 / 8.0)::numeric AS nu,
    date '2024-01-05' + (i * 23) % 60 AS d, timestamp '2024-01-03' + (i * 43) % 70 * interval '19 hours' AS ts, 't' || (i * 3) % 60 AS t,
    int4range((i * 53) % 220, (i * 53) % 220 + i % 9, '[]') AS ra, numrange((i * 17) % 120 / 8.0, (i * 17) % 120 / 8.0 + 1, '(]') AS nr
FROM generate_series(1, 60) AS i;
INSERT INTO l (n, f, nu, d, ts) VALUES (1001, 'NaN', 'NaN', 'infinity', 'infinity'), (1002, '-Infinity', '-Infinity', '-infinity', '-infinity');
INSERT INTO r (n, f, nu, d, ts) VALUES (2001, 'NaN', 'NaN', 'infinity', 'infinity'), (2002, '-Infinity', '-Infinity', '-infinity', '-infinity');
ANALYZE l, r;
CREATE FUNCTION compare_full(condition text, OUT taken boolean, OUT rows bigint, OUT missing bigint, OUT extra bigint) LANGUAGE plpgsql SET client_min_messages = warning AS $$
BEGIN
    DROP TABLE IF EXISTS core_rows, gpu_rows;
    SET LOCAL gpujoin.enabled = off;
    EXECUTE format('CREATE TEMP TABLE core_rows AS SELECT l.n, r.n AS rn FROM l LEFT JOIN r ON %1$s UNION ALL SELECT NULL, n FROM r WHERE NOT EXISTS (SELECT FROM l WHERE %1$s)', condition);
    SET LOCAL gpujoin.enabled = on;
    SET LOCAL gpujoin.force = on;
    SELECT bool_or(line LIKE '%Custom Scan (GPU Join)%') INTO taken FROM plan_of('SELECT FROM l FULL JOIN r ON ' || condition) AS line;
    EXECUTE 'CREATE TEMP TABLE gpu_rows AS SELECT l.n, r.n AS rn FROM l FULL JOIN r ON ' || condition;
    SET LOCAL gpujoin.force = off;
    SELECT count(*) INTO rows FROM core_rows;
    SELECT count(*) INTO missing FROM (TABLE core_rows EXCEPT ALL TABLE gpu_rows) difference;
    SELECT count(*) INTO extra FROM (TABLE gpu_rows EXCEPT ALL TABLE core_rows) difference;
END $$;
CREATE FUNCTION compare_ranges(conditions text[], algorithm text)
RETURNS TABLE (condition text, kinds bigint, taken boolean, "rows" numeric, missing numeric, extra numeric) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpujoin.algorithm', algorithm, true);
    RETURN QUERY SELECT cond, count(*), bool_and(c.taken), sum(c.rows), sum(c.missing), sum(c.extra)
        FROM unnest(conditions) WITH ORDINALITY AS conditions (cond, i),
            unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'EXISTS', 'NOT EXISTS', 'FULL']) AS kind,
            LATERAL (SELECT (compare_full(cond)).* WHERE kind = 'FULL'
                     UNION ALL
                     SELECT d.* FROM compare(CASE WHEN kind LIKE '%EXISTS' THEN format('SELECT l.n FROM l WHERE %s (SELECT FROM r WHERE %s)', kind, cond)
                                                  ELSE format('SELECT l.n, r.n AS rn FROM l %s JOIN r ON %s', kind, cond) END) AS d WHERE kind <> 'FULL') AS c
        GROUP BY i, cond ORDER BY i;
END $$;
SELECT * FROM compare_ranges(ARRAY['l.a < r.a', 'l.a >= r.b', 'l.a BETWEEN r.a - 2 AND r.a + 2', 'l.a BETWEEN r.a AND r.b', 'r.a BETWEEN l.a AND l.b', 'l.a <= r.b AND r.a <= l.b', 'abs(l.a - r.a) <= 3', 'abs(l.a - r.a) < 0',
    'l.a > r.a AND l.b > r.b', 'l.a > r.a AND l.b < r.b AND l.n > r.n', 'l.g = r.g AND l.a BETWEEN r.a - 5 AND r.a + 5', 'l.g = r.g AND l.a <= r.b AND r.a <= l.b', 'l.g = r.g AND l.a > r.a + 30',
    'l.a BETWEEN r.a AND r.b AND l.g <> r.g', 'l.a BETWEEN r.a AND r.b AND (l.g + r.g) % 2 = 0', 'l.a < r.a AND l.g = 2', 'l.a BETWEEN r.a AND r.b AND r.g = 2', 'l.a < r.a AND l.t LIKE r.t || ''%''',
    'l.f < r.f', 'l.f BETWEEN r.f - 0.5 AND r.f + 0.5', 'l.nu >= r.nu', 'l.nu BETWEEN r.nu - 0.3 AND r.nu', 'l.d BETWEEN r.d - 1 AND r.d + 1', 'l.ts BETWEEN r.ts - interval ''5 hours'' AND r.ts', 'l.d <= r.ts AND l.d >= r.d',
    'l.t COLLATE "C" < r.t', 'l.t COLLATE "C" BETWEEN r.t AND r.t || ''9''', 'l.ra && r.ra', 'l.a <@ r.ra', 'r.nr @> l.nu', 'l.a < r.a AND l.a > r.a'], 'auto');
SELECT algorithm, count(*), bool_and(c.taken) AS taken, sum(c.rows) AS rows, sum(c.missing) AS missing, sum(c.extra) AS extra
FROM unnest(ARRAY['hash', 'sort_merge', 'index', 'nested_loop']) WITH ORDINALITY AS algorithms (algorithm, i), compare_ranges(ARRAY['l.a < r.a', 'l.a BETWEEN r.a AND r.b', 'l.a > r.a AND l.b < r.b AND l.n > r.n', 'l.g = r.g AND l.a <= r.b AND r.a <= l.b',
         'l.a BETWEEN r.a AND r.b AND l.g <> r.g', 'l.a BETWEEN r.a AND r.b AND (l.g + r.g) % 2 = 0', 'l.nu BETWEEN r.nu - 0.3 AND r.nu', 'l.t COLLATE "C" < r.t'], algorithm) AS c
GROUP BY i, algorithm ORDER BY i;
DROP FUNCTION compare_ranges, compare_full;
DROP TABLE l, r;
