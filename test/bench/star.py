#!/usr/bin/env python3
"""Measures the queries of a benchmark's schema through core's plan and with gpujoin against the server that PGHOST, PGPORT, PGUSER
and PGDATABASE name, and prints a table. Called by test/bench/star, which makes the cluster and says more.

Each side has a session of its own, and both plan by cost. Their runs take turns; the first of each is not counted, and
times are medians. Shares are of one more run, in EXPLAIN ANALYZE, of the time that a process spends in a node itself.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent)]
sys.dont_write_bytecode = True
import libpq
import results
from loader import Loader
from plans import is_ours
import order_schema
import star_schema

CORE_PLAN = "core's plan"
SCHEMAS = {"star": star_schema, "orders": order_schema}
SHARES = ("reading", "joins", "waiting", "above")
SIDES = {"core": ["gpujoin.enabled=off"], "gpujoin": ["gpujoin.enabled=on"]}


class Star:
    def __init__(self, options):
        self.options = options
        self.schema = SCHEMAS[options.schema]
        namespace = f"{options.schema}_{options.scale:g}{'_numeric' if options.numeric else ''}".replace(".", "_")
        self.sides = {side: self.connect(settings + (options.set if side == "gpujoin" else []))
                      for side, settings in SIDES.items()}
        Loader(options.load_sessions, kind="TABLE").make(self.sides["core"], namespace, self.schema.tables(options.scale, options.numeric))
        for db in self.sides.values():
            db.execute(f"SET search_path = {namespace}, public")

    def connect(self, settings):
        db = libpq.Connection()
        for setting in ["client_min_messages=error", "jit=off", f"work_mem={self.options.work_mem}", *settings]:
            name, _, value = setting.partition("=")
            db.execute(f"SET {name} = '{value}'")
        return db

    def measure(self, name, workers):
        for db in self.sides.values():
            db.execute(f"SET max_parallel_workers_per_gather = {workers}")
        expected, times = self.sides["core"].execute(self.schema.QUERIES[name]), {side: [] for side in SIDES}
        for turn in range(self.options.rounds + 1):
            for side in SIDES if turn % 2 else reversed(SIDES):
                began = time.perf_counter()
                found = self.sides[side].execute(self.schema.QUERIES[name])
                times[side].append(time.perf_counter() - began)
                if found != expected:
                    raise SystemExit(f"{name}: the rows of {side} are not core's:\n{first_difference(found, expected)}")
        core, gpujoin = (statistics.median(of[1:]) for of in times.values())
        if self.options.explain:
            self.explain(name)
        return self.key(name, workers) | {"rows": len(expected), "core": core, "gpujoin": gpujoin, "ratio": gpujoin / core,
                                          **self.shares(name)}

    def key(self, name, workers):
        return {"table": self.options.schema, "query": name, "scale": self.options.scale, "workers": workers,
                "amounts": "numeric" if self.options.numeric or self.options.schema == "orders" else "integer"}

    def shares(self, name):
        """What the plan has, and where its time goes."""
        lines = self.sides["gpujoin"].execute(f"EXPLAIN (ANALYZE, FORMAT json) {self.schema.QUERIES[name]}")
        run = json.loads("\n".join(row[0] for row in lines))[0]
        found = dict.fromkeys(SHARES, 0) | {"nodes": []}
        add_times(run["Plan"], 1, found)
        milliseconds = run["Execution Time"]
        has = [f"{found['nodes'].count(node)} {node}" for node in sorted(set(found["nodes"]))]
        return {"has": ", ".join(has) or CORE_PLAN} | {what: max(found[what], 0) / milliseconds for what in SHARES}

    def explain(self, name):
        for side, db in self.sides.items():
            plan = "\n".join(row[0] for row in db.execute(f"EXPLAIN (ANALYZE) {self.schema.QUERIES[name]}"))
            print(f"{name}, {side}:\n{plan}\n", file=sys.stderr)


def kind_of(node):
    if is_ours(node) or node["Node Type"].startswith("Hash") or node["Node Type"].endswith(("Join", "Nested Loop")):
        return "joins"
    return "above" if "Plans" in node else "reading"


def add_times(node, processes, found):
    """Adds up milliseconds by kinds of nodes: of a process, where several run a node. Returns the whole tree's."""
    children = node.get("Plans", [])
    below = children[0]["Actual Loops"] if node["Node Type"].startswith("Gather") else processes
    whole = node["Actual Total Time"] * node["Actual Loops"] / processes
    of_children = sum(add_times(child, max(below, 1), found) for child in children)
    # What is never executed passes on its children's rows: a node of ours runs these itself.
    if node["Actual Loops"] == 0:
        return of_children
    found[kind_of(node)] += whole - of_children
    if is_ours(node):
        found["nodes"].append(node["Custom Plan Provider"])
        found["waiting"] += sum(stage.get("Probe", {}).get("Wait Time", 0) for stage in [node, *node.get("Stages", [])])
    return whole


def first_difference(found, expected):
    place = next((n for n, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
    return f"row {place} of {len(found)}: {found[place:place + 1]}\nrow {place} of {len(expected)}: {expected[place:place + 1]}"


def geometric_mean(values):
    return math.exp(statistics.mean(map(math.log, values)))


def summary(rows):
    """The row below those of the queries."""
    times = {side: geometric_mean([row[side] for row in rows]) for side in SIDES}
    same = {name: rows[0][name] for name in ("table", "scale", "workers", "amounts")}
    return same | {"query": "geometric mean", **times, "ratio": times["gpujoin"] / times["core"]}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--schema", choices=SCHEMAS, default="star")
    parser.add_argument("--scale", type=float, default=1, help="1: 6 million facts")
    parser.add_argument("--numeric", action="store_true", help="amounts of type numeric(15, 2)")
    parser.add_argument("--workers", type=lambda text: list(map(int, text.split(","))), default=[0, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=lambda text: text.split(","), help="all of them by default")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the side with gpujoin")
    parser.add_argument("--explain", action="store_true", help="prints both plans as they ran")
    parser.add_argument("--work-mem", default="256MB")
    parser.add_argument("--load-sessions", type=int, default=min(os.cpu_count(), 16))
    parser.add_argument("--results", help="file in which they are kept")
    parser.add_argument("--machine", default="")
    options = parser.parse_args()
    known = SCHEMAS[options.schema].QUERIES
    options.queries = options.queries or list(known)
    if unknown := set(options.queries) - set(known):
        parser.error(f"unknown queries: {', '.join(sorted(unknown))}")
    return options


def main():
    options = parse_options()
    star = Star(options)
    kept = results.Results(options.results, results.head_of(options.schema, options.machine, star.sides["core"], command="star"))
    print(f"Machine: {options.machine}. PostgreSQL {kept.head['postgres']}, work_mem {options.work_mem}; "
          f"medians of {options.rounds} runs.\n")
    worst = []
    for workers in options.workers:
        rows = []
        for name in options.queries:
            rows.append(star.measure(name, workers))
            kept.show(rows[-1])
        kept.show(summary(rows))
        worst.append(max(rows, key=lambda row: row["ratio"]))
    print()
    for row in worst:
        print(f"{row['workers']} workers: the worst is {row['query']}, with {row['ratio']:.2f} times core's time.")


main()
