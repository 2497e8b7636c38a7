-- Every kind of join with one build side for all workers: rows without a partner and NULL keys on both sides,
-- matches that only one of several participants knows of, inputs of all shapes.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/parallel.sql
\set ECHO all
CREATE TABLE l AS
SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE i % 3000 END AS k, i % 3 AS g, i AS v, 'left ' || i AS t
FROM generate_series(1, 9000) AS i;
CREATE TABLE r AS
SELECT CASE WHEN i % 11 = 0 THEN NULL ELSE 1500 + i % 2500 END AS k, i % 4 AS g, i AS v, 'right ' || i AS t
FROM generate_series(1, 6000) AS i;
CREATE TABLE nothing (k integer, g integer, v integer, t text);
CREATE TABLE parts (k integer, v integer) PARTITION BY RANGE (v);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (5000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (5000) TO (9000);
INSERT INTO parts SELECT i % 4000, i FROM generate_series(0, 8999) AS i;
ANALYZE l, r, nothing, parts;

-- Decided by the server (equality, range), and by the participants (residual).
SELECT kind, condition, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.k = r.k',
                  'l.k = r.k AND l.g = r.g',
                  'l.k = r.k AND (l.v::numeric + r.v) % 3 = 0',
                  'l.k = r.k AND (l.v::numeric + r.v) < 0',
                  'l.k = r.k AND l.v BETWEEN r.v - 3000 AND r.v + 100']) WITH ORDINALITY AS conditions (condition, b),
     compare_parallel(format('SELECT l.*, r.* FROM l %s JOIN r ON %s', kind, condition)) AS c
ORDER BY a, b;
SELECT kind, condition, c.*
FROM unnest(ARRAY['EXISTS', 'NOT EXISTS']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.k = r.k',
                  'l.k = r.k AND (l.v + r.v) % 3 = 0',
                  'l.k = r.k AND l.t < r.t || ''x''']) WITH ORDINALITY AS conditions (condition, b),
     compare_parallel(format('SELECT * FROM l WHERE %s (SELECT FROM r WHERE %s)', kind, condition)) AS c
ORDER BY a, b;
-- The side that is kept is much smaller, and becomes the build side.
SELECT kind, condition, c.*
FROM unnest(ARRAY['EXISTS', 'NOT EXISTS']) WITH ORDINALITY AS kinds (kind, a),
     unnest(ARRAY['l.k = r.k',
                  'l.k = r.k AND (l.v + r.v) % 30 = 0']) WITH ORDINALITY AS conditions (condition, b),
     compare_parallel(format('SELECT * FROM r WHERE v < 400 AND %s (SELECT FROM l WHERE %s)', kind, condition)) AS c
ORDER BY a, b;
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT * FROM r WHERE v < 400 AND NOT EXISTS (SELECT FROM l WHERE l.k = r.k);
RESET gpujoin.force;
SELECT * FROM compare_parallel('SELECT * FROM l WHERE k IN (SELECT k FROM r)');
SELECT * FROM compare_parallel('SELECT * FROM l FULL JOIN r ON l.k = r.k WHERE coalesce(l.v, 0) + coalesce(r.v, 0) > 9000');
SELECT * FROM compare_parallel('SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE r.k IS NULL');

-- Participants: a leader alone, though workers were planned; workers alone; all of them.
SELECT workers, leader, launched, kind, c.*
FROM (VALUES (1, true, 8), (3, true, 8), (3, false, 8), (2, true, 0), (3, true, 1)) AS settings (workers, leader, launched),
     unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare_workers(format('SELECT l.v, r.t FROM l %s JOIN r ON l.k = r.k AND l.v + r.v > 4000', kind), workers, leader, launched) AS c;

-- Empty sides.
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare_parallel(format('SELECT * FROM l %s JOIN nothing ON l.k = nothing.k', kind)) AS c;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare_parallel(format('SELECT * FROM nothing %s JOIN r ON r.k = nothing.k', kind)) AS c;

-- Partitions, set operations, joins above joins, aggregates; rows that are too wide for one batch.
SELECT * FROM compare_parallel('SELECT p.v, r.v AS rv FROM parts p FULL JOIN r ON p.k = r.k');
SELECT * FROM compare_parallel('SELECT p.k, r.v FROM r JOIN (SELECT k FROM parts UNION ALL SELECT k FROM l) p ON p.k = r.k AND r.v < 5000');
SELECT * FROM compare_parallel('SELECT a.v, b.v AS bv, c.t FROM l a JOIN r b ON a.k = b.k FULL JOIN l c ON b.v = c.v');
SELECT * FROM compare_parallel('SELECT r.g, count(*), sum(l.v), max(l.t) FROM l RIGHT JOIN r ON l.k = r.k GROUP BY r.g');
SELECT * FROM compare_parallel('SELECT l.v, md5(w.t) FROM l JOIN (SELECT k, repeat(t, 3000) AS t FROM r WHERE v < 600) w ON l.k = w.k');

-- A build side that comes in one piece: a copy for each participant, unless build rows may be preserved.
SET gpujoin.force = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM l LEFT JOIN generate_series(1, 100) n ON l.k = n;
SELECT kind, c.*
FROM unnest(ARRAY['INNER', 'LEFT', 'RIGHT', 'FULL']) AS kind,
     compare(format('SELECT count(*), sum(l.v), count(n) FROM l %s JOIN generate_series(-10, 100) n ON l.k = n', kind)) AS c;
SELECT * FROM compare('SELECT * FROM l WHERE EXISTS (SELECT FROM generate_series(-10, 100) n WHERE l.k = n AND l.v + n > 3000)');
DROP TABLE l, r, nothing, parts;
