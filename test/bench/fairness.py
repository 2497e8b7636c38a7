#!/usr/bin/env python3
"""Measures a small join alone and while other sessions run large ones, against the server that PGHOST, PGPORT, PGUSER
and PGDATABASE name, and prints both. Called by test/bench/fairness, which makes the cluster.
"""
import argparse
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
from plans import count_joins

LIGHT, HEAVY = "fairness_light", "fairness_heavy"
SMALL_JOIN = "SELECT count(*), sum(s.v) FROM fairness.r JOIN fairness.s ON r.k = s.k"
# A product of int4 values is never below the least of them.
LARGE_JOIN = ("SELECT count(*) FROM fairness.h a JOIN fairness.h b"
              " ON a.v::bigint * b.v + a.k - b.k < -9223372036854775000")
CANCELLED = "57014"


def make_tables(db, options):
    db.execute(f"""
        SET client_min_messages = error;
        DROP SCHEMA IF EXISTS fairness CASCADE; DROP ROLE IF EXISTS {LIGHT}; DROP ROLE IF EXISTS {HEAVY};
        CREATE SCHEMA fairness; CREATE ROLE {LIGHT} LOGIN; CREATE ROLE {HEAVY} LOGIN;
        CREATE TABLE fairness.r AS SELECT i::int4 AS k, i::int4 AS v FROM generate_series(1, {options.rows}) i;
        CREATE TABLE fairness.s AS SELECT * FROM fairness.r ORDER BY hashint4(k);
        CREATE TABLE fairness.h AS SELECT i::int4 AS k, hashint4(i) AS v FROM generate_series(1, {options.heavy_rows}) i;
        GRANT USAGE ON SCHEMA fairness TO PUBLIC;
        GRANT SELECT ON ALL TABLES IN SCHEMA fairness TO PUBLIC""")
    db.execute("VACUUM (FREEZE, ANALYZE) fairness.r, fairness.s, fairness.h")


def connect(role, options):
    db = libpq.Connection(f"user={role} dbname={options.database}")
    db.execute(f"SET jit = off; SET max_parallel_workers_per_gather = {options.workers}")
    return db


def expect_gpu_join(db, statement):
    plan = "\n".join(row[0] for row in db.execute("EXPLAIN " + statement))
    if count_joins(plan) == 0:
        sys.exit(f"core joins this:\n{statement}\n{plan}")


def time_runs(db, runs):
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        db.execute(SMALL_JOIN)
        times.append(time.perf_counter() - began)
    return times


def figures(times):
    return statistics.median(times), sorted(times)[max(0, -(-len(times) * 95 // 100) - 1)]


class Load:
    """Sessions that run the large join again and again while it is entered."""

    def __init__(self, db, options):
        self.db, self.sessions, self.errors, self.done = db, [], [], False
        for _ in range(options.sessions):
            self.sessions.append(connect(HEAVY, options))
        self.threads = [threading.Thread(target=self._run, args=[session]) for session in self.sessions]

    def __enter__(self):
        joins_before = self._joins()
        for thread in self.threads:
            thread.start()
        try:
            self._wait_for_joins(joins_before + len(self.sessions))
        except BaseException:
            self._end()
            raise

    def __exit__(self, *_):
        self._end()
        if self.errors:
            sys.exit(f"a large join failed: {self.errors[0]}")

    def _wait_for_joins(self, joins):
        end = time.monotonic() + 60
        while self._joins() < joins and not self.errors:
            if time.monotonic() > end:
                raise TimeoutError("the large joins do not begin")
            time.sleep(0.05)
        time.sleep(1)

    def _end(self):
        self.done = True
        while any(thread.is_alive() for thread in self.threads):
            self.db.execute(f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = '{HEAVY}'")
            time.sleep(0.05)

    def _joins(self):
        return int(self.db.value("SELECT sum(sessions) FROM gpujoin_devices"))

    def _run(self, session):
        try:
            while not self.done:
                session.execute(LARGE_JOIN)
        except libpq.DatabaseError as error:
            if error.sqlstate != CANCELLED or not self.done:
                self.errors.append(error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--heavy-rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=0, help="parallel workers a statement may have")
    parser.add_argument("--results", help="file in which they are kept")
    parser.add_argument("--machine", default="")
    options = parser.parse_args()
    db = libpq.Connection()
    options.database = db.value("SELECT current_database()")
    make_tables(db, options)
    light = connect(LIGHT, options)
    expect_gpu_join(light, SMALL_JOIN)
    expect_gpu_join(light, LARGE_JOIN)
    time_runs(light, 3)
    alone = time_runs(light, options.runs)
    with Load(db, options):
        loaded = time_runs(light, options.runs)
    again = time_runs(light, options.runs)

    print(f"Machine: {options.machine}. PostgreSQL {db.value('SHOW server_version')}.")
    print(f"gpujoin: {' '.join(v or '-' for v in db.execute('SELECT * FROM gpujoin_status()')[0])}")
    print(f"{options.rows:,} x {options.rows:,} rows, {options.runs} runs, beside {options.sessions} filter joins of "
          f"{options.heavy_rows:,} x {options.heavy_rows:,}.\n")
    kept = results.Results(options.results, results.head_of("fairness", options.machine, db))
    for name, times in ("alone", alone), (f"beside {options.sessions} large joins", loaded), ("alone again", again):
        median, percentile = figures(times)
        kept.show({"table": "fairness", "join": name, "median": median, "percentile": percentile})
    base = figures(alone + again)
    print(f"\nBeside large joins it takes {figures(loaded)[0] / base[0]:.2f} times its median and "
          f"{figures(loaded)[1] / base[1]:.2f} times its 95th percentile alone.")


main()
