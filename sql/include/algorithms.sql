-- Comparisons of joins of two tables, l and r, with core's, on every algorithm: one that cannot do a join is replaced
-- by one that can, so that the rows are the same always.
\i sql/include/compare.sql

-- The join of one kind. Core knows no FULL JOIN on a range, so for core it is put together of what it does know.
CREATE OR REPLACE FUNCTION join_of(kind text, condition text, for_core boolean) RETURNS text LANGUAGE sql AS $$
SELECT format(CASE
    WHEN kind LIKE '%EXISTS' THEN 'SELECT l.* FROM l WHERE %1$s (SELECT FROM r WHERE %2$s)'
    WHEN kind = 'FULL' AND for_core THEN 'SELECT l.*, r.* FROM l LEFT JOIN r ON %2$s UNION ALL
        SELECT (NULL::l).*, r.* FROM r WHERE NOT EXISTS (SELECT FROM l WHERE %2$s)'
    ELSE 'SELECT l.*, r.* FROM l %1$s JOIN r ON %2$s' END, kind, condition)
$$;

CREATE OR REPLACE FUNCTION sorted_rows(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    lines text[];
BEGIN
    EXECUTE format('SELECT array_agg(q::text ORDER BY q::text COLLATE "C") FROM (%s) AS q', query) INTO lines;
    RETURN coalesce(lines, '{}');
END $$;

-- Runs a query with GPU Join on each algorithm, and one of the same rows with core's joins. taken: the plan has a
-- GPU Join. differ: the algorithms whose rows, as multisets, are not core's.
CREATE OR REPLACE FUNCTION compare_algorithms(query text, for_core text, OUT taken boolean, OUT rows bigint, OUT differ text)
LANGUAGE plpgsql AS $$
DECLARE
    expected text[];
    name text;
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    expected := sorted_rows(for_core);
    rows := cardinality(expected);
    PERFORM set_config('gpujoin.enabled', 'on', true), set_config('gpujoin.force', 'on', true);
    SELECT bool_or(line LIKE '%Custom Scan (GPU Join)%') INTO taken FROM plan_of(query) AS line;
    FOREACH name IN ARRAY ARRAY['auto', 'hash', 'index', 'sort_merge', 'nested_loop'] LOOP
        PERFORM set_config('gpujoin.algorithm', name, true);
        IF sorted_rows(query) <> expected THEN differ := concat_ws(', ', differ, name); END IF;
    END LOOP;
    PERFORM set_config('gpujoin.algorithm', 'auto', true), set_config('gpujoin.force', 'off', true);
END $$;

-- The same for every kind of join on a condition. rows: of INNER, LEFT, RIGHT, FULL, semi and anti joins.
CREATE OR REPLACE FUNCTION compare_kinds(condition text, OUT taken boolean, OUT rows bigint[], OUT differ text)
LANGUAGE sql AS $$
SELECT bool_and(c.taken), array_agg(c.rows ORDER BY i),
       string_agg(kind || ': ' || c.differ, '; ' ORDER BY i)
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL', 'EXISTS', 'NOT EXISTS']) WITH ORDINALITY AS kinds (kind, i),
     compare_algorithms(join_of(kind, condition, false), join_of(kind, condition, true)) AS c
$$;
