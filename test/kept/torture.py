#!/usr/bin/env python3
"""torture.py [--seconds N] [--standby HOST] [--restart COMMAND [--restart-standby COMMAND]]: changes tables in every way there is, while others
compare what queries give with columns that the server keeps and what core gives, each time in one snapshot. Half of them keep what they read
themselves, the others leave it to the keeper.

Against the cluster that PGHOST and so on name. --standby: others read from its standby, too. --restart: the servers are killed now and then, and
so are backends, and the commands, which restart a cluster at once (immediate), run. The last line says how often was compared, of how many
comparisons was looked whether they used kept columns, how many did, and of those how many on the standby, how many differed, and how many errors
came that nobody expects.
"""
import argparse
import functools
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from libpq import Connection, DatabaseError  # noqa: E402

ROWS = 16000
TABLES = ["plain", "updated", "part_1", "part_2"]
FILE = "%d"  # rows of a region
COLUMNS = "id, k, v, w, d, p, t, pad, region"
SETUP = r"""
CREATE EXTENSION IF NOT EXISTS gpujoin;
CREATE FUNCTION fill(seed integer, count integer, region integer) RETURNS TABLE (id integer, k integer, v smallint, w bigint, d date,
    p numeric, t text, pad text, r integer) LANGUAGE sql AS $$
    SELECT i, nullif((i * 7 + seed) % 23, 5), ((i + seed) % 300 - 150)::smallint, i * 4294967296 + seed, '2024-01-01'::date + (i + seed) % 60,
        ((i * 13 + seed) % 9999) / 100.0, CASE WHEN i % 11 <> 0 THEN 't' || (i + seed) % 9 END, repeat('x', 60), region
    FROM generate_series(1, count) AS i $$;
CREATE TABLE plain (id integer, k integer, v smallint, w bigint, d date, p numeric(12, 2), t text, pad text, region integer);
CREATE TABLE updated (LIKE plain) WITH (fillfactor = 80);
CREATE INDEX ON plain (id);
CREATE INDEX updated_id ON updated (id);
CREATE INDEX ON updated (k);
CREATE TABLE part (LIKE plain) PARTITION BY LIST (region);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
CREATE TABLE spare (LIKE part_1);
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 4 AS name FROM generate_series(0, 22) AS i;
INSERT INTO plain SELECT * FROM fill(1, {rows}, 0);
INSERT INTO updated SELECT * FROM fill(2, {rows}, 0);
INSERT INTO part_1 SELECT * FROM fill(3, {rows}, 1);
INSERT INTO part_2 SELECT * FROM fill(4, {rows}, 2);
INSERT INTO spare SELECT * FROM fill(5, {rows}, 1);
-- Not volatile, so that all its queries have the snapshot of the one that calls it. used: fewer than half of the blocks were read.
CREATE FUNCTION compare(relation text, queries text[], OUT used integer, OUT differences text) LANGUAGE plpgsql STABLE AS $$
DECLARE
    query text;
    lines text;
    core text[];
    gpu text[];
    before bigint;
BEGIN
    used := 0;
    FOREACH query IN ARRAY queries LOOP
        lines := 'SELECT coalesce(array_agg(q::text ORDER BY q::text), ''{}'') FROM (' || query || ') AS q';
        PERFORM set_config('gpujoin.enabled', 'off', true);
        EXECUTE lines INTO core;
        PERFORM set_config('gpujoin.enabled', 'on', true);
        before := pg_stat_get_xact_blocks_fetched(relation::regclass);
        EXECUTE lines INTO gpu;
        used := used + (pg_stat_get_xact_blocks_fetched(relation::regclass) - before < pg_relation_size(relation) / 8192 / 2)::integer;
        IF gpu <> core THEN
            differences := concat(differences, query, E'\n  core:    ', array_to_string(core, ' '),
                                  E'\n  gpujoin: ', array_to_string(gpu, ' '), E'\n');
        END IF;
    END LOOP;
END $$;
"""
QUERIES = [
    "SELECT k, count(*), count(v), sum(v), min(v), max(v) FROM {0} GROUP BY k",
    "SELECT t, sum(p), avg(p), max(w), min(d) FROM {0} GROUP BY t",
    "SELECT count(*), sum(w), sum(p) FROM {0} WHERE v > {1} AND d < '2024-02-20'",
    "SELECT d, count(*), sum(id) FROM {0} WHERE k <> {2} GROUP BY d",
    "SELECT name, count(*), sum(p) FROM {0} JOIN dim USING (k) WHERE id > {3} GROUP BY name",
    "SELECT k, count(e), sum(e) FROM {0} GROUP BY k",
    "SELECT name, count(r.k), sum(p), max(w), count(t) FROM dim LEFT JOIN {0} AS r ON r.k = dim.k AND r.v > {1} GROUP BY name",
    "SELECT k % 4, count(*) FILTER (WHERE v < 0), sum(v * 2) FROM {0} WHERE t LIKE 't%' GROUP BY k % 4",
    "SELECT t, count(*), sum(CASE WHEN p > 50 THEN w ELSE 0 END) FROM {0} WHERE p < {2}.5 GROUP BY t",
    "SELECT extract(month FROM d), count(*), max(v) FROM {0} WHERE coalesce(t, 'none') <> 't3' GROUP BY extract(month FROM d)",
    "SELECT v, count(*), max(id) FROM {0} WHERE id BETWEEN {3} AND {4} GROUP BY v",
    # Rows as they are: a subquery that stays one.
    "SELECT id, k, v, t FROM {0} WHERE k = {2} OFFSET 0",
    "SELECT id, w, d, p, e FROM {0} WHERE v > {1} AND d < '2024-02-20' OFFSET 0",
]
# Of sessions whose plans are parallel.
PARALLEL = ("SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; "
            "SET gpujoin.startup_cost = 0; SET gpujoin.encode_cost = 1")  # what must be read is for workers to divide
# What may happen to a reader: it cannot be serialized, or has to give way; the server or the cluster is lost; a column or table
# is not there now.
EXPECTED = {"40001", "40P01", "55P03", "58000", "57P01", "57P02", "57P03", "08006", "08003", "08001", "42703", "42P01", None}
# And to a writer besides: a partition is one no more, a column is there already or is used; chunks are kept by somebody else
# at that moment.
OF_WRITERS = EXPECTED | {"42P17", "42701", "0A000", "42804", "23514", "2BP01", "55000", "55006", "22003", "42P07", "42809"}


def small(most=40):
    first = random.randint(1, ROWS)
    return f"id BETWEEN {first} AND {first + random.randint(0, most)}"


def rows_of(table):
    region = {"part_1": 1, "part_2": 2}.get(table, 0)
    return f"SELECT * FROM fill({random.randint(1, 1000)}, {random.randint(1, 60)}, {region})"


def insert(table):
    return [f"INSERT INTO {table} ({COLUMNS}) {rows_of(table)}"]


def update(table):
    return [f"UPDATE {table} SET k = k + 1 WHERE {small()}"]


def hot_update(table):
    return [f"UPDATE {table} SET v = (v + 7) % 200, p = p + 1, t = 'u' || v WHERE {small(5)}"]


def delete(table):
    return [f"DELETE FROM {table} WHERE {small()}"]


def change(table):
    return random.choice([insert, update, hot_update, delete])(table)


def several(table):
    return ["BEGIN", *change(table), "SAVEPOINT s", *change(table), random.choice(["ROLLBACK TO s", "RELEASE s"]), *change(table),
            f"SELECT pg_sleep({random.random() / 10})", random.choice(["COMMIT", "ROLLBACK"])]


def lock_rows(table):
    mode = random.choice(["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"])
    return ["BEGIN", f"SELECT count(*) FROM (SELECT FROM {table} WHERE {small()} FOR {mode}) AS q", *random.choice([[], change(table)]),
            random.choice(["COMMIT", "ROLLBACK"])]


def vacuum(table):
    return [f"VACUUM {random.choice(['', '', '(FREEZE) ', '(INDEX_CLEANUP OFF) ', '(DISABLE_PAGE_SKIPPING) '])}{table}"]


def cut_end(table):
    return [f"DELETE FROM {table} WHERE ctid >= '({random.randint(150, 400)},1)'", f"VACUUM (TRUNCATE) {table}"]


def refill(table):
    region = {"part_1": 1, "part_2": 2}.get(table, 0)
    return [f"TRUNCATE {table}", f"INSERT INTO {table} ({COLUMNS}) SELECT * FROM fill({random.randint(1, 1000)}, {ROWS}, {region})"]


def replace(table):
    return ["BEGIN", *refill(table), random.choice(["COMMIT", "ROLLBACK"])] if random.random() < 0.5 else refill(table)


def copy_frozen(table):
    region = {"part_1": 1, "part_2": 2}.get(table, 0)
    return ["BEGIN", f"TRUNCATE {table}", f"COPY {table} ({COLUMNS}) FROM '{FILE % region}' (FREEZE)",
            random.choice(["COMMIT", "COMMIT", "ROLLBACK"])]


def rewrite(table):
    return [f"VACUUM FULL {table}"] if table != "updated" else ["CLUSTER updated USING updated_id"]


def in_or_out(statement):
    return [statement] if random.random() < 0.6 else ["BEGIN", statement, random.choice(["COMMIT", "ROLLBACK"])]


def add_column(table):
    target = "part" if table.startswith("part_") else table
    default = random.choice(["", " DEFAULT 5", f" DEFAULT {random.randint(1, 1000)}"])
    if target == "part":
        return ["BEGIN", f"ALTER TABLE part ADD COLUMN e integer{default}", f"ALTER TABLE spare ADD COLUMN e integer{default}", "COMMIT"]
    return in_or_out(f"ALTER TABLE {target} ADD COLUMN e integer{default}")


def drop_column(table):
    target = "part" if table.startswith("part_") else table
    if target == "part":
        return ["BEGIN", "ALTER TABLE part DROP COLUMN e", "ALTER TABLE spare DROP COLUMN e", "COMMIT"]
    return in_or_out(f"ALTER TABLE {target} DROP COLUMN e")


def retype(table):
    if table.startswith("part_"):
        return vacuum(table)
    column = random.choice(["v TYPE integer USING v + 1", "v TYPE smallint USING (v % 1000)::smallint", "p TYPE numeric(14, 2)",
                            "p TYPE numeric(12, 2)", "t TYPE varchar(40)", "t TYPE text"])
    return in_or_out(f"ALTER TABLE {table} ALTER COLUMN {column}")


def keep(table):
    """Patches too, of what was changed since: the keeper makes them only after a while."""
    return [f"SELECT gpujoin_keep('{table}')"]


def swap(_):
    return ["BEGIN", "ALTER TABLE part DETACH PARTITION part_1", "ALTER TABLE part_1 RENAME TO other", "ALTER TABLE spare RENAME TO part_1",
            "ALTER TABLE other RENAME TO spare", "ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES IN (1)",
            random.choice(["COMMIT", "COMMIT", "ROLLBACK"])]


# How often each is chosen.
WAYS = {insert: 8, update: 8, hot_update: 10, delete: 6, several: 10, lock_rows: 8, vacuum: 26, cut_end: 2, replace: 2, copy_frozen: 2,
        rewrite: 2, add_column: 3, drop_column: 3, retype: 3, swap: 2, keep: 12}


class Torture:
    def __init__(self, seconds, clusters):
        """clusters: the parameters that connect to each, and the command that restarts it."""
        self.end = time.monotonic() + seconds
        self.clusters = clusters
        self.lock = threading.Lock()
        self.counts = {"compared": 0, "looked": 0, "used": 0, "standby": 0, "different": 0, "unexpected": 0}
        self.done = {}
        self.errors = {}

    def count(self, name, by=1):
        with self.lock:
            self.counts[name] += by

    def complain(self, kind, text):
        with self.lock:
            self.counts[kind] += 1
            if self.counts[kind] <= 5:
                print(f"# {kind}: {text}".replace("\n", "\n# ")[:700], flush=True)

    def note_error(self, error, expected, doing):
        with self.lock:
            self.errors[error.sqlstate] = self.errors.get(error.sqlstate, 0) + 1
        if error.sqlstate not in expected:
            self.complain("unexpected", f"{error.sqlstate} {error} ({doing})")

    def is_over(self):
        return time.monotonic() >= self.end

    def client(self, step, settings, expected, parameters=""):
        """Takes steps on a connection, and makes another when it is lost."""
        connection = None
        while not self.is_over():
            doing = []
            try:
                if not connection:
                    connection = Connection(parameters)
                    connection.execute(settings)
                step(connection, doing)
            except DatabaseError as error:
                self.note_error(error, expected, doing[-1:] or "connecting")
                try:
                    if error.sqlstate is None:
                        raise
                    connection.execute("ROLLBACK")
                    connection.execute("CLOSE ALL")
                except DatabaseError:
                    if connection:
                        connection.close()
                    connection = None
                    time.sleep(0.1)
        if connection:
            connection.close()

    def write(self, connection, doing):
        table = random.choice(TABLES)
        way = random.choices(list(WAYS), WAYS.values())[0]
        for statement in way(table):
            doing.append(statement)
            connection.execute(statement)
        with self.lock:
            self.done[way.__name__] = self.done.get(way.__name__, 0) + 1
        if way not in (vacuum, several) and random.random() < 0.5:
            connection.execute(vacuum(table)[0])
        time.sleep(random.random() / 20)

    def is_used(self, connection, doing, query):
        """Of what workers do, the statistics of their leader know nothing."""
        doing.append(f"EXPLAIN (ANALYZE, TIMING OFF) {query}")
        plan = connection.execute(doing[-1])
        return any(re.search(r"Kept: [1-9]", line) for line, in plan)

    def count_used(self, looked, used, is_standby):
        self.count("looked", looked)
        self.count("used", used)
        self.count("standby", used if is_standby else 0)

    def compare(self, connection, doing, table, queries, is_parallel, is_standby=False):
        array = ", ".join("$q$" + query + "$q$" for query in queries)
        doing.append(f"compare {queries}")
        used, differences = connection.execute(f"SELECT * FROM compare('{table}', ARRAY[{array}])")[0]
        self.count("compared", len(queries))
        if not is_parallel:
            self.count_used(len(queries), int(used), is_standby)
        elif random.random() < 0.3:
            is_used = self.is_used(connection, doing, queries[0])
            self.count_used(1, int(is_used), is_standby)
        if differences:
            self.complain("different", differences)

    def compare_cursors(self, connection, doing, queries):
        """Opened in one snapshot, and read a moment later, or when the transaction has ended."""
        names = [f"{name}{i}" for i in range(len(queries)) for name in ("core", "kept")]
        for i, name in enumerate(names):
            doing.append(f"DECLARE {name} CURSOR WITH HOLD FOR {queries[i // 2]}")
            connection.execute(f"SET LOCAL gpujoin.enabled = {'off' if i % 2 == 0 else 'on'}; {doing[-1]}")
        time.sleep(random.random() / 10)
        if random.random() < 0.5:
            connection.execute("COMMIT")
        for i, query in enumerate(queries):
            core, kept = (sorted(connection.execute(f"FETCH ALL FROM {name}"), key=repr) for name in names[2 * i:2 * i + 2])
            self.count("compared")
            if core != kept:
                self.complain("different", f"cursors of {query}\n  core: {core}\n  gpujoin: {kept}")
        connection.execute("; ".join(f"CLOSE {name}" for name in names) + "; COMMIT")

    def choose(self):
        """A table, and queries that read it, by itself or as the partition that it is."""
        table = random.choice(TABLES)
        source = {"part_1": "part", "part_2": "part"}.get(table, table)
        values = (random.randint(-150, 150), random.randint(0, 25), random.randint(0, ROWS), random.randint(0, ROWS))
        queries = [query.format(source, *values) for query in random.sample(QUERIES, 2)]
        if source == "part":
            only = f" region = {table[-1]}"
            queries = [re.sub(" WHERE ", f" WHERE{only} AND ", query) if "WHERE" in query else
                       re.sub("( GROUP BY|$)", lambda found: f" WHERE{only}{found[1]}", query, count=1) for query in queries]
        return table, queries

    def read(self, connection, doing, is_parallel):
        level = random.choice(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "REPEATABLE READ", "SERIALIZABLE"])
        table, queries = self.choose()
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        if level != "READ COMMITTED" and random.random() < 0.2:
            return self.compare_cursors(connection, doing, queries)
        own = random.random() < 0.2
        if own:
            doing.extend(change(table))
            connection.execute(doing[-1])
        for _ in range(1 if level == "READ COMMITTED" else random.randint(2, 4)):
            self.compare(connection, doing, table, queries, is_parallel)
            time.sleep(random.random() / 10)
        if own and random.random() < 0.5:
            connection.execute(f"SAVEPOINT s; {change(table)[0]}")
            self.compare(connection, doing, table, queries, is_parallel)
            connection.execute("ROLLBACK TO s")
            self.compare(connection, doing, table, queries, is_parallel)
        connection.execute("COMMIT" if random.random() < 0.5 else "ROLLBACK")

    def read_standby(self, connection, doing, is_parallel):
        """Others wait for recovery, and recovery waits for nobody for long."""
        level = random.choice(["READ COMMITTED", "REPEATABLE READ"])
        table, queries = self.choose()
        if random.random() < 0.1:
            doing.extend(keep(table))
            connection.execute(doing[-1])
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        if level != "READ COMMITTED" and random.random() < 0.2:
            return self.compare_cursors(connection, doing, queries)
        for _ in range(1 if level == "READ COMMITTED" else random.randint(1, 3)):
            self.compare(connection, doing, table, queries, is_parallel, is_standby=True)
            time.sleep(random.random() / 10)
        connection.execute("COMMIT")

    def disturb(self):
        """Kills servers and backends, and restarts the cluster."""
        number = 0
        while not self.is_over():
            time.sleep(min(2.5, max(0.0, self.end - time.monotonic())))
            number += 1
            which = number // 4 % len(self.clusters)
            parameters, restart = self.clusters[which]
            try:
                if number % 4 == 0:
                    subprocess.run(restart, shell=True, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
                    name = "restart"
                else:
                    connection = Connection(parameters)
                    victim = (connection.value("SELECT pg_backend_pid()") if number % 4 == 2 else
                              connection.value("SELECT server_pid FROM gpujoin_status() WHERE ready"))
                    os.kill(int(victim), signal.SIGKILL)
                    connection.close()
                    name = "crash" if number % 4 == 2 else "kill"
                name = ["", "standby_"][which] + name
                with self.lock:
                    self.done[name] = self.done.get(name, 0) + 1
            except (DatabaseError, IndexError, ProcessLookupError):
                continue

    def run(self):
        settings = "SET gpujoin.force = on; SET deadlock_timeout = '50ms'; SET max_parallel_workers_per_gather = "
        jobs = [(self.write, settings + "0; SET lock_timeout = '400ms'", OF_WRITERS)] * 3
        serial, parallel = settings + "0", settings + "2; " + PARALLEL
        by_keeper, by_scans = "; SET gpujoin.keep_in_background = on", "; SET gpujoin.keep_in_background = off"
        for keeps in (by_keeper, by_scans):
            jobs.append((functools.partial(self.read, is_parallel=False), serial + keeps, EXPECTED))
            jobs.append((functools.partial(self.read, is_parallel=True), parallel + keeps, EXPECTED))
        for parameters, _ in self.clusters[1:]:
            jobs.append((functools.partial(self.read_standby, is_parallel=False), serial + by_keeper, OF_WRITERS, parameters))
            jobs.append((functools.partial(self.read_standby, is_parallel=True), parallel + by_scans, OF_WRITERS, parameters))
        threads = [threading.Thread(target=self.client, args=job) for job in jobs]
        if self.clusters[0][1]:
            threads.append(threading.Thread(target=self.disturb))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("# done:", ", ".join(f"{name} {count}" for name, count in sorted(self.done.items())))
        print("# errors:", ", ".join(f"{state or 'lost connection'} {count}" for state, count in self.errors.items()) or "none")
        print("# result:", " ".join(f"{name}={count}" for name, count in self.counts.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--restart")
    parser.add_argument("--standby")
    parser.add_argument("--restart-standby")
    arguments = parser.parse_args()
    connection = Connection()
    connection.execute(SETUP.replace("{rows}", str(ROWS)))
    connection.execute("VACUUM ANALYZE")
    global FILE
    FILE = connection.value("SHOW data_directory") + "/" + FILE
    for region in range(3):
        connection.execute(f"COPY (SELECT * FROM fill({region}, {ROWS}, {region})) TO '{FILE % region}'")
    connection.close()
    clusters = [("", arguments.restart)]
    if arguments.standby:
        clusters.append((f"host={arguments.standby}", arguments.restart_standby))
    Torture(arguments.seconds, clusters).run()


if __name__ == "__main__":
    main()
