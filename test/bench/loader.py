"""Makes the tables of a schema (schemas.Table) with several sessions: rows in pieces, then indexes, then statistics. Tables
that are there already, in a PostgreSQL schema of their own, are left as they are."""
import sys
import threading
import time

import libpq

CHUNK = 500_000  # rows that one INSERT makes


class Loader:
    """indexed_facts: fact tables of more rows have no indexes but their primary key."""

    def __init__(self, sessions, indexed_facts=0, kind="UNLOGGED TABLE"):
        self.sessions, self.indexed_facts, self.kind = sessions, indexed_facts, kind

    def make(self, db, namespace, tables):
        # A crash empties unlogged tables, this one too.
        if (db.value(f"SELECT to_regclass('{namespace}.done') IS NOT NULL") == "t"
                and db.value(f"SELECT count(*) FROM {namespace}.done") == "1"):
            return
        print(f"making {namespace}", file=sys.stderr)
        began, tables = time.monotonic(), list(tables)
        db.execute(f"DROP SCHEMA IF EXISTS {namespace} CASCADE; CREATE SCHEMA {namespace}")
        db.execute(f"SET search_path = {namespace}, public")
        rows = "generate_series({}::int8, {}::int8 - 1) i"
        for table in tables:
            db.execute(f"CREATE {self.kind} {table.name} AS SELECT {table.columns} FROM {rows.format(0, 0)}")
        self.run([f"INSERT INTO {namespace}.{table.name} SELECT {table.columns} FROM "
                  + rows.format(first, min(first + CHUNK, table.rows))
                  for table in tables for first in range(0, table.rows, CHUNK)])
        self.run([f"SET maintenance_work_mem = '1GB'; {command}"
                  for table in tables for command in self.indexes(namespace, table)])
        self.run([f"VACUUM (FREEZE, ANALYZE) {namespace}.{table.name}" for table in tables])
        for table in tables:
            for column, other in table.references:
                db.execute(f"ALTER TABLE {table.name} ADD FOREIGN KEY ({column}) REFERENCES {other} NOT VALID")
        db.execute(f"CREATE {self.kind} {namespace}.done AS SELECT true")
        print(f"made in {time.monotonic() - began:.0f} s", file=sys.stderr)

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
