#!/usr/bin/env python3
"""Measures planning with and without gpujoin on the server that PGHOST, PGPORT, PGUSER and PGDATABASE name, and prints a
table. Called by test/bench/planning, which makes the cluster. The time is the processor's, as log_planner_stats tells
it: what else the machine does shows less in it."""
import argparse
import pathlib
import re
import statistics
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent)]
sys.dont_write_bytecode = True
import libpq
import results

TABLES = """
    CREATE TABLE plan_fact AS SELECT i AS id, {keys} FROM generate_series(1, {large}) i;
    CREATE TABLE plan_small AS SELECT * FROM plan_fact LIMIT 1000;
    ALTER TABLE plan_fact ADD PRIMARY KEY (id);
    ALTER TABLE plan_small ADD PRIMARY KEY (id);
"""
DIMENSION = """
    CREATE TABLE plan_{name}{n} AS SELECT i AS id, i % 7 AS c FROM generate_series(1, {rows}) i;
    ALTER TABLE plan_{name}{n} ADD PRIMARY KEY (id);
"""
LARGE, DIMENSION_ROWS = 100_000, 2_000


def star(fact, tables):
    names = [f"plan_d{n}" for n in range(1, tables)]
    conditions = [f"f.d{n} = plan_d{n}.id" for n in range(1, tables)]
    return f"SELECT count(*), sum(plan_d1.c) FROM {fact} f, {', '.join(names)} WHERE {' AND '.join(conditions)}"


def chain(name, tables):
    names = [f"plan_{name}{n}" for n in range(1, tables + 1)]
    conditions = [f"{a}.id = {b}.id" if n % 2 else f"{a}.c = {b}.id" for n, (a, b) in enumerate(zip(names, names[1:]))]
    return f"SELECT count(*) FROM {', '.join(names)} WHERE {' AND '.join(conditions)}"


def lookups(tables):
    names = [f"plan_c{n}" for n in range(1, tables + 1)]
    conditions = [f"{a}.id = {b}.id" for a, b in zip(names, names[1:])]
    return f"SELECT count(*) FROM {', '.join(names)} WHERE {names[0]}.id < 20 AND {' AND '.join(conditions)}"


SHAPES = {
    "star10": ("star of 10 tables, 100,000 x 2,000 rows", star("plan_fact", 10)),
    "chain8": ("chain of 8 tables, 50,000 rows", chain("c", 8)),
    "lookups8": ("8 tables by one key, few rows of 50,000 looked up", lookups(8)),
    "two": ("2 tables, 50,000 rows", chain("c", 2)),
    "star10small": ("star of 10 tables, 1,000 x 2,000 rows", star("plan_small", 10)),
    "chain8small": ("chain of 8 tables, 1,000 rows", chain("s", 8)),
    "twosmall": ("2 tables, 1,000 rows", chain("s", 2)),
}


def make_tables(db):
    if db.value("SELECT to_regclass('plan_done')") is not None:
        return
    keys = ", ".join(f"i * {n} % {DIMENSION_ROWS} + 1 AS d{n}" for n in range(1, 10))
    db.execute(TABLES.format(keys=keys, large=LARGE))
    for n in range(1, 10):
        db.execute(DIMENSION.format(name="d", n=n, rows=DIMENSION_ROWS))
        db.execute(DIMENSION.format(name="c", n=n, rows=50_000))
        db.execute(DIMENSION.format(name="s", n=n, rows=1_000))
    db.execute("VACUUM (ANALYZE)")
    db.execute("CREATE TABLE plan_done ()")


def planning_ms(db, notices, query, enabled):
    db.execute(f"SET gpujoin.enabled = {enabled}")
    notices.clear()
    db.execute(f"EXPLAIN {query}")
    user, system = re.search(r"PLANNER STATISTICS.*?([0-9.]+) s user, ([0-9.]+) s system", notices[-1], re.S).groups()
    return 1000 * (float(user) + float(system))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--shapes", default="all")
    parser.add_argument("--results", help="file in which they are kept")
    parser.add_argument("--machine", default="this machine")
    options = parser.parse_args()
    notices = []
    db = libpq.Connection(on_notice=notices.append)
    make_tables(db)
    db.execute("SET client_min_messages = log; SET log_planner_stats = on; SET max_parallel_workers_per_gather = 2; "
               "SET min_parallel_table_scan_size = '1MB'")
    print(f"Planning, {options.machine}; medians of {options.rounds}\n")
    kept = results.Results(options.results, results.head_of("planning", options.machine, db))
    for name in SHAPES if options.shapes == "all" else options.shapes.split(","):
        what, query = SHAPES[name]
        times = {"off": [], "on": []}
        for round in range(options.rounds + 5):
            for enabled in ("off", "on") if round % 2 else ("on", "off"):
                time = planning_ms(db, notices, query, enabled)
                if round >= 5:
                    times[enabled].append(time)
        off, on = statistics.median(times["off"]), statistics.median(times["on"])
        kept.show({"table": "planning", "shape": what, "core": off / 1000, "gpujoin": on / 1000, "ratio": on / off})


if __name__ == "__main__":
    main()
