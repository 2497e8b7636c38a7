-- Stretches of kept rows that are skipped, since none of them can meet the conditions by the least and the greatest value that the
-- stretch has: the same rows as core's, and how many were skipped. The cluster has gpujoin.keep_memory set.
\set ECHO none
\i sql/include/kept.sql
\set ECHO all
SET max_parallel_workers_per_gather = 0;
-- In the order in which they came: a number, a day, an amount, a float, and times that are NULL for some days. k is in no order.
CREATE TABLE bounded (id integer, d date, p numeric(12, 2), f double precision, ts timestamp, k integer, t text);
INSERT INTO bounded SELECT i, '2024-01-01'::date + i / 1000, i / 4.0, CASE WHEN i = 77777 THEN 'NaN' ELSE i / 8.0 - 5000 END,
    CASE WHEN i / 1000 % 50 < 40 THEN '2024-01-01'::timestamp + i * interval '1 minute' END, i * 7919 % 1000, 't' || i % 10 FROM generate_series(0, 119999) AS i;
CREATE TABLE few_ids AS SELECT i * 1000 AS id, i AS n FROM generate_series(0, 119) AS i;
VACUUM (ANALYZE) bounded, few_ids;
SELECT gpujoin_keep('bounded') > 1000 AS kept;

-- skipped: that many of the 120,000 rows were, in ten thousands, of the source or of a build side.
CREATE FUNCTION skipped_by(query text) RETURNS integer LANGUAGE plpgsql SET gpujoin.force = on AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT sum(n::integer) / 10000 FROM jsonb_path_query(plan, 'strict $.**."Rows Skipped"') AS n);
END $$;
CREATE FUNCTION compare_bounded(queries text[]) RETURNS TABLE (n bigint, chunks integer, skipped integer, "rows" integer, missing bigint, extra bigint)
LANGUAGE sql AS $$
SELECT q.n, r.chunks, skipped_by(q.query), r.rows, r.missing, r.extra FROM unnest(queries) WITH ORDINALITY AS q (query, n), compare_kept(q.query, 3) AS r
$$;
CREATE TABLE bounded_query (n serial, query text);
INSERT INTO bounded_query (query) VALUES
    ('SELECT count(*), sum(k) FROM bounded WHERE d BETWEEN ''2024-02-10'' AND ''2024-02-20'''),
    ('SELECT count(*), sum(k), min(p) FROM bounded WHERE id < 1000 OR id >= 119000'),
    ('SELECT count(*), sum(k) FROM bounded WHERE NOT (id BETWEEN 1000 AND 118999)'),
    ('SELECT count(*), sum(p) FROM bounded WHERE f > 9990'),
    ('SELECT count(*), sum(k) FROM bounded WHERE p = 1234.25 OR d = ''2024-03-01'''),
    ('SELECT count(*), sum(k) FROM bounded WHERE ts IS NULL'),
    ('SELECT count(*), sum(k) FROM bounded WHERE ts < ''2024-01-05'' OR ts IS NULL AND d > ''2024-04-20'''),
    ('SELECT count(*), sum(id) FROM bounded WHERE k = 5'),
    ('SELECT count(*), sum(id) FROM bounded WHERE d = ''2024-03-01'' AND t = ''t3'''),
    ('SELECT count(*), sum(id) FROM bounded WHERE d > ''2030-01-01'''),
    ('SELECT t, count(*), sum(p) FROM bounded WHERE id BETWEEN 60000 AND 61000 AND k IN (3, 4, 5, 6) GROUP BY t'),
    ('SELECT id, p, t FROM bounded WHERE id BETWEEN 60000 AND 60020 OFFSET 0'),
    ('SELECT count(*), sum(b.k) FROM bounded AS b JOIN few_ids USING (id) WHERE b.d >= ''2024-04-01'''),
    ('SELECT n, k FROM few_ids LEFT JOIN (SELECT * FROM bounded WHERE id < 30000) AS b USING (id)');
SELECT * FROM compare_bounded((SELECT array_agg(query ORDER BY n) FROM bounded_query));

-- Where blocks have changed, and rows have come, their rows are read, whatever the bounds say.
UPDATE bounded SET d = '2024-02-15', k = 1000 WHERE id % 10000 = 77;
INSERT INTO bounded SELECT i, '2024-02-12', 1, 1, NULL, 7, 'new' FROM generate_series(1, 500) AS i;
SELECT * FROM compare_bounded((SELECT array_agg(query ORDER BY n) FROM bounded_query));
SELECT gpujoin_forget('bounded');
DROP TABLE bounded, few_ids, bounded_query;
