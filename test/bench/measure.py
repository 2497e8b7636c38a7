#!/usr/bin/env python3
"""Measures SQL joins through core's plans and through GPU Join against the server that PGHOST, PGPORT, PGUSER and
PGDATABASE name, in one run, and prints a table. Called by test/bench/run, which makes the cluster.

Every time is the median of some runs of the statement, after one that is not counted. Core is measured with one process
and with as many workers as allowed, by its own choice of plan; GPU Join likewise. The results are compared.
"""
import argparse
import json
import pathlib
import statistics
import sys
import threading
import time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent)]
sys.dont_write_bytecode = True
import libpq
import results
from plans import find_join
from workloads import TABLES, WORKLOADS, sizes

CANCELLED = "57014"


class MemoryWatch:
    """Samples the private memory of a process on this machine; the most seen while it is entered."""

    def __init__(self, pid):
        self.path, self.peak, self.done = f"/proc/{pid}/status", 0, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def _watch(self):
        while not self.done.wait(0.005):
            try:
                with open(self.path) as status:
                    self.peak = max(self.peak, next(int(l.split()[1]) for l in status if l.startswith("RssAnon")))
            except (OSError, StopIteration):
                return

    def megabytes(self):
        return self.peak / 1024 if self.peak else None


class Bench:
    def __init__(self, options):
        self.options = options
        self.sizes = sizes(options.rows, options.range_rows)
        self.row_seconds = {}  # of the best GPU Join, by workload
        self.db = libpq.Connection()
        self.db.execute("SET client_min_messages = error; SET jit = off;"
                        f"SET work_mem = '{options.work_mem}'; SET max_parallel_workers_per_gather = {options.workers}")

    def make_tables(self, group):
        done = self.db.value("SELECT count(*) FROM pg_class WHERE oid = to_regclass('bench_done_' || "
                             f"'{group}_{self.options.rows}_{self.options.range_rows}')")
        if done != "0":
            return
        print(f"making the tables of {group}", file=sys.stderr)
        commands = TABLES[group].format(**self.sizes)
        names = [c.split()[2] for c in commands.split(";") if "CREATE TABLE" in c]
        self.db.execute("".join(f"DROP TABLE IF EXISTS {n};" for n in names) + commands)
        for name in names:
            self.db.execute(f"VACUUM (FREEZE, ANALYZE) {name}")
        self.db.execute(f"CREATE TABLE bench_done_{group}_{self.options.rows}_{self.options.range_rows} ()")

    def measure(self, query, settings):
        """(median seconds or None when it took too long, result)."""
        self.db.execute(settings + f"SET statement_timeout = '{self.options.timeout}s'")
        times, result = [], None
        try:
            for _ in range(1 + self.options.runs):
                began = time.perf_counter()
                result = self.db.execute(query)
                times.append(time.perf_counter() - began)
                if sum(times) > 6 * self.options.timeout / 4 and len(times) > 1:
                    break
        except libpq.DatabaseError as error:
            if error.sqlstate != CANCELLED:
                raise
        finally:
            self.db.execute("RESET statement_timeout")
        return (statistics.median(times[1:]) if len(times) > 1 else times[0] if times else None), result

    def gpujoin_facts(self, query, settings):
        """What EXPLAIN ANALYZE says of the GPU Join node, the memory of backend and server while it ran."""
        self.db.execute(settings)
        backend = MemoryWatch(self.db.value("SELECT pg_backend_pid()"))
        server = MemoryWatch(self.db.value("SELECT server_pid FROM gpujoin_status()") or 0)
        with backend, server:
            plan = json.loads("\n".join(r[0] for r in self.db.execute(f"EXPLAIN (ANALYZE, FORMAT json) {query}")))
        return find_join(plan[0]["Plan"]) or {}, backend, server

    def choose_gpujoin(self, query):
        """Settings under which the plan has a GPU Join: the planner's own choice where it takes one."""
        settings = "SET gpujoin.enabled = on; SET gpujoin.force = off;"
        self.db.execute(settings)
        plan = json.loads("\n".join(r[0] for r in self.db.execute(f"EXPLAIN (FORMAT json) {query}")))
        if find_join(plan[0]["Plan"]):
            return settings, None
        return "SET gpujoin.enabled = on; SET gpujoin.force = on;", "forced"

    def give_memory(self, workload):
        memory = workload.memory.format(**self.sizes)
        self.db.execute(f"SET work_mem = '{memory}MB'; SET hash_mem_multiplier = 1; SET gpujoin.max_join_memory = '{memory}MB'"
                        if memory else f"SET work_mem = '{self.options.work_mem}'; RESET hash_mem_multiplier; "
                        "RESET gpujoin.max_join_memory")

    def row(self, workload):
        self.make_tables(workload.group)
        self.give_memory(workload)
        one = "SET max_parallel_workers_per_gather = 0;"
        many = f"SET max_parallel_workers_per_gather = {self.options.workers};"
        off = "SET gpujoin.enabled = off;"
        core_serial, expected = self.measure(workload.query, off + one) if workload.group == "join" else (None, None)
        measure_core = workload.group != "spanning"  # hopeless
        core, expected_too = self.measure(workload.query, off + many) if measure_core else (None, None)
        self.db.execute(one)
        serial_settings, note = self.choose_gpujoin(workload.query)
        gpu_serial, found = self.measure(workload.query, serial_settings + one)
        gpu, found_too = self.measure(workload.query, serial_settings + many)
        facts, backend, server = self.gpujoin_facts(workload.query, serial_settings + one)
        answers = [r for r in (expected, expected_too, found, found_too) if r is not None]
        if any(answer != answers[0] for answer in answers):
            raise SystemExit(f"{workload.name}: the results differ: {answers}")
        best_core = min(filter(None, [core_serial, core]), default=None)
        best_gpu = min(filter(None, [gpu_serial, gpu]), default=None)
        if best_gpu and answers:
            self.row_seconds[workload.name] = best_gpu / int(answers[0][0][0])
        row = {"table": "joins", "workload": workload.name, "what": workload.what.format(**self.sizes)}
        if workload.group == "join":
            row["core_serial"] = core_serial
        if measure_core:
            row["core"] = core
        row |= {"gpujoin_serial": gpu_serial, "gpujoin": gpu, "timeout": self.options.timeout}
        if measure_core and best_gpu:
            row["ratio"] = (best_core or self.options.timeout) / best_gpu
        others = {"rows_out": int(answers[0][0][0]) if answers else None, "plan": note,
                  "algorithm": facts.get("Algorithm"), "partitions": facts.get("Partitions"), "seal_mb": seal_memory(facts), "server_mb": server.megabytes(),
                  "backend_mb": backend.megabytes()}
        return row | {name: value for name, value in others.items() if value is not None}


def seal_memory(facts):
    """The server's peak at seal, in megabytes, as the node reports it."""
    peak = facts.get("Peak Seal Memory")
    return float(peak) / 1024 if peak is not None else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--range-rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=60, help="seconds a statement may take")
    parser.add_argument("--work-mem", default="4GB")
    parser.add_argument("--workloads", default="J1,J2,J4")
    parser.add_argument("--results", help="file in which they are kept")
    parser.add_argument("--machine", default="")
    options = parser.parse_args()
    wanted = [w.name for w in WORKLOADS] if options.workloads == "all" else options.workloads.split(",")
    if unknown := set(wanted) - {w.name for w in WORKLOADS}:
        parser.error(f"unknown workloads: {', '.join(unknown)}")
    bench = Bench(options)
    device = bench.db.execute("SELECT * FROM gpujoin_status()")
    print(f"Machine: {options.machine}. PostgreSQL {bench.db.value('SHOW server_version')}.")
    print(f"gpujoin: {' '.join(v or '-' for v in device[0])}")
    print(f"Medians of {options.runs} runs; core by its own choice of plan with work_mem {options.work_mem}; "
          f"{options.workers} workers allowed where it says so.\n")
    kept = results.Results(options.results, results.head_of("run", options.machine, bench.db))
    for workload in WORKLOADS:
        if workload.name in wanted:
            kept.show(bench.row(workload))
    print()
    for workload in WORKLOADS:
        if {workload.name, workload.as_large} <= set(bench.row_seconds):
            ratio = bench.row_seconds[workload.name] / bench.row_seconds[workload.as_large]
            print(f"{workload.name} takes {ratio:.2f} times as long for a result row as {workload.as_large}.")


main()
