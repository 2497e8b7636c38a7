-- Expressions of one table above joins, as keys of groups and as conditions of aggregates and joins: parts of dates and times, of
-- infinite ones too, patterns and parts of texts. What might fail for a row without a partner is not computed for it. The same rows as core's.
\set ECHO none
\i sql/include/nodes.sql
\set ECHO all
CREATE TABLE sale AS SELECT i AS id, CASE WHEN i % 13 <> 0 THEN i % 100 END AS a, i * 37 % 1009 AS v, i % 50 - 10 AS n,
    CASE i % 97 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '4713-11-24 BC' WHEN 3 THEN '5874897-12-31' WHEN 4 THEN NULL ELSE '2019-12-28'::date + i END AS d,
    CASE i % 89 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '4713-11-24 00:00:00 BC' WHEN 3 THEN '294276-12-31 23:59:59.999999' WHEN 4 THEN NULL ELSE '2019-12-28 12:34:56.789'::timestamp + i * interval '5 h' END AS ts,
    CASE i % 83 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '4713-11-24 00:00:00+00 BC' WHEN 3 THEN '294276-12-31 23:59:59.999999+00' WHEN 4 THEN NULL ELSE '2019-12-28 12:34:56.789+00'::timestamptz + i * interval '5 h' END AS tz,
    CASE i % 79 WHEN 0 THEN '24:00' WHEN 1 THEN '00:00' WHEN 2 THEN NULL ELSE '00:00'::time + i * interval '61.5 s' END AS ti
FROM generate_series(1, 1500) AS i;
CREATE TABLE item AS SELECT i AS k, i % 12 AS x, (ARRAY['PROMO steel', 'STANDARD tin', 'PROMO tin ', '', NULL, 'promo %', 'größe_1', 'a\b'])[1 + i % 8] AS t,
    (ARRAY['SM BOX', 'LG BOX', 'SM CASE', '  x'])[1 + i % 4]::char(10) AS ch, (i % 2 + 10) || '-555-' || i AS phone, (ARRAY['\', 'a\', 'PROMO%'])[1 + i % 3] AS pattern
FROM generate_series(0, 79) AS i;
ANALYZE sale, item;
SET timezone = 'Australia/Lord_Howe';

-- How they look.
SET gpujoin.force = on;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT extract(year FROM d), substring(phone FROM 1 FOR 2), sum(v) FILTER (WHERE t LIKE 'PROMO%') FROM sale JOIN item ON a = k GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT sum(CASE WHEN t LIKE '%tin%' THEN v ELSE 0 END) FROM sale JOIN item ON a = k AND (t LIKE 'PROMO%' OR n > x);
-- What might fail, or changes nothing, stays with core.
EXPLAIN (COSTS OFF) SELECT date_part('hour', d), sum(v) FROM sale JOIN item ON a = k GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT substring(t FROM 1 FOR n), sum(v) FROM sale JOIN item ON a = k GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT sum(v) FILTER (WHERE t LIKE pattern) FROM sale JOIN item ON a = k;
RESET gpujoin.force;

-- Parts of dates and times.
SELECT part, c.* FROM unnest(ARRAY['year', 'month', 'day', 'quarter', 'week', 'dow', 'doy', 'isoyear', 'isodow', 'decade', 'century', 'millennium', 'epoch']) AS part,
    compare_nodes(format('SELECT extract(%1$s FROM d), count(*), sum(v), min(x) FROM sale JOIN item ON a = k GROUP BY 1', part)) AS c ORDER BY part;
SELECT part, kind, c.* FROM unnest(ARRAY['year', 'month', 'day', 'quarter', 'week', 'dow', 'doy', 'isoyear', 'isodow', 'decade', 'century', 'millennium', 'epoch', 'hour', 'minute', 'second', 'milliseconds', 'microseconds']) AS part, unnest(ARRAY['ts', 'tz']) AS kind,
    compare_nodes(format('SELECT extract(%1$s FROM %2$s), date_part(%1$L, %2$s), count(*), sum(v), min(x) FROM sale JOIN item ON a = k GROUP BY 1, 2', part, kind)) AS c ORDER BY part, kind;
SELECT part, c.* FROM unnest(ARRAY['hour', 'minute', 'second', 'milliseconds', 'microseconds']) AS part, compare_nodes(format('SELECT extract(%1$s FROM ti), count(*), sum(v), min(x) FROM sale JOIN item ON a = k GROUP BY 1', part)) AS c ORDER BY part;
-- Patterns and parts of texts: of keys, arguments, FILTERs and conditions of joins.
SELECT * FROM compare_all(ARRAY[
    'SELECT sum(CASE WHEN t LIKE ''PROMO%'' THEN v END), sum(CASE WHEN t NOT LIKE ''%tin%'' THEN v ELSE 0 END), count(*) FILTER (WHERE t LIKE ''_____ %''), count(*) FILTER (WHERE ch LIKE ''SM%''), count(*) FILTER (WHERE ch NOT LIKE ''%BOX'') FROM sale JOIN item ON a = k', 'SELECT t LIKE ''gr__e%'', t LIKE '''', ch LIKE ''%'', count(*), sum(v) FROM sale JOIN item ON a = k GROUP BY 1, 2, 3',
    'SELECT left(phone, 2), right(phone, -3), substring(phone FROM 4), count(*), sum(v) FROM sale JOIN item ON a = k GROUP BY 1, 2, 3', 'SELECT substring(t FROM -2 FOR 5), substr(t, 3, 0), substr(t, 2), count(*) FROM sale JOIN item ON a = k GROUP BY 1, 2, 3', 'SELECT substring(t FROM 2147483647 FOR 2147483647), length(t), length(ch), count(*) FROM sale JOIN item ON a = k GROUP BY 1, 2, 3', 'SELECT ltrim(ch::text), btrim(t), rtrim(t), count(*), max(v) FROM sale JOIN item ON a = k GROUP BY 1, 2, 3',
    'SELECT count(*), sum(v) FROM sale JOIN item ON a = k AND (t LIKE ''PROMO%'' OR n > x)', 'SELECT t, count(*) FROM sale LEFT JOIN item ON a = k AND (t LIKE ''%tin%'' OR extract(year FROM d) = 2020 AND n > x) GROUP BY t', 'SELECT count(*) FROM sale WHERE EXISTS (SELECT FROM item WHERE a = k AND (t LIKE ''%t%'' OR extract(month FROM ts) < x))', 'SELECT extract(year FROM d), phone LIKE ''11%'', count(*), sum(v) FROM sale LEFT JOIN item ON a = k GROUP BY 1, 2', 'SELECT substring(phone FROM 1 FOR 2), count(*), sum(v) FROM sale FULL JOIN item ON a = k GROUP BY 1']);
-- Errors of rows without partners are none; those of others are core's.
SELECT * FROM compare_all(ARRAY['SELECT substring(t FROM 1 FOR n), sum(v) FROM sale JOIN item ON a = k AND n >= 0 GROUP BY 1', 'SELECT sum(v) FILTER (WHERE t LIKE pattern) FROM sale JOIN item ON a = k AND pattern LIKE ''P%''', 'SELECT sum(v) FILTER (WHERE t LIKE ''a\\b'') FROM sale JOIN item ON a = k', 'SELECT date_trunc(''year'', ts), sum(v) FROM sale JOIN item ON a = k AND ts > ''2000-01-01'' GROUP BY 1']);
SELECT substring(t FROM 1 FOR n), sum(v) FROM sale JOIN item ON a = k GROUP BY 1;
SELECT sum(v) FILTER (WHERE t LIKE pattern) FROM sale JOIN item ON a = k;
SELECT sum(v) FILTER (WHERE t LIKE 'a\') FROM sale JOIN item ON a = k;
SELECT extract(hour FROM d), sum(v) FROM sale JOIN item ON a = k GROUP BY 1;
SELECT extract(fortnight FROM ts), sum(v) FROM sale JOIN item ON a = k GROUP BY 1;

DROP TABLE sale, item;
