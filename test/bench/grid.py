#!/usr/bin/env python3
"""Measures a grid of joins through core's best plan and through the best plan with a GPU Join, and prints whether the
planner's choice between them was right (section "joins"); the other sections, of whole statements, are in
statements.py. Called by test/bench/grid, which says more.

Both ways are planned by cost with as many workers as allowed: core's with gpujoin.enabled off, GPU Join's with core's
joins switched off. Their runs take turns, so that what else the machine does hits both; the times are medians.
"""
import argparse
import dataclasses
import itertools
import json
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
from plans import find_join
import statements

CORE = "SET gpujoin.enabled = off;"
GPUJOIN = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = off;"
FORCED = GPUJOIN + "SET gpujoin.force = on;"  # where the planner proposes no GPU Join
CHOICE = "RESET gpujoin.enabled; RESET gpujoin.force; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_nestloop;"
ENOUGH = 0.2  # seconds that a short statement is repeated for
BAND_WIDTH = 1000  # keys a band row: matches are rarer or more frequent by how dense the keys are


@dataclasses.dataclass(frozen=True)
class Case:
    """r joined with s; rate: matches that a row of s has, on average."""

    kind: str  # "equality" (inner join), "band", or other joins on an equality: "left", "full", "semi", "anti"
    r: int
    s: int
    rate: float
    wide: bool
    workers: int

    def r_table(self):
        """Keys 0, 1, ... once each, or each so many times; in no order."""
        if self.kind == "band":
            span = max(int(self.r * BAND_WIDTH / self.rate), 1)
            return f"grid_b_{self.r}_{span}", f"{uniform(span, 1)}::int4 AS k", True
        repeat = max(int(self.rate), 1)
        return (f"grid_r_{self.r}_{repeat}" + self.suffix(),
                f"(i * 1000003 % {self.r} / {repeat})::int4 AS k", False)

    def s_table(self):
        """Keys drawn from as many as give the rate."""
        span = max(int(self.r * (BAND_WIDTH if self.kind == "band" else 1) / self.rate), 1)
        return f"grid_s_{self.s}_{span}" + self.suffix(), f"{uniform(span, 2)}::int4 AS k", False

    def suffix(self):
        return "_wide" if self.wide else ""

    def tables(self):
        """(name, command) of each."""
        text = ", md5(i::text) || md5((i + 1)::text) || md5((i + 2)::text) AS t" if self.wide else ""
        for rows, (name, key, is_indexed) in ((self.r, self.r_table()), (self.s, self.s_table())):
            yield name, (f"CREATE TABLE {name} AS SELECT {key}, (i % 1000)::int4 AS c{text} "
                         f"FROM generate_series(0, {rows}::int8 - 1) i;"
                         + (f"CREATE INDEX ON {name} (k);" if is_indexed else ""))

    def query(self):
        half = BAND_WIDTH // 2
        condition = f"r.k BETWEEN s.k - {half} AND s.k + {half - 1}" if self.kind == "band" else "s.k = r.k"
        r, s = self.r_table()[0], self.s_table()[0]
        if self.kind in ("semi", "anti"):
            exists = "EXISTS" if self.kind == "semi" else "NOT EXISTS"
            return f"SELECT count(*), sum(s.c) FROM {s} s WHERE {exists} (SELECT FROM {r} r WHERE {condition})"
        wanted = "count(*), sum(r.c), sum(s.c)" + (", max(r.t), max(s.t)" if self.wide else "")
        outer = {"left": "LEFT", "full": "FULL"}.get(self.kind, "INNER")
        return f"SELECT {wanted} FROM {s} s {outer} JOIN {r} r ON {condition}"

    def row(self):
        return {"table": "choices", "join": self.kind, "r": self.r, "s": self.s, "rate": self.rate, "wide": self.wide,
                "workers": self.workers}


def uniform(span, salt):
    """SQL of a value uniform in [0, span), by a hash of i."""
    return f"((hashint8extended(i, {salt}) & 9007199254740991) % {span})"


def cases(options):
    sizes, workers = options.rows, options.workers
    for r, s, rate, wide, count in itertools.product(sizes, sizes, options.rates, (False, True), workers):
        yield Case("equality", r, s, rate, wide, count)
    for r, s, count in itertools.product(sizes, sizes, workers):
        yield Case("band", r, s, 1, False, count)
        for kind in ("left", "full", "semi", "anti"):
            yield Case(kind, r, s, 0.1, False, count)
    if many := options.sparse_rows:
        few = [size for size in sizes if size > sizes[0]]
        for r, s in [(many, many)] + [pair for size in few for pair in ((many, size), (size, many))]:
            for count in workers:
                yield Case("equality", r, s, 1, False, count)


class Grid:
    def __init__(self, options):
        self.options = options
        self.db = libpq.Connection()
        self.db.execute(f"SET client_min_messages = error; SET jit = off; SET work_mem = '{options.work_mem}'")
        self.known = set(row[0] for row in self.db.execute("SELECT relname FROM pg_class WHERE relname LIKE 'grid%'"))

    def make_tables(self, case):
        for name, command in case.tables():
            if name not in self.known:
                self.db.execute(command)
                self.db.execute(f"VACUUM (FREEZE, ANALYZE) {name}")
                self.known.add(name)

    def plan(self, case, settings):
        """(has a GPU Join, total cost) of the plan under these settings."""
        self.db.execute(CHOICE + settings + f"SET max_parallel_workers_per_gather = {case.workers}")
        lines = self.db.execute(f"EXPLAIN (FORMAT json) {case.query()}")
        plan = json.loads("\n".join(row[0] for row in lines))[0]["Plan"]
        return find_join(plan) is not None, plan["Total Cost"]

    def run(self, case, settings):
        self.db.execute(CHOICE + settings + f"SET max_parallel_workers_per_gather = {case.workers}")
        began = time.perf_counter()
        result = self.db.execute(case.query())
        return time.perf_counter() - began, result

    def measure(self, case):
        """Seconds of core's plan and of GPU Join's."""
        times = {CORE: [], GPUJOIN if self.plan(case, GPUJOIN)[0] else FORCED: []}
        first = [self.run(case, settings) for settings in times]
        if first[0][1] != first[1][1]:
            raise SystemExit(f"the results differ: {case}: {first}")
        slow = max(seconds for seconds, _ in first)
        runs = max(self.options.runs, min(30, int(ENOUGH / slow))) if slow < 5 else 1
        for _ in range(runs):
            for settings in times:
                times[settings].append(self.run(case, settings)[0])
        return [statistics.median(of) for of in times.values()]


def measure_missing(grid, wanted, kept, ends):
    for case in wanted:
        if kept.find(case.row()):
            continue
        if time.monotonic() > ends:
            break
        grid.make_tables(case)
        core, gpujoin = grid.measure(case)
        kept.keep(case.row() | {"core": core, "gpujoin": gpujoin})


def report(grid, wanted, kept):
    """What the planner chooses now, with the times that are known."""
    ratios = []
    for case in wanted:
        times = kept.find(case.row())
        if not times:
            continue
        core, gpujoin = times["core"], times["gpujoin"]
        is_taken = grid.plan(case, "")[0]
        is_proposed, gpujoin_cost = grid.plan(case, GPUJOIN)
        ratios.append((gpujoin if is_taken else core) / min(core, gpujoin))
        row = case.row() | {"core": core, "gpujoin": gpujoin, "core_cost": grid.plan(case, CORE)[1]}
        row |= {"gpujoin_cost": gpujoin_cost} if is_proposed else {}
        kept.show(row | {"chosen": "GPU Join" if is_taken else "core", "ratio": ratios[-1]})
    right = sum(ratio <= results.TOLERANCE for ratio in ratios)
    print(f"\n{right} of {len(ratios)} choices ({right / max(len(ratios), 1):.1%}) are within {results.TOLERANCE - 1:.0%} of the "
          f"better; the worst takes {max(ratios, default=1):.2f} times as long. {len(wanted) - len(ratios)} were not measured.")


def numbers(number):
    return lambda text: [number(word) for word in text.split(",")]


def measure_joins(options, kept, ends):
    grid = Grid(options)
    wanted = list(cases(options))
    measure_missing(grid, wanted, kept, ends)
    report(grid, wanted, kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sections", type=lambda text: text.split(","), default=["joins"])
    parser.add_argument("--rows", type=numbers(int), default=[1000, 10_000, 100_000, 1_000_000], help="sizes of each side")
    parser.add_argument("--sparse-rows", type=int, default=0, help="a larger size, in a few joins only")
    parser.add_argument("--rates", type=numbers(float), default=[0.01, 0.1, 1, 10], help="matches a row of s")
    parser.add_argument("--facts", type=numbers(int), default=[100_000, 1_000_000, 6_000_000], help="rows of fact tables")
    parser.add_argument("--indexed-facts", type=int, default=10_000_000, help="larger fact tables have no indexes")
    parser.add_argument("--shares", type=numbers(float), default=[0.01, 0.5], help="of the rows that filters keep")
    parser.add_argument("--load-sessions", type=int, default=min(os.cpu_count(), 16))
    parser.add_argument("--statement", default="", help="only those of the schemas that have this in their names")
    parser.add_argument("--timeout", type=int, default=60, help="seconds a statement of the schemas may take")
    parser.add_argument("--plans", action="store_true", help="prints both plans where the default is slower")
    parser.add_argument("--clients", type=numbers(int), default=[1, 8, 32], help="sessions at once")
    parser.add_argument("--session-seconds", type=int, default=3)
    parser.add_argument("--workers", type=numbers(int), default=[0, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no measurement after these")
    parser.add_argument("--results", help="file in which times are kept")
    parser.add_argument("--work-mem", default="4GB")
    parser.add_argument("--machine", default="")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(statements.SCHEMAS) - {"joins", "sessions"}:
        parser.error(f"unknown sections: {', '.join(unknown)}")
    ends = time.monotonic() + options.seconds
    kept = results.Results(options.results, results.head_of("grid", options.machine, libpq.Connection()))
    print(f"Machine: {options.machine}. PostgreSQL {kept.head['postgres']}, work_mem {options.work_mem}.\n")
    if "joins" in options.sections:
        measure_joins(options, kept, ends)
    if set(options.sections) & set(statements.SCHEMAS):
        statements.summary("Statements", *statements.measure_statements(options, kept, ends))
    if "sessions" in options.sections:
        statements.summary("Sessions", *statements.measure_sessions(options, kept, ends))


if __name__ == "__main__":
    main()
