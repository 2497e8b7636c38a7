#!/usr/bin/env python3
"""files.py CONTROL DATA LOG [--all]: joins that spill while the n-th open, write, read or unlink of a temporary file fails, counted
anew for each query. Against the cluster that PGHOST and so on name, whose processes have files.c preloaded: CONTROL is the
file by which it is told what fails, DATA the cluster's folder, LOG its log. --all: each n up to 200. Reports in TAP.
"""
import collections
import json
import mmap
import os
import pathlib
import shutil
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from libpq import Connection, DatabaseError  # noqa: E402

NUMBERS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]
ENOSPC, EIO = 28, 5

# What fails: its number in files.c, errno, the SQLSTATE that the query ends with (None: PostgreSQL only logs it), and up to
# which n some query must have met it. On a full disk the n-th write is a short one, and all later ones fail; so do all opens
# from the n-th on, since PostgreSQL tries once more. A read that finds the end of a file too early may be made up for by the
# next one, where more was asked for than was wanted.
POINTS = {
    "open": (1, EIO, "58030", 55),
    "write": (2, ENOSPC, "53100", 144),
    "full disk": (3, ENOSPC, "53100", 144),
    "read": (4, EIO, "58030", 144),
    "unlink": (5, EIO, None, 55),
    "cut": (6, 0, "XX001", 144),
}

SETUP = """
CREATE TABLE a AS SELECT i AS k, i % 50 AS g, 'a' || i || repeat('-', 100) AS t FROM generate_series(1, 16000) AS i;
CREATE TABLE b AS SELECT i AS k, i % 70 AS g, 'b' || i || repeat('+', 140) AS t FROM generate_series(1, 16000, 2) AS i;
CREATE TABLE few AS SELECT i * 5 AS k, i % 3 AS g, 'f' || i || repeat('=', 400) AS t FROM generate_series(1, 3000) AS i;
CREATE TABLE hot AS SELECT 35 AS k, 'h' || i || repeat('*', 1500) AS t FROM generate_series(1, 1000) AS i;
CREATE INDEX ON few (k);
CREATE SEQUENCE calls;
"""
SETTINGS = """
RESET ALL;
SET gpujoin.force = on;
SET gpujoin.max_join_memory = '1MB';
SET work_mem = '1MB';
SET max_parallel_workers_per_gather = 0;
"""
ROWS = "SET gpujoin.aggregate = off"
PARALLEL = """
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.startup_cost = 0;
SET gpujoin.encode_cost = 1;
"""
SUM = "count(*), sum(hashtext({0}.t)::bigint), sum(hashtext({1}.t)::bigint), sum(hashtext({0}.t || {1}.t)::bigint)"
SUITE = {  # name: settings and query
    "inner": (ROWS, f"SELECT {SUM.format('a', 'b')} FROM a JOIN b USING (k)"),
    "left": (ROWS, f"SELECT {SUM.format('a', 'b')} FROM a LEFT JOIN b ON a.k = b.k AND (a.g + b.g) % 3 = 0"),
    "full": (ROWS, f"SELECT {SUM.format('a', 'b')} FROM a FULL JOIN b ON a.k = b.k"),
    "semi": (ROWS, "SELECT count(*), sum(hashtext(t)::bigint) FROM a WHERE EXISTS (SELECT FROM b WHERE a.k = b.k AND a.t < b.t)"),
    "anti": (ROWS, "SELECT count(*), sum(hashtext(t)::bigint) FROM a WHERE NOT EXISTS (SELECT FROM b WHERE a.k = b.k AND a.t > b.t)"),
    "range": (ROWS, f"SELECT {SUM.format('few', 'b')} FROM few JOIN b ON few.k BETWEEN b.k AND b.k + 1"),
    "range left": (ROWS, f"SELECT {SUM.format('few', 'b')} FROM few LEFT JOIN b ON few.k BETWEEN b.k AND b.k + 1"),
    "one key": (ROWS, f"SELECT {SUM.format('a', 'hot')} FROM a LEFT JOIN hot USING (k)"),
    "chain": ("", "SELECT count(*), sum(n), sum(s), sum(hashtext(t)::bigint) FROM (SELECT few.t, count(*) AS n, sum(b.g) AS s "
              "FROM a JOIN b USING (k) LEFT JOIN few ON few.k = a.k GROUP BY few.t OFFSET 0) AS q"),
    "chain, one key": (ROWS, f"SELECT {SUM.format('b', 'hot')} FROM a LEFT JOIN hot USING (k) JOIN b USING (k)"),
    "early end": (ROWS, "SELECT count(*), count(b.t) FROM (SELECT b.t FROM a JOIN b USING (k) WHERE length(a.t) > 0 LIMIT 900) AS b"),
    "copied": (ROWS, "SELECT count(*), count(b.n), sum(hashtext(a.t)::bigint), sum(hashtext(b.t)::bigint) FROM a LEFT JOIN "
               "(SELECT k, t, nextval('calls') AS n FROM b OFFSET 0) AS b USING (k)"),
    "parallel": (ROWS + ";" + PARALLEL, f"SELECT {SUM.format('a', 'b')} FROM a JOIN b USING (k)"),
    "parallel full": (ROWS + ";" + PARALLEL, f"SELECT {SUM.format('a', 'b')} FROM a FULL JOIN b ON a.k = b.k"),
}


def nodes(plan):
    """All that a plan has: whatever is told by names."""
    if isinstance(plan, dict):
        yield plan
    for part in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from nodes(part)


class Control:
    """What fails: struct control of files.c."""

    FORMAT = struct.Struct("=IiiI")

    def __init__(self, path):
        with open(path, "r+b") as file:
            self._mapped = mmap.mmap(file.fileno(), self.FORMAT.size)

    def arm(self, point, error, n):
        self.FORMAT.pack_into(self._mapped, 0, 0, error, n - 1, 0)
        struct.pack_into("=I", self._mapped, 0, point)

    def disarm(self):
        """Whether some call has failed."""
        struct.pack_into("=I", self._mapped, 0, 0)
        return self.FORMAT.unpack_from(self._mapped)[3] > 0


class Campaign:
    def __init__(self, control, data, log):
        self.control = Control(control)
        self.files = pathlib.Path(data, "base/pgsql_tmp")
        self.log = pathlib.Path(log)
        self.connect()
        self.number = 0
        self.failed = False

    def connect(self):
        self.connection = Connection()
        self.observer = Connection()

    def check(self, text, passed):
        self.number += 1
        self.failed |= not passed
        print("ok" if passed else "not ok", self.number, "-", text, flush=True)

    def prepare(self):
        self.connection.execute(SETUP)
        self.connection.execute("VACUUM ANALYZE a, b, few")  # of one key that all rows have none knows
        self.expected = {}
        for name, (settings, query) in SUITE.items():
            self.connection.execute("RESET ALL; SET gpujoin.enabled = off")
            self.expected[name] = self.connection.execute(query)
            self.connection.execute(SETTINGS + settings)
            plan = json.loads(self.connection.value("EXPLAIN (ANALYZE, FORMAT JSON) " + query))
            parallel = [node["Parallel Aware"] for node in nodes(plan) if "Partitions" in node]
            self.check(f"{name}: runs in partitions", parallel == [name.startswith("parallel")])
            self.check(f"{name}: right rows", self.connection.execute(query) == self.expected[name])

    def left(self):
        """Files, and the folders of shared ones."""
        return sorted(self.files.rglob("*"))

    def remove(self):
        for path in list(self.files.iterdir()):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def holds(self):
        """Sessions and bytes at the server; what others close late is gone a moment later."""
        end = time.monotonic() + 60
        while (held := self.observer.value("SELECT sum(sessions) + sum(used_memory) FROM gpujoin_devices")) != "0":
            if time.monotonic() > end:
                break
            time.sleep(0.01)
        return int(held)

    def run(self, name):
        """Rows, or the error."""
        try:
            return self.connection.execute(SUITE[name][1]), None
        except DatabaseError as error:
            return None, error

    def try_query(self, point, name, n):
        """What is wrong, and whether it met the fault."""
        number, errno, state, _ = POINTS[point]
        self.connection.execute(SETTINGS + SUITE[name][0])
        self.control.arm(number, errno, n)
        rows, error = self.run(name)
        met = self.control.disarm()
        if met:
            self.ends[error.sqlstate if error else "rows"] += 1
        wrong = []
        if error and error.sqlstate is None:
            wrong.append(f"the connection is lost: {error}")
            self.reconnect()
        elif error and not (met and is_right(error, point, state)):
            wrong.append(f"SQLSTATE {error.sqlstate}: {error}")
        elif not error and rows != self.expected[name]:
            wrong.append(f"rows {rows} instead of {self.expected[name]}")
        elif not error and met and state and point != "cut":
            wrong.append("no error")
        if left := self.left():
            # A file that cannot be removed stays, and so does its folder.
            files = sum(not path.is_dir() for path in left)
            if not (met and point == "unlink" and files == 1 and len(left) <= 2):
                wrong.append(f"left are {', '.join(str(path.relative_to(self.files)) for path in left)}")
            self.remove()
        if held := self.holds():
            wrong.append(f"the server holds {held} sessions and bytes")
        if self.observer.value("SELECT generation FROM gpujoin_status()") != self.generation:
            wrong.append("another server")
            self.generation = self.observer.value("SELECT generation FROM gpujoin_status()")
        return wrong, met

    def reconnect(self):
        end = time.monotonic() + 60
        while True:
            try:
                return self.connect()
            except DatabaseError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def try_number(self, point, n):
        """How many queries met the fault."""
        count = 0
        complaints = []
        for name in SUITE:
            wrong, met = self.try_query(point, name, n)
            complaints += [f"{name}: {text}" for text in wrong]
            count += met
        # One after the other.
        after = list(SUITE)[n % len(SUITE)]
        self.connection.execute(SETTINGS + SUITE[after][0])
        rows, error = self.run(after)
        if rows != self.expected[after]:
            complaints.append(f"{after}, without a fault: {error or rows}")
        self.check(f"{point} {n}: right rows or the right error, and nothing left", not complaints)
        for text in complaints:
            print("#", text.replace("\n", " ")[:500], flush=True)
        return count

    def go(self, numbers):
        self.prepare()
        self.generation = self.observer.value("SELECT generation FROM gpujoin_status()")
        for point in POINTS:
            met = {}
            self.ends = collections.Counter()
            for n in numbers:
                met[n] = self.try_number(point, n)
                if not met[n]:
                    break
            self.check(f"all queries met the first {point}", met[1] == len(SUITE))
            self.check(f"some met each up to {POINTS[point][3]}", all(met.get(n) for n in numbers if n <= POINTS[point][3]))
            print(f"# {point}: the last one met was {max(filter(met.get, met), default=0)}; how those ended: {dict(self.ends)}")
        crashes = [line for line in self.log.read_text(errors="replace").splitlines()
                   if "terminated by signal" in line or "ended: " in line or "PANIC" in line]
        self.check("no process has crashed", not crashes)
        for line in crashes:
            print("#", line)
        print(f"1..{self.number}")
        return 1 if self.failed else 0


def is_right(error, point, state):
    # PostgreSQL tells of a file that it cannot make as of an error of its own.
    cannot_make = point == "open" and error.sqlstate == "XX000" and "could not create temporary file" in str(error)
    return error.sqlstate == state or cannot_make


if __name__ == "__main__":
    campaign = Campaign(*sys.argv[1:4])
    sys.exit(campaign.go(range(1, 201) if "--all" in sys.argv else NUMBERS))
