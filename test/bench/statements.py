"""Whole statements of the grid: core's own plan against what the planner takes with gpujoin, in the schemas of schemas.py,
and the throughput of many sessions that run a small join.

Where the default is core's plan the ratio is 1 and nothing is measured. Otherwise both are run by turns, and more often
where the ratio is in doubt; times are medians. Processor time is that of the session, its workers and gpujoin_server,
known where these run on this machine.
"""
import dataclasses
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import libpq
from schemas import SCHEMAS

CORE, DEFAULT = "SET gpujoin.enabled = off;", "RESET gpujoin.enabled;"
CANCELLED = "57014"
GOOD, BAD = 1.1, 1.25  # times core's
DOUBTFUL = 1.04
MORE_RUNS = 3  # times as many where the ratio is in doubt
CHUNK = 500_000  # rows that one INSERT makes
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


class Loader:
    """Makes the tables of a schema with several sessions."""

    def __init__(self, options):
        self.sessions, self.indexed_facts = options.load_sessions, options.indexed_facts

    def make(self, db, schema, facts):
        namespace = f"grid_{schema.name}_{facts}"
        # A crash empties unlogged tables, this one too.
        if (db.value(f"SELECT to_regclass('{namespace}.done') IS NOT NULL") == "t"
                and db.value(f"SELECT count(*) FROM {namespace}.done") == "1"):
            return
        print(f"making {namespace}", file=sys.stderr)
        db.execute(f"DROP SCHEMA IF EXISTS {namespace} CASCADE; CREATE SCHEMA {namespace}")
        db.execute(f"SET search_path = {namespace}, public")
        tables = list(schema.tables(facts))
        for table in tables:
            rows = "generate_series({}::int8, {}::int8 - 1) i"
            db.execute(f"CREATE UNLOGGED TABLE {table.name} AS SELECT {table.columns} FROM {rows.format(0, 0)}")
        chunks = [f"INSERT INTO {namespace}.{table.name} SELECT {table.columns} FROM "
                  + rows.format(first, min(first + CHUNK, table.rows))
                  for table in tables for first in range(0, table.rows, CHUNK)]
        self.run(chunks)
        self.run([f"SET maintenance_work_mem = '1GB'; {command}"
                  for table in tables for command in self.indexes(namespace, table)])
        self.run([f"VACUUM (FREEZE, ANALYZE) {namespace}.{table.name}" for table in tables])
        for table in tables:
            for column, other in table.references:
                db.execute(f"ALTER TABLE {table.name} ADD FOREIGN KEY ({column}) REFERENCES {other} NOT VALID")
        db.execute(f"CREATE UNLOGGED TABLE {namespace}.done AS SELECT true")

    def indexes(self, namespace, table):
        name = f"{namespace}.{table.name}"
        if table.primary_key:
            yield f"ALTER TABLE {name} ADD PRIMARY KEY ({table.primary_key})"
        if not table.is_fact or table.rows <= self.indexed_facts:
            for column in table.indexes:
                yield f"CREATE INDEX ON {name} ({column})"

    def run(self, commands):
        """All of them, by as many sessions as allowed; those of one table may have to wait for each other."""
        todo, errors = list(reversed(commands)), []

        def work():
            db = libpq.Connection()
            try:
                db.execute("SET client_min_messages = error")
                while not errors:
                    db.execute(todo.pop())
            except IndexError:
                pass
            except libpq.DatabaseError as error:
                errors.append(error)
            db.close()

        threads = [threading.Thread(target=work) for _ in range(self.sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]


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


@dataclasses.dataclass
class Outcome:
    """Seconds, and seconds of processors, of core's plan and of the default one."""

    core: float
    default: float
    core_processors: float = 0
    default_processors: float = 0

    def ratio(self):
        return self.default / self.core


class Choices:
    def __init__(self, options):
        self.options = options
        self.db = libpq.Connection()
        self.db.execute("SET client_min_messages = error; SET jit = off; "
                        f"SET work_mem = '{options.work_mem}'; SET max_parallel_workers = 1024")
        self.processors = ProcessorTime(self.db)
        self.loader = Loader(options)

    def prepare(self, statement):
        self.loader.make(self.db, SCHEMAS[statement.schema], statement.facts)
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
        """The first run of each is not counted, unless it takes too long."""
        first = [self.run(statement, settings) for settings in (CORE, DEFAULT)]
        results = [result for _, _, result in first]
        if None in results:
            return Outcome(first[0][0], first[1][0], first[0][1], first[1][1])
        if results[0] != results[1]:
            raise SystemExit(f"the results differ: {statement}: {results}")
        runs, wanted, ends = [], self.options.runs, time.monotonic() + self.options.timeout
        while len(runs) < wanted and (not runs or time.monotonic() < ends):
            turn = [self.run(statement, settings) for settings in (CORE, DEFAULT)]
            runs.append([value for seconds, processors, _ in turn for value in (seconds, processors)])
            outcome = self.median(runs)
            if len(runs) == self.options.runs and outcome.ratio() > DOUBTFUL:
                wanted *= MORE_RUNS
        return outcome

    def median(self, runs):
        core, core_processors, default, default_processors = (statistics.median(column) for column in zip(*runs))
        return Outcome(core, default, core_processors, default_processors)


def read_outcomes(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path) as lines:
        return {entry["case"]: Outcome(*entry["outcome"]) for entry in map(json.loads, lines) if "outcome" in entry}


def milliseconds(seconds):
    return f"{seconds * 1000:.3g}"


HEADER = ["schema", "facts", "statement", "share", "workers", "core, ms", "default, ms", "default : core",
          "processor time", "cost of core", "cost of default", "default has"]


def row_of(statement, outcome, costs, has):
    """Of the table; an outcome of None is core's plan."""
    times = ["-", "-", "1", "-"]
    if outcome:
        ratio, processors = outcome.ratio(), outcome.core_processors
        times = [milliseconds(outcome.core), milliseconds(outcome.default),
                 f"{ratio:.2f}" + (" **slower**" if ratio > GOOD else ""),
                 f"{outcome.default_processors / processors:.2f}" if processors else "-"]
    return [statement.schema, f"{statement.facts:,}", statement.name, f"{statement.share:g}", str(statement.workers),
            *times, *(f"{cost:.0f}" for cost in costs), has]


def difference(core, default):
    """What to print of the default plan's text: joins, and processes."""
    if core == default:
        return "core's plan"
    joins = default.count("GPU Join")
    workers = [line.split()[-1] for line in default.splitlines() if "Workers Planned" in line]
    return f"{joins} GPU Join, {'parallel' if workers else 'serial'}" if joins else "another plan of core's"


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def measure_statements(options, ends):
    """Prints a row for each statement, and returns the ratios of default to core, and how many were left out."""
    choices, known, ratios, left_out = Choices(options), read_outcomes(options.results), [], 0
    keep = open(options.results, "a") if options.results else None
    print_row(HEADER)
    print("|" + "---|" * len(HEADER))
    for statement in statements(options):
        if time.monotonic() > ends:
            left_out += 1
            continue
        choices.prepare(statement)
        core, core_cost = choices.plan(statement, CORE)
        default, default_cost = choices.plan(statement, DEFAULT)
        outcome = None
        if core != default:
            digest = hashlib.md5((core + default).encode()).hexdigest()
            key = json.dumps(dataclasses.astuple(statement) + (digest,))
            outcome = known.get(key) or choices.measure(statement)
            if keep and key not in known:
                print(json.dumps({"case": key, "outcome": dataclasses.astuple(outcome)}), file=keep, flush=True)
            if options.plans and outcome.ratio() > GOOD:
                print(f"{statement}\n{core}\n\n{default}\n", file=sys.stderr)
        ratios.append(outcome.ratio() if outcome else 1)
        print_row(row_of(statement, outcome, (core_cost, default_cost), difference(core, default)))
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


def measure_sessions(options, ends):
    """Prints a row for each number of sessions; returns the ratios of core's throughput to the default's."""
    db = libpq.Connection()
    db.execute("SET client_min_messages = error")
    make_small_joins(db)
    print_row(["small join", "sessions", "default plan", "core, joins a second", "default, joins a second", "core : default"])
    print("|" + "---|" * 6)
    ratios, left_out = [], 0
    for name, (r, s) in SMALL_JOINS.items():
        sql = f"SELECT count(*), sum(r.c) FROM grid_sessions.r{r} r JOIN grid_sessions.s{s} s USING (k);"
        plan = "\n".join(row[0] for row in db.execute("EXPLAIN (COSTS off) " + sql))
        is_ours = "GPU Join" in plan
        for clients in options.clients:
            if time.monotonic() > ends:
                left_out += 1
                continue
            turns = [(throughput(sql, clients, options.session_seconds, "off"),
                      throughput(sql, clients, options.session_seconds, "on")) for _ in range(3)]
            core, default = (statistics.median(column) for column in zip(*turns))
            ratios.append(core / default)
            print_row([name, str(clients), "GPU Join" if is_ours else "core's", f"{core:.0f}", f"{default:.0f}",
                       f"{ratios[-1]:.2f}" + (" **slower**" if ratios[-1] > GOOD else "")])
    return ratios, left_out


def summary(what, ratios, left_out):
    good = sum(ratio <= GOOD for ratio in ratios)
    bad = sum(ratio > BAD for ratio in ratios)
    print(f"\n{what}: {good} of {len(ratios)} ({good / max(len(ratios), 1):.1%}) take at most {GOOD} times core's time, "
          f"{bad} more than {BAD} times; the worst {max(ratios, default=1):.2f} times. "
          f"{left_out} were not measured.\n", flush=True)
