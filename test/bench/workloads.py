"""The SQL workloads of the benchmark: tables made by hash functions, so that every run everywhere has the same rows,
and one query each. Sizes are given; {rows} and {range_rows} are filled in."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Workload:
    """what: description, with sizes to be filled in; group: the tables it needs; as_large: the workload of as many rows in
    and out that it is to be compared with; memory: what the build side may take, in megabytes, of core's work_mem as of
    gpujoin's, with sizes to be filled in; empty: as much as it wants."""

    name: str
    what: str
    group: str
    query: str
    as_large: str = ""
    memory: str = ""


def _uniform(span, salt):
    """SQL of a value uniform in [0, span), by a hash of i."""
    return f"((hashint8extended(i, {salt}) & 9007199254740991) % ({span}))"


TABLES = {
    # Keys of bench_r are 0 .. rows - 1, each once, in no order; those of bench_s are drawn from them.
    "join": f"""
        CREATE TABLE bench_r AS SELECT (i * 1000003 % {{rows}})::int4 AS k, (i % 1000)::int4 AS c, 'row ' || i AS t
            FROM generate_series(0, {{rows}}::int8 - 1) i;
        CREATE TABLE bench_s AS SELECT {_uniform('{rows}', 1)}::int4 AS k, (i % 997)::int4 AS c, (i % 100)::int4 AS f
            FROM generate_series(0, {{rows}}::int8 - 1) i;
        CREATE TABLE bench_small AS SELECT (i * 200)::int4 AS k, (i % 1000)::int4 AS c
            FROM generate_series(0, {{rows}}::int8 / 200 - 1) i;""",
    # One key alone.
    "one_key": """
        CREATE TABLE bench_one AS SELECT 1 AS k, (i % 1000)::int4 AS c FROM generate_series(1, {one_key}) i;
        CREATE TABLE bench_other AS SELECT 1 AS k, (i % 1000)::int4 AS c FROM generate_series(1, {one_key}) i;
        CREATE TABLE bench_one_few AS SELECT k, c FROM bench_one LIMIT {one_key} / 10;
        CREATE TABLE bench_other_few AS SELECT k, c FROM bench_other LIMIT {one_key} / 10;""",
    "band0": f"""
        CREATE TABLE bench_b0x AS SELECT {_uniform('100::int8 * {range_rows} / 100', 2)}::int4 AS x FROM generate_series(1, {{range_rows}}::int8 / 100) i;
        CREATE TABLE bench_b0y AS SELECT {_uniform('100::int8 * {range_rows} / 100', 3)}::int4 AS y FROM generate_series(1, {{range_rows}}::int8 / 100) i;""",
    "band1": f"""
        CREATE TABLE bench_b1x AS SELECT {_uniform('10::int8 * {range_rows}', 4)}::int4 AS x FROM generate_series(1, {{range_rows}}::int8) i;
        CREATE TABLE bench_b1y AS SELECT {_uniform('10::int8 * {range_rows}', 5)}::int4 AS y FROM generate_series(1, {{range_rows}}::int8) i;
        CREATE INDEX ON bench_b1y (y);""",
    "band2": f"""
        CREATE TABLE bench_b2l AS SELECT {_uniform('{range_rows} / 20', 6)}::int4 AS g, {_uniform('200000', 7)}::int4 AS t FROM generate_series(1, {{range_rows}}::int8 * 5) i;
        CREATE TABLE bench_b2r AS SELECT {_uniform('{range_rows} / 20', 8)}::int4 AS g, {_uniform('200000', 9)}::int4 AS t FROM generate_series(1, {{range_rows}}::int8 * 5) i;
        CREATE INDEX ON bench_b2r (g, t);""",
    "interval": f"""
        CREATE TABLE bench_point AS SELECT {_uniform('1000::int8 * {range_rows}', 10)}::int4 AS x FROM generate_series(1, {{range_rows}}::int8) i;
        CREATE TABLE bench_b3 AS SELECT lo, lo + {_uniform('4200', 11)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 12)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q;
        CREATE TABLE bench_b4l AS SELECT lo, lo + {_uniform('5100', 13)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 14)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q;
        CREATE TABLE bench_b4r AS SELECT lo, lo + {_uniform('5100', 15)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 16)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q;
        CREATE INDEX ON bench_b3 (lo, hi);
        CREATE INDEX ON bench_b4r (lo, hi);""",
    # The intervals of B3 and B4 with 100 more that span everything, and as many that are so long, all of them, that each
    # point and interval meets 100 more.
    "spanning": f"""
        CREATE TABLE bench_spanned AS SELECT {_uniform('1000::int8 * {range_rows}', 10)}::int4 AS x FROM generate_series(1, {{range_rows}}::int8) i;
        CREATE TABLE bench_span AS SELECT lo, lo + {_uniform('5100', 13)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 14)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q;
        CREATE TABLE bench_b3s AS SELECT lo, lo + {_uniform('4200', 11)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 12)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q
            UNION ALL SELECT -i, (1000::int8 * {{range_rows}} + 5000 + i)::int4 FROM generate_series(1, 100) i;
        CREATE TABLE bench_b3e AS SELECT lo, lo + {_uniform('204200', 11)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 12)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q;
        CREATE TABLE bench_b4s AS SELECT lo, lo + {_uniform('5100', 15)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 16)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q
            UNION ALL SELECT -i, (1000::int8 * {{range_rows}} + 5000 + i)::int4 FROM generate_series(1, 100) i;
        CREATE TABLE bench_b4e AS SELECT lo, lo + {_uniform('205100', 15)}::int4 AS hi
            FROM (SELECT i, {_uniform('1000::int8 * {range_rows}', 16)}::int4 AS lo FROM generate_series(1, {{range_rows}}::int8) i) q;""",
}

WORKLOADS = [
    Workload("J1", "{rows:,} x {rows:,}, int4 key, count and sum", "join",
             "SELECT count(*), sum(r.c) FROM bench_s s JOIN bench_r r ON s.k = r.k"),
    Workload("J2", "{small:,} x {rows:,}, int4 key, count and sum", "join",
             "SELECT count(*), sum(b.c) FROM bench_s s JOIN bench_small b ON s.k = b.k"),
    Workload("J4", "J1 with max of a text column and a filter", "join",
             "SELECT count(*), sum(r.c), max(r.t) FROM bench_s s JOIN bench_r r ON s.k = r.k WHERE s.f < 50"),
    Workload("S1", "J1 with max of a text column, {spill_memory} MB for the build side", "join",
             "SELECT count(*), sum(r.c), max(r.t) FROM bench_s s JOIN bench_r r ON s.k = r.k", memory="{spill_memory}"),
    Workload("S2", "{one_key:,} x {one_key:,}, semi join, all keys equal, {one_key_memory} MB", "one_key",
             "SELECT count(*), sum(c) FROM bench_one s WHERE EXISTS (SELECT FROM bench_other r WHERE r.k = s.k)",
             memory="{one_key_memory}"),
    Workload("S3", "{one_key_few:,} x {one_key_few:,}, all keys equal, pairs counted", "one_key",
             "SELECT count(*) FROM bench_one_few s JOIN bench_other_few r ON s.k = r.k"),
    Workload("B0", "{b0:,} x {b0:,}, band of 100 each way, no index", "band0",
             "SELECT count(*), sum(y) FROM bench_b0x JOIN bench_b0y ON x BETWEEN y - 100 AND y + 100"),
    Workload("B1", "{range_rows:,} x {range_rows:,}, band of 5 each way, index", "band1",
             "SELECT count(*), sum(y) FROM bench_b1x JOIN bench_b1y ON y BETWEEN x - 5 AND x + 5"),
    Workload("B2", "{b2:,} x {b2:,}, equality and band of 100 each way, index", "band2",
             "SELECT count(*), sum(r.t) FROM bench_b2l l JOIN bench_b2r r "
             "ON r.g = l.g AND r.t BETWEEN l.t - 100 AND l.t + 100"),
    Workload("B3", "{range_rows:,} points in {range_rows:,} intervals, index", "interval",
             "SELECT count(*), sum(hi) FROM bench_point JOIN bench_b3 ON x BETWEEN lo AND hi"),
    Workload("B4", "{range_rows:,} x {range_rows:,} overlapping intervals, index", "interval",
             "SELECT count(*), sum(r.hi) FROM bench_b4l l JOIN bench_b4r r ON l.lo <= r.hi AND r.lo <= l.hi"),
    Workload("B3L", "B3 with 100 intervals more that span everything", "spanning",
             "SELECT count(*), sum(hi) FROM bench_spanned JOIN bench_b3s ON x BETWEEN lo AND hi", as_large="B3E"),
    Workload("B3E", "B3 with all intervals so long that as many rows come out", "spanning",
             "SELECT count(*), sum(hi) FROM bench_spanned JOIN bench_b3e ON x BETWEEN lo AND hi"),
    Workload("B4L", "B4 with 100 intervals more that span everything", "spanning",
             "SELECT count(*), sum(r.hi) FROM bench_span l JOIN bench_b4s r ON l.lo <= r.hi AND r.lo <= l.hi", as_large="B4E"),
    Workload("B4E", "B4 with all intervals so long that as many rows come out", "spanning",
             "SELECT count(*), sum(r.hi) FROM bench_span l JOIN bench_b4e r ON l.lo <= r.hi AND r.lo <= l.hi"),
]


def sizes(rows, range_rows):
    build_bytes = 24  # of a row of bench_r: two integers, and the text
    return {"rows": rows, "small": rows // 200, "range_rows": range_rows, "b0": range_rows // 100, "b2": 5 * range_rows,
            "spill_memory": max(rows * build_bytes // 10 // 1_000_000, 1), "one_key": rows // 5, "one_key_few": rows // 50,
            "one_key_memory": max(rows // 5 * 4 // 10 // 1_000_000, 1)}
