-- Which joins are planned as GPU Join, in which shape, and which are left to core.
-- Rows are wanted here, not groups.
SET gpujoin.aggregate = off;
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE SCHEMA planning;
SET search_path = planning, public;
SET client_min_messages = warning;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE small (
    id int, i2 int2, i8 int8, o oid, f4 float4, f8 float8, n numeric, b bool, c "char", d date, t time,
    ts timestamp, tz timestamptz, x text COLLATE "C", xi text COLLATE "en-x-icu", xn text COLLATE nocase,
    v varchar(9) COLLATE "C", bp char(5) COLLATE "C", nm name, ba bytea, u uuid, m mood, iv interval, a int[],
    r int4range, j jsonb);
CREATE TABLE big (LIKE small);
CREATE TABLE other (LIKE small);
INSERT INTO small (id, i2, i8) SELECT i, i, i FROM generate_series(1, 100) i;
INSERT INTO big (id, i2, i8) SELECT i, i, i FROM generate_series(1, 1000) i;
INSERT INTO other (id, i2, i8) SELECT i, i, i FROM generate_series(1, 10) i;
ANALYZE small, big, other;
SET gpujoin.force = on;
SET gpujoin.startup_cost = 50;  -- what else they cost decides between joins of few rows

-- Every join type; core has no FULL JOIN on a range.
EXPLAIN (COSTS OFF) SELECT big.id, small.i2 FROM big JOIN small ON big.id = small.id;
EXPLAIN (COSTS OFF) SELECT * FROM big LEFT JOIN small ON big.id = small.id;
EXPLAIN (COSTS OFF) SELECT * FROM small LEFT JOIN big ON big.id = small.id;
EXPLAIN (COSTS OFF) SELECT * FROM big FULL JOIN small ON big.id = small.id;
EXPLAIN (COSTS OFF) SELECT * FROM big FULL JOIN small ON big.id < small.id;
EXPLAIN (COSTS OFF) SELECT * FROM big WHERE EXISTS (SELECT FROM small WHERE big.id = small.id AND big.i8 > small.i8);
EXPLAIN (COSTS OFF) SELECT id FROM small WHERE EXISTS (SELECT FROM big WHERE big.id = small.id AND big.i8 > small.i8);
EXPLAIN (COSTS OFF) SELECT * FROM big WHERE NOT EXISTS (SELECT FROM small WHERE big.id = small.id);
EXPLAIN (COSTS OFF) SELECT * FROM small WHERE NOT EXISTS (SELECT FROM big WHERE big.id = small.id);
EXPLAIN (COSTS OFF) SELECT * FROM big LEFT JOIN small ON big.id = small.id WHERE small.id IS NULL;
EXPLAIN (COSTS OFF)
    SELECT * FROM big, other
    WHERE (big.id, other.id) IN (SELECT id % 3, id % 5 FROM big);

-- Join conditions and conditions above the join are kept apart.
EXPLAIN (COSTS OFF)
    SELECT * FROM big LEFT JOIN small ON big.id = small.id AND big.i8 = 5 AND small.i2 = 1 AND big.x ~ 'a'
    WHERE small.i8 IS NULL OR small.i8 = big.i8;
EXPLAIN (COSTS OFF) SELECT * FROM big FULL JOIN small ON big.id = small.id AND big.b AND small.i2 = 1;

-- Equality of every encodable type, written either way round.
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l JOIN small s ON
        l.id = s.id AND l.i2 = s.i2 AND l.i8 = s.i8 AND l.o = s.o AND l.f4 = s.f4 AND l.f8 = s.f8 AND
        l.n = s.n AND l.b = s.b AND l.c = s.c AND l.d = s.d AND l.ts = s.ts AND l.t = s.t AND l.tz = s.tz AND
        l.x = s.x AND l.xi = s.xi AND l.v = s.v AND l.bp = s.bp AND l.nm = s.nm AND
        l.ba = s.ba AND l.u = s.u AND l.m = s.m;
-- Across types.
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l JOIN small s ON
        s.id = l.i2 AND l.id = s.i8 AND s.f8 = l.f4 AND l.d = s.ts AND s.nm = l.x AND l.o = s.m::text::regtype;
-- Other hashable types by their hash, with the condition as residual.
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l JOIN small s ON l.iv = s.iv AND s.a = l.a AND l.r = s.r AND l.j = s.j;
-- Expressions over several relations of one side.
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l JOIN big s ON l.id = s.id JOIN big o ON l.i8 + s.i8 = o.id;

-- Ranges and filters; what has no order that bytes have is residual. Sums are computed without overflow.
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l JOIN small s ON l.id BETWEEN s.id - 100 AND s.id + 100 AND s.i2 + 1 <> l.i2;
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l JOIN small s ON
        l.i8 > s.i2 AND l.o <= s.o AND s.f8 < l.f4 AND l.n >= s.n AND l.d < s.ts AND l.t < s.t AND
        l.tz < s.tz AND l.x < s.x AND l.nm > s.nm AND l.bp < s.bp AND l.ba < s.ba;
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l JOIN small s ON l.id = s.id AND l.xi < s.xi AND l.u < s.u AND l.m < s.m;

-- Conditions on range types are comparisons of bounds, shown as what they are.
EXPLAIN (COSTS OFF) SELECT 1 FROM big l JOIN small s ON s.r @> l.id;
EXPLAIN (COSTS OFF) SELECT 1 FROM big l JOIN small s ON l.r && s.r AND l.d <@ daterange(s.d, s.ts::date);

-- Residual conditions: SubPlans, volatile functions; and disjunctions, which are filters.
EXPLAIN (COSTS OFF) SELECT 1 FROM big l JOIN small s ON l.id = s.id AND (l.i2 = 1 OR s.i2 = 2) AND random() < 2;
EXPLAIN (COSTS OFF)
    SELECT 1 FROM big l LEFT JOIN small s ON l.id = s.id AND (SELECT count(*) FROM other o WHERE o.id = l.i8 + s.i8) > 0;

-- Target lists: nothing, whole rows, system columns, expressions above an outer join, row locks.
EXPLAIN (COSTS OFF, VERBOSE) SELECT count(*) FROM (SELECT id FROM big) l JOIN (SELECT id FROM small) s USING (id);
EXPLAIN (COSTS OFF, VERBOSE)
    SELECT l, s, l.ctid, l.tableoid FROM (SELECT id, ctid, tableoid FROM big) l
    LEFT JOIN (SELECT id, coalesce(i8, 0) + 1 AS z FROM small) s ON l.id = s.id WHERE s.z IS DISTINCT FROM 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT big.id FROM big JOIN small USING (id) FOR UPDATE OF big;
EXPLAIN (COSTS OFF) UPDATE big SET i8 = small.i8 FROM small WHERE big.id = small.id;
EXPLAIN (COSTS OFF) DELETE FROM big USING small WHERE big.id = small.id;
EXPLAIN (COSTS OFF)
    MERGE INTO big USING small ON big.id = small.id
    WHEN MATCHED THEN UPDATE SET i8 = 0 WHEN NOT MATCHED THEN INSERT (id) VALUES (small.id);

-- Parameters: of a prepared statement, of an outer query, of an InitPlan.
PREPARE with_parameter (int) AS SELECT big.id FROM big LEFT JOIN small ON big.id = small.id + $1 AND big.i8 = $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE with_parameter (1);
EXPLAIN (COSTS OFF) SELECT (SELECT count(*) FROM big JOIN small ON big.id = small.id + other.id) FROM other;
SELECT regexp_replace(replace(line, ' (returns $0)', ''), '\$0', '(InitPlan 1).col1') AS plan
FROM plan_of('SELECT 1 FROM big JOIN small ON big.id = small.id AND big.i8 + small.i8 > (SELECT max(id) FROM other)') AS line;

-- Security barriers: nothing leaks ahead of the conditions that hide rows.
CREATE FUNCTION leak(int, int) RETURNS bool LANGUAGE plpgsql COST 0.001 AS 'BEGIN RETURN true; END';
CREATE VIEW barrier WITH (security_barrier) AS
    SELECT big.id, small.i2, big.n FROM big JOIN small ON big.id = small.id AND big.i8 < small.i8;
EXPLAIN (COSTS OFF) SELECT * FROM barrier WHERE leak(id, i2);
EXPLAIN (COSTS OFF) SELECT * FROM barrier JOIN other ON barrier.n = other.n AND leak(barrier.id, other.id);

-- Partitionwise.
CREATE TABLE pl (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE pl1 PARTITION OF pl FOR VALUES FROM (0) TO (100);
CREATE TABLE pl2 PARTITION OF pl FOR VALUES FROM (100) TO (200);
CREATE TABLE pr (LIKE pl) PARTITION BY RANGE (id);
CREATE TABLE pr1 PARTITION OF pr FOR VALUES FROM (0) TO (100);
CREATE TABLE pr2 PARTITION OF pr FOR VALUES FROM (100) TO (200);
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF) SELECT * FROM pl FULL JOIN pr USING (id);

-- Workers share the probe side where no build row need be known to be unmatched.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.startup_cost = 0;
SET gpujoin.encode_cost = 1;  -- what participants divide among themselves decides
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM big LEFT JOIN small ON big.id = small.id;
EXPLAIN (COSTS OFF) SELECT count(*) FROM big FULL JOIN small ON big.id = small.id;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET gpujoin.startup_cost = 50;
RESET gpujoin.encode_cost;
SET max_parallel_workers_per_gather = 0;

-- Left to core: nothing that could drive the join, keys that are volatile or have no encoding, LATERAL.
EXPLAIN (COSTS OFF) SELECT 1 FROM big, small;
EXPLAIN (COSTS OFF) SELECT 1 FROM big JOIN small ON big.id <> small.id;
EXPLAIN (COSTS OFF) SELECT 1 FROM big JOIN small ON big.id = small.id + (random() * 0)::int;
EXPLAIN (COSTS OFF) SELECT 1 FROM big JOIN small ON big.tz < small.ts;
EXPLAIN (COSTS OFF) SELECT 1 FROM big JOIN small ON big.xn = small.xn;
EXPLAIN (COSTS OFF) SELECT 1 FROM big JOIN small ON big.xi < small.xi;
EXPLAIN (COSTS OFF) SELECT 1 FROM big, LATERAL (SELECT * FROM small WHERE small.id = big.id LIMIT 1) s;
SELECT 1 FROM big FULL JOIN small ON big.xi < small.xi;
-- Also records whose fields only the plan below can name, where there is another way.
EXPLAIN (COSTS OFF) WITH c AS MATERIALIZED (SELECT id, ROW(i2, i8) AS r FROM small) SELECT c.r FROM c JOIN big ON big.id = c.id;
EXPLAIN (COSTS OFF) WITH c AS MATERIALIZED (SELECT id, ROW(i2, i8) AS r FROM small) SELECT big.i2 FROM c JOIN big ON big.id = c.id;

-- By cost: small joins stay with core, large ones and bands do not.
RESET gpujoin.force;
EXPLAIN (COSTS OFF) SELECT 1 FROM big JOIN small ON big.id = small.id;
CREATE TABLE large AS SELECT i AS id, i AS v FROM generate_series(1, 300000) i;
ANALYZE large;
EXPLAIN (COSTS OFF) SELECT l.v FROM large l JOIN large r ON l.id = r.id;
EXPLAIN (COSTS OFF) SELECT 1 FROM large l JOIN large r ON l.id BETWEEN r.v - 1 AND r.v + 1;
CREATE INDEX ON large (id);
EXPLAIN (COSTS OFF) SELECT l.v FROM large l JOIN other ON l.id = other.id;
-- Few rows that look up a band in an index, which core expects to find a ninth of the table each time.
EXPLAIN (COSTS OFF) SELECT other.id FROM other JOIN large ON large.id BETWEEN other.id - 1 AND other.id + 1;
EXPLAIN (COSTS OFF) SELECT other.id FROM large RIGHT JOIN other ON large.id BETWEEN other.id - 1 AND other.id + 1;
EXPLAIN (COSTS OFF) SELECT l.v FROM large l LEFT JOIN other ON l.id BETWEEN other.id - 1 AND other.id + 1;
SET gpujoin.enabled = off;
EXPLAIN (COSTS OFF) SELECT l.v FROM large l JOIN large r ON l.v = r.v;
DROP SCHEMA planning CASCADE;
