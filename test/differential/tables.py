"""Random tables: columns of many types, with NULLs, duplicates, skew, and the awkward values of each type."""
import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Type:
    """A column type. family: types that compare with each other; values: the i-th value of its domain, as SQL."""

    name: str
    family: str
    prefix: str
    values: object
    special: tuple = ()
    declared: str = ""  # as in CREATE TABLE, where that is not the name


def _day(i):
    return f"'2024-01-01'::date + {i}"


TYPES = [
    Type("int2", "integer", "s", lambda i: str(i % 30000), ("-32768", "32767")),
    Type("int4", "integer", "i", str, ("-2147483648", "2147483647", "-1")),
    Type("int8", "integer", "l", str, ("-9223372036854775808", "9223372036854775807", "4294967297")),
    Type("float4", "float", "f", lambda i: f"{i / 2}", ("'NaN'", "'-0'", "'Infinity'", "'-Infinity'", "0.1")),
    Type("float8", "float", "d", lambda i: f"{i / 2}", ("'NaN'", "'-0'", "'Infinity'", "'-Infinity'", "0.1")),
    Type("numeric", "numeric", "n", lambda i: f"{i}.{'0' * (i % 4)}" if i % 4 else str(i),
         ("'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "1e30", "0.10", "123456789012345678901234567890.5", "-10000", "-10000.5", "-1.00000001", "1e-20")),
    Type("text", "text", "t", lambda i: f"'t{i}'", ("''", "' '", "'t1 '", "'é'", "repeat('x', 300)")),
    Type("varchar", "text", "v", lambda i: f"'t{i}'", ("''", "'t1 '"), "varchar(400)"),
    Type("bpchar", "text", "p", lambda i: f"'t{i}{' ' * (i % 3)}'", ("''", "'   '"), "char(8)"),
    Type("name", "text", "m", lambda i: f"'t{i}'", ("''",)),
    Type("bytea", "bytea", "b", lambda i: f"'\\x{i:04x}'", ("''", "'\\x00'", "'\\x0000'")),
    Type("uuid", "uuid", "u", lambda i: f"'00000000-0000-4000-8000-{i:012x}'"),
    Type("bool", "bool", "o", lambda i: "true" if i % 2 else "false"),
    Type("date", "date", "e", _day, ("'infinity'", "'-infinity'", "'4713-01-01 BC'")),
    Type("timestamp", "date", "a", lambda i: f"({_day(i)})::timestamp", ("'infinity'", "'-infinity'", "'2024-01-02 03:04:05.6'")),
    Type("timestamptz", "date", "z", lambda i: f"({_day(i)})::timestamptz", ("'infinity'", "'2024-01-02 03:04:05.6+09'")),
    Type("time", "time", "h", lambda i: f"'00:00'::time + {i} * interval '1 s'", ("'24:00'",)),
    Type("oid", "oid", "x", str, ("4294967295", "2147483648")),
    Type("mood", "enum", "q", lambda i: ("'low'", "'medium'", "'high'")[i % 3]),
    Type("interval", "interval", "y", lambda i: f"{i} * interval '1 day'", ("'1 mon'", "'30 days'", "'720 hours'")),
    Type("inet", "inet", "w", lambda i: f"'10.0.{i // 256 % 256}.{i % 256}'::inet", ("'10.0.0.1/8'", "'::1'")),
    Type("timetz", "timetz", "c", lambda i: f"('00:00+0{i % 3}'::timetz + {i} * interval '1 s')", ("'24:00+01'", "'23:00+00'")),
    Type("macaddr", "macaddr", "r", lambda i: f"'08:00:2b:01:{i // 256 % 256:02x}:{i % 256:02x}'::macaddr"),
    Type('"char"', "char", "g", lambda i: f"'{chr(65 + i % 26)}'", ("''", "'\\377'")),
    Type("int4[]", "ints", "ia", lambda i: f"ARRAY[{i}, NULL, {i % 3}]", ("'{}'", "'[0:1]={1,2}'", "'{1,2}'", "'{{1},{2}}'")),
    Type("text[]", "texts", "ta", lambda i: f"ARRAY['t{i}']", ("'{}'", "'{NULL}'", "'{\"NULL\"}'")),
    Type("int4range", "range", "k", lambda i: f"int4range({i}, {i + i % 7})", ("'empty'", "'(,5)'", "'(3,)'", "'(,)'")),
    Type("numrange", "numrange", "kn", lambda i: f"numrange({i}, {i}.50, '{'[(' [i % 2]}{')]'[i // 2 % 2]}')", ("'empty'", "'(,5.0]'", "'[NaN,NaN]'", "'(,)'")),
    Type("daterange", "daterange", "kd", lambda i: f"daterange({_day(i)}, {_day(i + i % 5)}, '{'[(' [i % 2]}{')]'[i // 2 % 2]}')",
         ("'empty'", "'(,2024-02-01)'", "'[2024-01-10,infinity]'", "'(-infinity,)'", "'(,)'")),
    Type("tsrange", "tsrange", "ks", lambda i: f"tsrange({_day(i)}, {_day(i)} + {i % 7} * interval '13 hours', '{'[(' [i % 2]}{')]'[i // 2 % 2]}')",
         ("'empty'", "'(,2024-02-01]'", "'[2024-01-10,infinity)'", "'(,)'")),
    Type("int4multirange", "multirange", "km", lambda i: f"int4multirange(int4range({i}, {i + 1}), int4range({i + 3}, {i + 5}))", ("'{}'",)),
    Type("pair", "record", "rec", lambda i: f"ROW({i % 40}, 't{i % 5}')::pair", ("ROW(NULL, NULL)", "ROW(1, NULL)")),
    Type("jsonb", "jsonb", "j", lambda i: f"'{{\"a\": {i}}}'::jsonb", ("'1'", "'1.0'", "'null'")),
]
ORDERED = {"integer", "float", "numeric", "text", "date", "time", "interval", "char", "bytea", "oid"}
# Families of range types, and of their elements.
RANGES_OVER = {"range": "integer", "numrange": "numeric", "daterange": "date", "tsrange": "date"}
# Families whose equal values may look different: which of them stands for a group depends on the order of rows.
AMBIGUOUS = {"float", "numeric", "interval", "jsonb", "numrange"}

SCHEMA = """
DROP SCHEMA IF EXISTS differential CASCADE;
CREATE SCHEMA differential;
SET search_path = differential, public;
CREATE TYPE mood AS ENUM ('low', 'medium', 'high');
CREATE TYPE pair AS (n integer, t text);
"""


@dataclasses.dataclass
class Column:
    name: str
    type: Type


@dataclasses.dataclass
class Table:
    """rows: SQL literals or None for NULL; column 0 is id, unique and never NULL."""

    name: str
    columns: list
    rows: list
    primary_key: bool

    def sql(self):
        """Commands that make the table again, with its rows and statistics."""
        columns = ", ".join(
            f"{c.name} {c.type.declared or c.type.name}" + (" PRIMARY KEY" if c.name == "id" and self.primary_key else "")
            for c in self.columns
        )
        commands = [f"DROP TABLE IF EXISTS {self.name} CASCADE;", 
                    # Many pages, for the processes of a parallel scan to divide.
                    f"CREATE TABLE {self.name} ({columns}) WITH (fillfactor = 10);"]
        if self.rows:
            values = ",\n".join("(" + ", ".join("NULL" if v is None else v for v in row) + ")" for row in self.rows)
            commands.append(f"INSERT INTO {self.name} VALUES\n{values};")
        commands.append(f"ANALYZE {self.name};")
        return "\n".join(commands)


@dataclasses.dataclass
class Family(Table):
    """A table with children, which have the rows: partitions, or tables that inherit; one has its columns in another order."""

    partitioned: bool = False

    def sql(self):
        columns = [f"{c.name} {c.type.declared or c.type.name}" for c in self.columns]
        name = self.name
        commands = [f"DROP TABLE IF EXISTS {name}, {name}_0, {name}_1, {name}_2 CASCADE;",
                    f"CREATE TABLE {name} ({', '.join(columns)}){' PARTITION BY HASH (id)' if self.partitioned else ''};",
                    f"CREATE TABLE {name}_1 ({', '.join(reversed(columns))});"]
        for child in range(3):
            if self.partitioned:
                bounds = f"FOR VALUES WITH (MODULUS 3, REMAINDER {child})"
                commands.append(f"ALTER TABLE {name} ATTACH PARTITION {name}_1 {bounds};" if child == 1 else
                                f"CREATE TABLE {name}_{child} PARTITION OF {name} {bounds};")
            else:
                commands.append(f"ALTER TABLE {name}_1 INHERIT {name};" if child == 1 else
                                f"CREATE TABLE {name}_{child} () INHERITS ({name});")
        for part in [self.rows] if self.partitioned else [self.rows[i::3] for i in range(3)]:
            values = ",\n".join("(" + ", ".join("NULL" if v is None else v for v in row) + ")" for row in part)
            into = name if self.partitioned else f"{name}_{len(part) % 3}"
            if part:
                commands.append(f"INSERT INTO {into} ({', '.join(c.name for c in self.columns)}) VALUES\n{values};")
        commands.append(f"ANALYZE {name};")
        return "\n".join(commands)


def make_family(random_, name, table):
    """A table with children that has a table's columns and rows."""
    return Family(name, table.columns, table.rows[:200], False, partitioned=random_.random() < 0.6)


_ID = next(t for t in TYPES if t.name == "int4")


def make_table(random_: random.Random, name, families):
    """A table with columns of the given families, so that tables made with the same ones can be joined."""
    row_count = random_.choice([0, 1, 2, 31, 33, 60, 80, 100, 100, 100, 150, 150, 200, 200, 200, 300, 300, 300, 500, 2000])
    columns = [Column("id", _ID)]
    for family in families:
        types = [t for t in TYPES if t.family == family]
        for type_ in random_.sample(types, min(len(types), random_.choice([1, 2, 3]))):
            columns.append(Column(f"{type_.prefix}{len(columns)}", type_))
    if random_.random() < 0.15:
        columns.append(Column(f"wide{len(columns)}", Type("text", "wide", "wide", lambda i: f"repeat('w{i}', {i * 97 % 2000})")))
    makers = [_value_maker(random_, column, row_count) for column in columns[1:]]
    rows = [[str(i)] + [make() for make in makers] for i in range(row_count)]
    random_.shuffle(rows)
    return Table(name, columns, rows, primary_key=random_.random() < 0.5)


def _value_maker(random_, column, row_count):
    """Draws values of one column: how many are NULL, equal, skewed or special is its own choice."""
    null_share = random_.choice([0, 0, 0, 0.05, 0.3, 1.0 if random_.random() < 0.1 else 0.1])
    distinct = max(1, random_.choice([row_count, row_count // 3, row_count // 10, 20, 40, 1 if random_.random() < 0.2 else 10]))
    skew = random_.choice([0, 0, 0, 0.3])
    special_share = random_.choice([0, 0, 0, 0.05]) if column.type.special else 0

    def make():
        if random_.random() < null_share:
            return None
        if random_.random() < special_share:
            return random_.choice(column.type.special)
        return column.type.values(0 if random_.random() < skew else random_.randrange(distinct))

    return make
