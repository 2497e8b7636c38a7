"""Whole statements of the grid: core's own plan against what the planner takes with gpujoin, in the schemas of schemas.py,
and the throughput of many sessions that run a small join.

Where the default is core's plan the ratio is 1 and nothing is measured. Otherwise both are run by turns, and more often
where the ratio is in doubt; times are medians. Processor time is that of the session, its workers and gpujoin_server,
known where these run on this machine.
"""
import dataclasses
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

import libpq
import results
from loader import Loader
from plans import count_joins
from schemas import SCHEMAS

CORE, DEFAULT = "SET gpujoin.enabled = off;", "RESET gpujoin.enabled;"
CANCELLED = "57014"
BAD = 1.25  # times core's
DOUBTFUL = 1.04
MORE_RUNS = 3  # times as many where the ratio is in doubt
SMALL_JOINS = {
    "2,000 with 2,000": (2000, 2000),
    "20,000 with 20,000": (20_000, 20_000),
    "20,000 with 200,000": (20_000, 200_000),
}


@dataclasses.dataclass(frozen=True)
class Statement:
    schema: str
    facts: int
    name: str
    share: float
    workers: int

    def row(self, plans):
        """plans: what tells these from plans that were made otherwise."""
        digest = hashlib.md5("".join(plans).encode()).hexdigest()
        return {"table": "statements", "schema": self.schema, "facts": self.facts, "statement": self.name,
                "share": self.share, "workers": self.workers, "plans": digest}

    def namespace(self):
        return f"grid_{self.schema}_{self.facts}"

    def sql(self):
        return SCHEMAS[self.schema].statements[self.name].format(pick=int(self.share * 1000))


def statements(options):
    for schema in (section for section in options.sections if section in SCHEMAS):
        for facts in options.facts:
            for name in (name for name in SCHEMAS[schema].statements if options.statement in name):
                for share in options.shares:
                    for workers in options.workers:
                        yield Statement(schema, facts, name, share, workers)


class ProcessorTime:
    """Of the session, its workers and gpujoin_server, as long as they are on this machine."""

    def __init__(self, db):
        backend = int(db.value("SELECT pg_backend_pid()"))
        self.server = int(db.value("SELECT server_pid FROM gpujoin_status()") or 0)
        self.backend, self.postmaster = backend, 0
        try:
            self.postmaster = int(self.fields(backend)[1])
        except OSError:
            self.backend = 0

    def fields(self, pid):
        """Those behind the command's name."""
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()

    def seconds(self):
        """So far; workers count among the postmaster's children that have ended."""
        if not self.backend:
            return 0
        own, ended = slice(11, 13), slice(13, 15)
        ticks = sum(map(int, self.fields(self.backend)[own] + self.fields(self.postmaster)[ended]))
        if self.server:
            ticks += sum(map(int, self.fields(self.server)[own]))
        return ticks / os.sysconf("SC_CLK_TCK")


def outcome(core, core_processors, default, default_processors):
    """Of seconds, and seconds of processors, of core's plan and of the default one."""
    processors = {"processors": default_processors / core_processors} if core_processors else {}
    return {"core": core, "default": default, "ratio": default / core, **processors}


class Choices:
    def __init__(self, options):
        self.options = options
        self.db = libpq.Connection()
        self.db.execute("SET client_min_messages = error; SET jit = off; "
                        f"SET work_mem = '{options.work_mem}'; SET max_parallel_workers = 1024")
        self.processors = ProcessorTime(self.db)
        self.loader = Loader(options.load_sessions, options.indexed_facts)

    def prepare(self, statement):
        self.loader.make(self.db, statement.namespace(), SCHEMAS[statement.schema].tables(statement.facts))
        self.db.execute(f"SET search_path = {statement.namespace()}, public; "
                        f"SET max_parallel_workers_per_gather = {statement.workers}")

    def plan(self, statement, settings):
        """(text without costs, total cost)."""
        self.db.execute(settings)
        lines = [row[0] for row in self.db.execute("EXPLAIN " + statement.sql())]
        text = "\n".join(row[0] for row in self.db.execute("EXPLAIN (COSTS off) " + statement.sql()))
        return text, float(lines[0].split("..")[1].split()[0])

    def run(self, statement, settings):
        """(seconds, of processors, result); the result is None where it takes too long."""
        self.db.execute(settings + f"SET statement_timeout = '{self.options.timeout}s'")
        processors, began, result = self.processors.seconds(), time.perf_counter(), None
        try:
            result = self.db.execute(statement.sql())
        except libpq.DatabaseError as error:
            if error.sqlstate != CANCELLED:
                raise
        seconds = time.perf_counter() - began
        self.db.execute("RESET statement_timeout")
        return seconds, self.processors.seconds() - processors, result

    def measure(self, statement):
        """The first run of each is not counted, unless it takes too long; then the ratio is a bound."""
        first = {settings: self.run(statement, settings) for settings in (CORE, DEFAULT)}
        (core, core_processors, expected), (default, default_processors, found) = first.values()
        if expected is None or found is None:
            times = outcome(core, core_processors, default, default_processors) | {"timeout": self.options.timeout}
            return times | ({"core": None} if expected is None else {}) | ({"default": None} if found is None else {})
        if expected != found:
            raise SystemExit(f"the results differ: {statement}: {expected}, {found}")
        runs, wanted, ends = [], self.options.runs, time.monotonic() + self.options.timeout
        while len(runs) < wanted and (not runs or time.monotonic() < ends):
            turn = [self.run(statement, settings) for settings in (CORE, DEFAULT)]
            runs.append([value for seconds, processors, _ in turn for value in (seconds, processors)])
            medians = outcome(*(statistics.median(column) for column in zip(*runs)))
            if len(runs) == self.options.runs and medians["ratio"] > DOUBTFUL:
                wanted *= MORE_RUNS
        return medians


def difference(core, default):
    """What to print of the default plan's text: joins, and processes."""
    if core == default:
        return "core's plan"
    joins = count_joins(default)
    workers = [line.split()[-1] for line in default.splitlines() if "Workers Planned" in line]
    return f"{joins} GPU Join, {'parallel' if workers else 'serial'}" if joins else "another plan of core's"


def measure_statements(options, kept, ends):
    """Prints a row for each statement, and returns the ratios of default to core, and how many were left out."""
    choices, ratios, left_out = Choices(options), [], 0
    for statement in statements(options):
        if time.monotonic() > ends:
            left_out += 1
            continue
        choices.prepare(statement)
        core, core_cost = choices.plan(statement, CORE)
        default, default_cost = choices.plan(statement, DEFAULT)
        row = statement.row((core, default))
        row = kept.find(row) or row | (choices.measure(statement) if core != default else {}) | {
            "core_cost": core_cost, "default_cost": default_cost, "has": difference(core, default)}
        ratios.append(row.get("ratio", 1))
        if options.plans and ratios[-1] > results.GOOD:
            print(f"{statement}\n{core}\n\n{default}\n", file=sys.stderr)
        kept.show(row)
    return ratios, left_out


def make_small_joins(db):
    if db.value("SELECT to_regclass('grid_sessions.done') IS NOT NULL") == "t":
        return
    db.execute("DROP SCHEMA IF EXISTS grid_sessions CASCADE; CREATE SCHEMA grid_sessions")
    for rows in sorted({rows for pair in SMALL_JOINS.values() for rows in pair}):
        for side in ("r", "s"):
            db.execute(f"CREATE TABLE grid_sessions.{side}{rows} AS SELECT (i * 1000003 % {rows})::int4 AS k, "
                       f"(i % 1000)::int4 AS c FROM generate_series(0, {rows}::int8 - 1) i")
            db.execute(f"VACUUM (FREEZE, ANALYZE) grid_sessions.{side}{rows}")
    db.execute("CREATE TABLE grid_sessions.done ()")


def throughput(sql, clients, seconds, enabled):
    """Transactions a second, as pgbench sees it."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(sql + "\n")
        script.flush()
        environment = dict(os.environ, PGOPTIONS=f"-c gpujoin.enabled={enabled} -c jit=off")
        done = subprocess.run(["pgbench", "-n", "-f", script.name, "-c", str(clients), "-j", str(min(clients, 8)),
                               "-T", str(seconds)], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return float(next(line for line in done.stdout.splitlines() if line.startswith("tps")).split()[2])


def measure_sessions(options, kept, ends):
    """Prints a row for each number of sessions; returns the ratios of core's throughput to the default's."""
    db = libpq.Connection()
    db.execute("SET client_min_messages = error")
    make_small_joins(db)
    ratios, left_out = [], 0
    for name, (r, s) in SMALL_JOINS.items():
        sql = f"SELECT count(*), sum(r.c) FROM grid_sessions.r{r} r JOIN grid_sessions.s{s} s USING (k);"
        plan = "\n".join(row[0] for row in db.execute("EXPLAIN (COSTS off) " + sql))
        is_ours = count_joins(plan) > 0
        for clients in options.clients:
            if time.monotonic() > ends:
                left_out += 1
                continue
            turns = [(throughput(sql, clients, options.session_seconds, "off"),
                      throughput(sql, clients, options.session_seconds, "on")) for _ in range(3)]
            core, default = (statistics.median(column) for column in zip(*turns))
            ratios.append(core / default)
            kept.show({"table": "sessions", "join": name, "sessions": clients, "core": core, "default": default,
                       "has": "GPU Join" if is_ours else "core's plan"})
    return ratios, left_out


def summary(what, ratios, left_out):
    good = sum(ratio <= results.GOOD for ratio in ratios)
    bad = sum(ratio > BAD for ratio in ratios)
    print(f"\n{what}: {good} of {len(ratios)} ({good / max(len(ratios), 1):.1%}) take at most {results.GOOD} times core's time, "
          f"{bad} more than {BAD} times; the worst {max(ratios, default=1):.2f} times. "
          f"{left_out} were not measured.\n", flush=True)
