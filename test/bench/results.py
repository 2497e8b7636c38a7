"""Results of the benchmarks: how they are kept, and how their tables look.

A file of results has a line of JSON for each row of a table, below a first line that says of which bench, machine and
day they are. Benches print rows as they come, and keep them where they are given --results FILE; test/bench/tables
makes docs/measurements/*.md of such files. Times are in seconds. A field that is missing was not measured, a time that
is null was longer than the row's "timeout"; two values are the least and the greatest that were seen.
"""
import datetime
import json
import os
import pathlib
import shlex
import sys

TOLERANCE = 1.2  # a choice that takes this much longer than the better is wrong
GOOD = 1.1  # times core's: a statement that takes longer is slower


def short(number):
    """12.3 G."""
    prefix = 0
    while number >= 999.5 and prefix < 4:
        number, prefix = number / 1000, prefix + 1
    decimals = 0 if number >= 99.95 or number == 0 else 1 if number >= 9.995 else 2
    return f"{number:.{decimals}f}" + ("", " k", " M", " G", " T")[prefix]


# A cell is made of a row and the name of its field.
def text(row, name):
    return str(row.get(name, ""))


def _cell(form):
    def cell(row, name):
        value = row.get(name)
        return "" if value is None else " to ".join(map(form, value)) if isinstance(value, list) else form(value)
    return cell


def _time(form):
    def cell(row, name):
        is_too_long = name in row and row[name] is None
        return f"> {row['timeout']:g} s" if is_too_long else _cell(form)(row, name)
    return cell


count = _cell("{:,}".format)
plain = _cell("{:g}".format)
hundredths = _cell("{:.2f}".format)
whole = _cell("{:,.0f}".format)
tenths = _cell("{:.1f}".format)
rounded = _cell(short)
rate = _cell(lambda value: short(value) + "/s")
bytes_rate = _cell(lambda value: short(value) + "B/s")
times = _cell(lambda value: short(value) + "×")
megabytes = _cell("{:.0f} MB".format)
seconds = _time(lambda value: f"{round(value, 3):g} s")
duration = _time(lambda value: f"{value * 1000:.3g} ms" if value < 0.9995 else f"{value:.3g} s")
percent = _cell(lambda value: f"{100 * value:.0f} %")
milliseconds = _time(lambda value: f"{value * 1000:.4g} ms")


def width(row, name):
    return "wide" if row[name] else "narrow"


def gain(row, name):
    """Core's time in units of GPU Join's; more than that where core took too long."""
    measured = [row[field] for field in ("core_serial", "core") if field in row]
    if name not in row:
        return ""
    return f"{row[name]:.1f}" if any(measured) else f"> {row[name]:.0f}"


def choice(row, name):
    return f"{row[name]:.2f}" + (" **wrong**" if row[name] > TOLERANCE else "") if name in row else ""


def statement_ratio(row, name):
    """The default's time in units of core's; less than that where core took too long."""
    if name not in row:
        return "1" if row.get("has") == "core's plan" else ""
    bound = "< " if row.get("core", 0) is None else "> " if row.get("default", 0) is None else ""
    return f"{bound}{row[name]:.2f}" + (" **slower**" if row[name] > GOOD else "")


def session_ratio(row, name):
    ratio = row["core"] / row["default"]
    return f"{ratio:.2f}" + (" **slower**" if ratio > GOOD else "")


def data(row, name):
    return ", ".join(filter(None, (row[name], row.get("order"))))


def share_of_limit(row, name):
    """64 %, and for what mostly writes 64 % (writes 51 %)."""
    if "failure" in row:
        return row["failure"]
    writes = f" (writes {row['writes']:.0%})" if "writes" in row else ""
    return (f"{row[name]:.0%}{writes}" if name in row else "").replace("%", " %")


def nanoseconds(row, name):
    return tenths(row["ns"], name)


# Of each table the fields that tell its rows apart, and its columns: heading, cell, field.
TABLES = {
    "joins": (("workload",), (
        ("workload", text, "workload"), ("what", text, "what"), ("rows out", count, "rows_out"),
        ("core, 1 process", seconds, "core_serial"), ("core, all workers", seconds, "core"),
        ("GPU Join, 1 process", seconds, "gpujoin_serial"), ("GPU Join, all workers", seconds, "gpujoin"),
        ("best core : best GPU Join", gain, "ratio"), ("plan", text, "plan"), ("algorithm", text, "algorithm"),
        ("partitions", count, "partitions"), ("peak at seal", megabytes, "seal_mb"), ("server memory", megabytes, "server_mb"),
        ("backend memory", megabytes, "backend_mb"))),
    "choices": (("join", "r", "s", "rate", "wide", "workers"), (
        ("join", text, "join"), ("r", count, "r"), ("s", count, "s"), ("matches a row", plain, "rate"),
        ("width", width, "wide"), ("workers", text, "workers"), ("core", duration, "core"),
        ("GPU Join", duration, "gpujoin"), ("cost of core", whole, "core_cost"), ("cost of GPU Join", whole, "gpujoin_cost"),
        ("chosen", text, "chosen"), ("chosen : better", choice, "ratio"))),
    "statements": (("schema", "facts", "statement", "share", "workers", "plans"), (
        ("schema", text, "schema"), ("facts", count, "facts"), ("statement", text, "statement"), ("share", plain, "share"),
        ("workers", text, "workers"), ("core", duration, "core"), ("default", duration, "default"),
        ("default : core", statement_ratio, "ratio"), ("processor time", hundredths, "processors"),
        ("cost of core", whole, "core_cost"), ("cost of default", whole, "default_cost"), ("default has", text, "has"))),
    "sessions": (("join", "sessions"), (
        ("small join", text, "join"), ("sessions", text, "sessions"), ("default has", text, "has"),
        ("core, joins a second", whole, "core"), ("default, joins a second", whole, "default"),
        ("core : default", session_ratio, "ratio"))),
    "star": (("query", "scale", "workers", "amounts"), (
        ("query", text, "query"), ("scale", plain, "scale"), ("amounts", text, "amounts"), ("workers", text, "workers"),
        ("rows out", count, "rows"), ("core", duration, "core"), ("with gpujoin", duration, "gpujoin"),
        ("with gpujoin : core", statement_ratio, "ratio"), ("it has", text, "has"), ("reading", percent, "reading"),
        ("joins", percent, "joins"), ("waiting", percent, "waiting"), ("above", percent, "above"))),
    "orders": (("query", "scale", "workers", "amounts"), (
        ("query", text, "query"), ("scale", plain, "scale"), ("workers", text, "workers"),
        ("rows out", count, "rows"), ("core", duration, "core"), ("with gpujoin", duration, "gpujoin"),
        ("with gpujoin : core", statement_ratio, "ratio"), ("it has", text, "has"), ("reading", percent, "reading"),
        ("joins", percent, "joins"), ("waiting", percent, "waiting"), ("above", percent, "above"))),
    "fairness": (("join",), (
        ("small join", text, "join"), ("median", milliseconds, "median"),
        ("95th percentile", milliseconds, "percentile"))),
    "planning": (("shape",), (
        ("tables", text, "shape"), ("core", duration, "core"), ("with gpujoin", duration, "gpujoin"),
        ("ratio", hundredths, "ratio"), ("ratio before", hundredths, "before"))),
    "engine": (("workload", "variant", "algorithm", "engine", "data", "order"), (
        ("workload", text, "workload"), ("", text, "variant"), ("algorithm", text, "algorithm"),
        ("engine", text, "engine"), ("data", data, "data"), ("rows in", rounded, "rows_in"), ("rows out", rounded, "rows_out"),
        ("time", duration, "time"), ("rows (nested loop: pairs)", rate, "work"), ("bytes", bytes_rate, "bytes"),
        ("of limit", share_of_limit, "limit"), ("to legacy", times, "to_legacy"), ("to CPU engine", times, "to_cpu"))),
    "reading": (("columns",), ()),
}
WORDS = {text, width, data}  # cells that are words, or numbers that nobody compares


def columns_of(table, rows):
    """Those of "reading" go by what was compared."""
    if table != "reading":
        return TABLES[table][1]
    return (("columns read", text, "columns"), *((name, nanoseconds, name) for name in rows[0]["ns"]))


def line(cells):
    return "| " + " | ".join(cells) + " |"


def head_lines(columns):
    return [line(heading for heading, _, _ in columns),
            "|" + "|".join("---" if cell in WORDS else "---:" for _, cell, _ in columns) + "|"]


def row_line(columns, row):
    return line(cell(row, name) or "-" for _, cell, name in columns)


def table_lines(table, rows):
    """The table in markdown, without the columns that no row fills."""
    columns = [column for column in columns_of(table, rows) if any(column[1](row, column[2]) for row in rows)]
    return head_lines(columns) + [row_line(columns, row) for row in rows]


class Results:
    """Rows by what tells them apart, in a file where a path is given; a file that is there already is gone on with."""

    def __init__(self, path, head):
        self.path, self.head, self.rows, self.printed = path and pathlib.Path(path), head, {}, None
        if path and os.path.exists(path):
            self.head, rows = read(path)
            self.rows = {self.key(row): row for row in rows}

    @staticmethod
    def key(row):
        return (row["table"], *(row.get(name) for name in TABLES[row["table"]][0]))

    def find(self, row):
        """What is known of a row with the same key."""
        return self.rows.get(self.key(row))

    def keep(self, row):
        self.rows[self.key(row)] = row
        if self.path:
            lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in (self.head, *self.rows.values())]
            beside = self.path.with_name(self.path.name + ".new")
            beside.write_text("".join(lines))
            beside.replace(self.path)

    def show(self, row):
        """Keeps the row, and prints it below the table's heading."""
        self.keep(row)
        columns = columns_of(row["table"], [row])
        if self.printed != row["table"]:
            print("\n".join(head_lines(columns)))
        self.printed = row["table"]
        print(row_line(columns, row), flush=True)


def read(path):
    """(head, rows) of a file."""
    with open(path) as lines:
        head, *rows = map(json.loads, lines)
    return head, rows


def head_of(bench, machine, db, command=None):
    """What is said of a run of test/bench/COMMAND that begins now. command: as the bench is called, where not given."""
    words = [word for word, before in zip(sys.argv[1:], sys.argv) if not {word, before} & {"--machine", "--results"}]
    return {"bench": bench, "machine": machine, "postgres": db.value("SHOW server_version").split()[0],
            "gpujoin": db.value("SELECT gpujoin_version()"), "date": datetime.date.today().isoformat(),
            "command": shlex.join([f"test/bench/{command or bench}", *words])}
