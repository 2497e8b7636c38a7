-- EXPLAIN: what is shown, in all formats.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE a AS SELECT i AS k, i % 10 AS g, 'a' || i AS t FROM generate_series(1, 3000) AS i;
CREATE TABLE b AS SELECT i AS k, i % 20 AS g, 'b' || i AS t FROM generate_series(1, 2000) AS i;
ANALYZE a, b;
SET gpujoin.force = on;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT a.t, b.t FROM a LEFT JOIN b ON a.k = b.k;
EXPLAIN (COSTS OFF) SELECT a.t, b.t FROM a FULL JOIN b ON a.k = b.k AND a.g::numeric + b.g > 3 WHERE coalesce(a.g, b.g) > 2;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.t FROM a WHERE EXISTS (SELECT FROM b WHERE a.k = b.k AND a.g = b.g + 1);
-- Fields of a record that a CTE makes have names; whatever joins it.
EXPLAIN (COSTS OFF, VERBOSE) WITH RECURSIVE up (k, g) AS (SELECT k, g FROM a WHERE k = 1 UNION ALL SELECT a.k, a.g FROM up JOIN a ON a.k = up.g)
    SEARCH BREADTH FIRST BY k SET place SELECT k FROM up ORDER BY place;
-- After a run.
\set ECHO none
\i sql/include/explain.sql
\set ECHO all
SELECT analyzed('SELECT a.t, b.t FROM a FULL JOIN b ON a.k = b.k AND a.g::numeric + b.g > 3 WHERE coalesce(a.g, b.g) > 2');
SELECT analyzed('SELECT a.t, b.t FROM a LEFT JOIN b ON a.k = b.k', 'json');
SELECT analyzed('SELECT a.t, b.t FROM a LEFT JOIN b ON a.k = b.k', 'yaml');
SELECT analyzed('SELECT a.t, b.t FROM a LEFT JOIN b ON a.k = b.k', 'xml');
-- Several joins in one node, and groups of their rows.
SELECT analyzed('SELECT a.t, b.t FROM a JOIN b ON a.k = b.k LEFT JOIN b c ON a.g = c.k');
SELECT analyzed('SELECT b.g, count(*), sum(a.k) FROM a JOIN b ON a.k = b.k LEFT JOIN b c ON a.g = c.k GROUP BY b.g');
SELECT analyzed('SELECT b.g, count(*), sum(a.k) FROM a JOIN b ON a.k = b.k LEFT JOIN b c ON a.g = c.k GROUP BY b.g', 'json');
SELECT analyzed('SELECT b.g, count(*), sum(a.k) FROM a JOIN b ON a.k = b.k LEFT JOIN b c ON a.g = c.k GROUP BY b.g', 'yaml');
SELECT analyzed('SELECT b.g, count(*), sum(a.k) FROM a JOIN b ON a.k = b.k LEFT JOIN b c ON a.g = c.k GROUP BY b.g', 'xml');
SET gpujoin.algorithm = 'hash';
EXPLAIN (COSTS OFF) SELECT a.t, b.t FROM a JOIN b ON a.k = b.k;
RESET gpujoin.algorithm;

-- With figures: valid in every format, and there.
CREATE FUNCTION explain_analyze(format text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    whole text := '';
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (ANALYZE, FORMAT %s) SELECT a.t, b.t FROM a JOIN b ON a.k = b.k', format) LOOP
        whole := whole || line || E'\n';
    END LOOP;
    RETURN whole;
END $$;
SELECT j->0->'Plan'->>'Custom Plan Provider' AS provider, j->0->'Plan'->'Build'->>'Rows' AS build_rows,
       (j->0->'Plan'->'Build'->>'Bytes')::bigint > 0 AS build_bytes, j->0->'Plan'->'Probe'->>'Rows' AS probe_rows,
       (j->0->'Plan'->'Probe'->>'Probe Time')::float8 >= 0 AS probe_time, j->0->'Plan' ? 'Device' AS device
FROM (SELECT explain_analyze('json')::jsonb AS j) s;
SELECT CASE WHEN EXISTS (SELECT FROM pg_config WHERE name = 'CONFIGURE' AND setting LIKE '%libxml%')
    THEN xml_is_well_formed_document(explain_analyze('xml')) ELSE true END AS well_formed;
SELECT regexp_replace(line, '[0-9.]+( ms)?$', 'N') FROM unnest(string_to_array(explain_analyze('yaml'), E'\n')) AS line
WHERE line ~ '^ *"?(Rows|Batches|Bytes|Append Time|Seal Time|Probe Time|Wait Time)"?:';
SELECT regexp_replace(line, '(bytes|append|seal|probe|waited|batches)=[0-9.]+', '\1=N', 'g')
FROM unnest(string_to_array(explain_analyze('text'), E'\n')) AS line WHERE line ~ '^ *(Build|Probe):';
-- What the planner expected, by what costs it: with VERBOSE and COSTS only, in every format.
CREATE FUNCTION explain_verbose(options text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (VERBOSE, %s) SELECT a.t, b.t FROM a JOIN b ON a.k = b.k', options) LOOP
        RETURN NEXT line;
    END LOOP;
END $$;
SELECT regexp_replace(line, '=[0-9.]+', '=N', 'g')
FROM explain_verbose('FORMAT TEXT') AS line WHERE line LIKE '%Predicted%';
SELECT jsonb_object_keys(line::jsonb->0->'Plan'->'Predicted Cost') AS term
FROM explain_verbose('FORMAT JSON') AS line ORDER BY 1;
SELECT count(*) FROM explain_verbose('COSTS OFF') AS line
WHERE line LIKE '%Predicted%';
-- The terms add up to the cost, where it competes with core's.
RESET gpujoin.force;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT abs(sum(value::float8) - max((line::jsonb->0->'Plan'->>'Total Cost')::float8)) < 0.1 AS terms_add_up,
       bool_and(value::float8 >= 0) AS none_is_negative
FROM explain_verbose('FORMAT JSON') AS line, jsonb_each_text(line::jsonb->0->'Plan'->'Predicted Cost');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
SET gpujoin.force = on;
DROP FUNCTION explain_verbose;
-- Without ANALYZE nothing runs, with and without a server to ask.
EXPLAIN (COSTS OFF) SELECT 1 / (a.g - a.g) FROM a JOIN b ON a.k = b.k;
-- Several runs of one node.
SELECT analyzed('SELECT g, (SELECT count(*) FROM a JOIN b ON a.k = b.k WHERE b.g = s.g) FROM generate_series(1, 3) AS s(g)');
DROP FUNCTION explain_analyze, analyzed;
DROP TABLE a, b;
