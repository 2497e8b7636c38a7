#!/usr/bin/env python3
"""Measures the reading of wide rows below a join against the server that PGHOST, PGPORT, PGUSER and PGDATABASE name, and
prints a table. Called by test/bench/read, which makes the cluster.

Every figure is the time of the table's scan in EXPLAIN ANALYZE, divided by its rows, in the process that it is an average
of; the median of some runs, by turns with all others, after one that is not counted.
"""
import argparse
import json
import pathlib
import statistics
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent)]
sys.dont_write_bytecode = True
import libpq
import results

COLUMNS = """i AS lo_orderkey, i % 7 + 1 AS lo_linenumber, i % 20000 * 7919 % 30000 AS lo_custkey, i % 20000 * 104729 % 200000 AS lo_partkey,
    i * 13 % 2000 AS lo_suppkey, 19920101 + i % 2557 AS lo_orderdate,
    {priority} AS lo_orderpriority, '0'::char(1) AS lo_shippriority, i % 50 AS lo_quantity, i % 99999 AS lo_extendedprice,
    i % 999999 AS lo_ordtotalprice, i % 11 AS lo_discount, i % 88888 AS lo_revenue, i % 77777 AS lo_supplycost, i % 9 AS lo_tax,
    19920101 + i % 2557 AS lo_commitdate, (ARRAY['AIR', 'RAIL', 'TRUCK', 'REG AIR'])[i % 4 + 1]::char(10) AS lo_shipmode"""
PRIORITIES = {
    "lineorder": "(ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '5-LOW'])[i % 4 + 1]::char(15)",
    "lineorder_text": "left('4-NOT SPECIFIED AT ALL', i * 13 % 23)",
}
# What is read, the table, and the column that the query sums up.
QUERIES = [
    ("columns in front", "lineorder", "lo_suppkey"),
    ("one behind char(15)", "lineorder", "lo_revenue"),
    ("four behind char(15)", "lineorder", "lo_revenue + lo_discount + lo_quantity + lo_commitdate"),
    ("one behind text", "lineorder_text", "lo_revenue"),
]


def make_tables(db, rows):
    for name, priority in PRIORITIES.items():
        found = db.value(f"SELECT coalesce(max(reltuples), 0)::bigint FROM pg_class WHERE oid = to_regclass('{name}')")
        if found == str(rows):
            continue
        print(f"making {name}", file=sys.stderr)
        db.execute(f"DROP TABLE IF EXISTS {name};"
                   f"CREATE TABLE {name} AS SELECT {COLUMNS.format(priority=priority)} FROM generate_series(1, {rows}) AS i")
        db.execute(f"VACUUM (FREEZE, ANALYZE) {name}")
    db.execute("DROP TABLE IF EXISTS few_customers;"
               "CREATE TABLE few_customers AS SELECT i * 100 AS c_custkey FROM generate_series(1, 100) AS i;"
               "ANALYZE few_customers")


def find_scan(node, table):
    if node.get("Relation Name") == table:
        return node
    return next(filter(None, (find_scan(child, table) for child in node.get("Plans", []))), None)


def nanoseconds(db, settings, table, column):
    """Of the table's scan, a row in each process."""
    db.execute(settings)
    query = f"SELECT sum({column}) FROM {table} JOIN few_customers ON lo_custkey = c_custkey"
    plan = json.loads("\n".join(r[0] for r in db.execute(f"EXPLAIN (ANALYZE, FORMAT json) {query}")))
    scan = find_scan(plan[0]["Plan"], table)
    return 1e6 * scan["Actual Total Time"] / scan["Actual Rows"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--results", help="file in which they are kept")
    parser.add_argument("--machine", required=True)
    options = parser.parse_args()
    db = libpq.Connection()
    db.execute("SET client_min_messages = error; SET jit = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0")
    make_tables(db, options.rows)
    joins = {"GPU Join": "SET gpujoin.enabled = on; SET gpujoin.force = on;", "core": "SET gpujoin.enabled = off;"}
    processes = {"serial": 0, f"{options.workers} workers": options.workers}
    cells = [(query, join, process) for query in QUERIES for join in joins for process in processes]
    times = {cell: [] for cell in cells}
    for run in range(options.runs + 1):
        for cell in cells:
            (_, table, column), join, process = cell
            settings = joins[join] + f"SET max_parallel_workers_per_gather = {processes[process]};"
            times[cell].append(nanoseconds(db, settings, table, column))
    print(f"{options.machine}; {options.rows:,} rows; ns a row and process, medians of {options.runs} runs\n")
    kept = results.Results(options.results, results.head_of("read", options.machine, db))
    for query in QUERIES:
        medians = {f"{join}, {process}": statistics.median(times[query, join, process][1:])
                   for join in joins for process in processes}
        kept.show({"table": "reading", "columns": query[0], "ns": medians})


main()
