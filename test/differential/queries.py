"""Random join queries over random tables, kept as parts so that a failing one can be reduced part by part."""
import copy
import dataclasses

from tables import AMBIGUOUS, ORDERED

JOIN_KINDS = ["INNER", "LEFT", "RIGHT", "FULL"]
SUBLINKS = ["EXISTS", "NOT EXISTS", "IN"]
WRITES = ["UPDATE", "DELETE", "MERGE"]
FORMS = ["chain", "aggregate"]  # what else a query may have, for the report


AGGREGATES = ("count(", "sum(", "avg(", "min(", "max(", "stddev_samp(", "var_pop(")

# What may stand in FROM instead of a plain table; each gives every row once.
SHAPES = {
    "fence": "SELECT * FROM {table}{where} OFFSET 0",
    "union": "SELECT * FROM {table} WHERE id % 2 = 0 UNION ALL SELECT * FROM {table} WHERE id % 2 <> 0",
    "cte": "WITH m AS MATERIALIZED (SELECT * FROM {table}{where}) SELECT * FROM m",
    "sorted": "SELECT * FROM {table}{where} ORDER BY id",
    # Values that are computed where the subquery stood, also when it is pulled up below an outer join.
    "computed": "SELECT {computed} FROM {table}{where}",
    "paired": "SELECT {paired} FROM (SELECT * FROM {table}{where}) x LEFT JOIN {table} y ON x.id = y.id AND y.id % 3 <> 1",
}


@dataclasses.dataclass
class Source:
    """A table under an alias; filters or a shape make it a subquery."""

    table: object
    alias: str
    filters: list
    shape: str = ""

    def sql(self):
        if self.is_plain():
            return f"{self.table.name} {self.alias}"
        where = f" WHERE {' AND '.join(self.filters)}" if self.filters else ""
        form = SHAPES[self.shape] if self.shape else "SELECT * FROM {table}{where}"
        names = [c.name for c in self.table.columns]
        computed = ", ".join(name if name == "id" else f"CASE WHEN id >= 0 THEN {name} END AS {name}" for name in names)
        paired = ", ".join(f"x.{name}" if name == "id" else f"coalesce(y.{name}, x.{name}) AS {name}" for name in names)
        return f"({form.format(table=self.table.name, where=where, computed=computed, paired=paired)}) {self.alias}"

    def is_plain(self):
        return not self.filters and not self.shape


@dataclasses.dataclass
class Join:
    kind: str
    left: object
    right: object
    conditions: list

    def sql(self):
        on = " AND ".join(self.conditions) or "true"
        right = self.right.sql() if isinstance(self.right, Source) else f"({self.right.sql()})"
        return f"{self.left.sql()} {self.kind} JOIN {right} ON {on}"


@dataclasses.dataclass
class Sublink:
    """kind source WHERE conditions; IN also compares member (outer expression) with inner expression."""

    kind: str
    source: Source
    conditions: list
    member: tuple = ()

    def sql(self):
        where = " AND ".join(self.conditions) or "true"
        if self.kind == "IN":
            return f"{self.member[0]} IN (SELECT {self.member[1]} FROM {self.source.sql()} WHERE {where})"
        return f"{self.kind} (SELECT 1 FROM {self.source.sql()} WHERE {where})"


@dataclasses.dataclass
class Query:
    tree: object
    sublinks: list
    where: list
    select: list
    distinct: bool = False
    group_by: str = ""
    having: str = ""
    order_by: list = dataclasses.field(default_factory=list)
    limit: str = ""
    settings: list = dataclasses.field(default_factory=list)

    def sql(self):
        items = ", ".join(f"{item} AS c{i}" for i, item in enumerate(self.select))
        conditions = self.where + [s.sql() for s in self.sublinks]
        return " ".join(
            filter(None, [
                "SELECT", "DISTINCT" if self.distinct else "", items, "FROM", self.tree.sql(),
                "WHERE " + " AND ".join(conditions) if conditions else "",
                f"GROUP BY {self.group_by}" if self.group_by else "",
                f"HAVING {self.having}" if self.having else "",
                "ORDER BY " + ", ".join(self.order_by) if self.order_by else "",
                self.limit,
            ]))

    def answer(self):
        """Commands that give the rows to be compared."""
        return f"COPY ({self.sql()}) TO STDOUT"

    def tables(self):
        sources = _sources(self.tree) + [s.source for s in self.sublinks]
        return list({s.table.name: s.table for s in sources}.values())

    def rescans(self):
        """Whether a join runs once for each row of the query."""
        return any(item.startswith("(SELECT") for item in self.select)

    def kinds(self):
        """The kinds of join it asks for, and its forms, for the report."""
        joins = [j.kind for j in _joins(self.tree)] + [s.kind for s in self.sublinks]
        aggregates = any(item.startswith(AGGREGATES) for item in self.select)
        return joins + ["chain"] * (len(joins) > 1) + ["aggregate"] * aggregates

    def smaller(self):
        """Queries with one part less. Not all of them are valid; the reducer tries and sees."""
        for edit in _edits(self):
            smaller = copy.deepcopy(self, _keep_tables(self))
            edit(smaller)
            yield smaller


@dataclasses.dataclass
class Write:
    """A statement that writes to a table with children. What it sets comes from the row itself, since one that has several
    partners may take any."""

    verb: str
    target: Source
    tree: object  # None: only sublinks
    conditions: list
    sublinks: list
    assignment: str
    settings: list = dataclasses.field(default_factory=list)
    order_by: tuple = ()

    def sql(self):
        name = f"{self.target.table.name} {self.target.alias}"
        conditions = " AND ".join(self.conditions + [s.sql() for s in self.sublinks]) or "true"
        if self.verb == "MERGE":
            matched = self.assignment.partition(" = ")
            return (f"MERGE INTO {name} USING {self.tree.sql()} ON {conditions} "
                    f"WHEN MATCHED AND {self.target.alias}.id % 3 = 0 THEN DELETE "
                    f"WHEN MATCHED THEN UPDATE SET {matched[0]} = {matched[2]} "
                    f"WHEN NOT MATCHED THEN INSERT (id) VALUES ({self.tree.alias}.id + 5000)")
        using = ("FROM " if self.verb == "UPDATE" else "USING ") + self.tree.sql() + " " if self.tree else ""
        action = f"UPDATE {name} SET {self.assignment}" if self.verb == "UPDATE" else f"DELETE FROM {name}"
        return f"{action} {using}WHERE {conditions}"

    def answer(self):
        return (f"BEGIN; {self.sql()}; COPY (SELECT tableoid::regclass, * FROM {self.target.table.name}) TO STDOUT; ROLLBACK")

    def tables(self):
        sources = [self.target] + (_sources(self.tree) if self.tree else []) + [s.source for s in self.sublinks]
        return list({s.table.name: s.table for s in sources}.values())

    def rescans(self):
        return False

    def kinds(self):
        return [self.verb] + [s.kind for s in self.sublinks] + ([j.kind for j in _joins(self.tree)] if self.tree else [])

    def smaller(self):
        for name in ["conditions", "sublinks", "settings"]:
            for i in range(len(getattr(self, name))):
                smaller = copy.deepcopy(self, _keep_tables(self))
                getattr(smaller, name).pop(i)
                yield smaller


def _keep_tables(query):
    return {id(t): t for t in query.tables()}


def _edits(query):
    """Functions that each take one part away from a copy of the query."""
    def drop(get, index):
        return lambda q: get(q).pop(index)

    for name in ["sublinks", "where", "settings", "order_by"]:
        for i in range(len(getattr(query, name))):
            yield drop(lambda q, name=name: getattr(q, name), i)
    if len(query.select) > 1:
        for i in range(len(query.select)):
            yield drop(lambda q: q.select, i)
    for name in ["distinct", "having", "limit"]:
        if getattr(query, name):
            yield lambda q, name=name: setattr(q, name, type(getattr(q, name))())
    for number, join in enumerate(_joins(query.tree)):
        for i in range(len(join.conditions)):
            yield drop(lambda q, number=number: _joins(q.tree)[number].conditions, i)
        if number == 0:
            yield lambda q: setattr(q, "tree", q.tree.left)
            yield lambda q: setattr(q, "tree", q.tree.right)
        for side in ["left", "right"]:
            if isinstance(getattr(join, side), Join):
                for child in ["left", "right"]:
                    yield lambda q, n=number, s=side, c=child: setattr(
                        _joins(q.tree)[n], s, getattr(getattr(_joins(q.tree)[n], s), c))
    for number, source in enumerate(_sources(query.tree)):
        for i in range(len(source.filters)):
            yield drop(lambda q, number=number: _sources(q.tree)[number].filters, i)
        if source.shape:
            yield lambda q, number=number: setattr(_sources(q.tree)[number], "shape", "")
    for number, sublink in enumerate(query.sublinks):
        for i in range(len(sublink.conditions)):
            yield drop(lambda q, number=number: q.sublinks[number].conditions, i)


def _joins(tree):
    if isinstance(tree, Source):
        return []
    return [tree] + _joins(tree.left) + _joins(tree.right)


def _sources(tree):
    return [tree] if isinstance(tree, Source) else _sources(tree.left) + _sources(tree.right)


class Generator:
    """Makes queries over the given tables. ranges: share of joins with range conditions; chains: of queries that look up many
    tables, one after the other."""

    def __init__(self, random_, tables, parents, kinds, ranges, chains):
        self.random, self.tables, self.parents, self.kinds, self.ranges = random_, tables, parents, kinds, ranges
        self.chains = chains
        self.aliases = 0

    def query(self):
        random_ = self.random
        if random_.random() < self.chains:
            return self._chain_query()
        tree = self._tree(random_.choice([2, 2, 2, 2, 3, 3, 4]))
        sources = _sources(tree)
        sublinks = [self._sublink(sources) for _ in range(random_.choice([0, 0, 0, 1]))
                    if set(self.kinds) & set(SUBLINKS)]
        where = [self._filter(random_.choice(sources)) for _ in range(random_.choice([0, 0, 0, 1, 2]))]
        query = Query(tree, sublinks, where, self._select(sources), settings=self._settings())
        self._finish(query, sources)
        return query

    def _chain_query(self):
        """Two to six joins, each with one table more, semi and anti joins among them; rows, or aggregates of them."""
        random_ = self.random
        joins = random_.choice([2, 2, 2, 3, 3, 4, 5, 6])
        sublinks = random_.choice([0, 0, 0, 1, 2]) if set(self.kinds) & set(SUBLINKS) else 0
        tree = self._source()
        for number in range(joins - sublinks):
            right = self._source()
            kinds = [k for k in ["INNER", "INNER", "LEFT"] if k in self.kinds] or ["INNER"]
            tree = Join(random_.choice(kinds), tree, right, self._lookup(_sources(tree), right, number == 0))
        sources = _sources(tree)
        where = [self._filter(random_.choice(sources)) for _ in range(random_.choice([0, 0, 1, 2]))]
        if len(sources) > 2 and random_.random() < 0.1:
            where.append(self._condition(sources[:-1], sources[-1:]))
        query = Query(tree, [self._lookup_sublink(sources) for _ in range(sublinks)], where, self._select(sources),
                      settings=self._settings())
        if random_.random() < 0.6:
            self._aggregate(query, sources)
        else:
            self._finish(query, sources)
        return query

    def _lookup(self, left, right, may_multiply):
        """Mostly one row of the right side at most, lest the rows of a long chain are too many."""
        random_ = self.random
        if may_multiply and random_.random() < 0.3:
            return self._conditions(left, [right])
        outer = left[:1] if random_.random() < 0.5 else left
        source = random_.choice(outer)
        key = random_.choice([f"{source.alias}.id", f"{source.alias}.id % 50", self._expression(self._columns(outer, {"integer"}))])
        conditions = [f"{key} = {right.alias}.id"]
        if random_.random() < 0.2:
            conditions.append(" = ".join(self._pair(left, [right])))
        if random_.random() < 0.15:
            conditions.append(self._residual(left, [right]))
        if random_.random() < 0.1:
            conditions.append(self._filter(random_.choice(left + [right])))
        return conditions

    def _lookup_sublink(self, outer):
        if self.random.random() < 0.4:
            return self._sublink(outer)
        source = self._source()
        kind = self.random.choice([k for k in SUBLINKS if k in self.kinds])
        if kind == "IN":
            return Sublink(kind, source, [], (self._expression(self._columns(outer, {"integer"})), f"{source.alias}.id"))
        return Sublink(kind, source, self._lookup(outer, source, False))

    def _aggregate(self, query, sources):
        """Up to three keys of any types, and some aggregates."""
        random_ = self.random
        columns = [f"{s.alias}.{c.name}" for s, c in self._columns(sources) if c.type.family not in AMBIGUOUS]
        keys = random_.sample(columns, min(len(columns), random_.choice([0, 1, 1, 2, 2, 3])))
        if keys and random_.random() < 0.2:
            keys[0] = self._expression(self._columns(sources, {"integer"}))
        query.select = keys + [self._aggregate_item(sources) for _ in range(random_.choice([1, 1, 2, 3, 5]))]
        query.group_by = ", ".join(keys)
        if random_.random() < 0.15:
            query.having = random_.choice(["count(*) > 2", f"{self._aggregate_item(sources)} > 3"])
        if random_.random() < 0.15:
            query.order_by = [str(place + 1) for place in range(len(query.select))]
            query.limit = random_.choice(["", "LIMIT 3", "LIMIT 10 OFFSET 2"])

    def _aggregate_item(self, sources):
        random_ = self.random
        name = random_.choice(["count", "sum", "avg", "min", "max", "sum", "stddev_samp", "var_pop"])
        numbers = self._columns(sources, {"integer"})
        a, b = (f"{s.alias}.{c.name}" for s, c in random_.choices(numbers, k=2))
        argument = random_.choice([a, a, a, f"{a} - {b}", f"{a} % 100 * ({b} % 10)", f"{a}::int8 + {b}", f"coalesce({a}, {b})",
                                   f"CASE WHEN {a} > {b} THEN {a} END", f"100 / nullif({a} % 7, 0)", self._expression(numbers)])
        floats = [f"{s.alias}.{c.name}" for s, c in self._columns(sources, {"float"})]
        if floats and random_.random() < 0.2:
            return self._aggregate_of_floats(random_.choice(floats), a)
        days = [f"{s.alias}.{c.name}" for s, c in self._columns(sources) if c.type.name in ("date", "timestamp", "timestamptz")]
        if days and name in ("count", "min", "max") and random_.random() < 0.3:
            argument = random_.choice(days)
        if name == "count" and random_.random() < 0.6:
            argument = "*"
        filtered = ""
        if argument != "*" and random_.random() < 0.05:
            return f"{name}(100 / ({a} % 7)) FILTER (WHERE {a} % 7 <> 0)"
        if random_.random() < 0.15:
            filtered = f" FILTER (WHERE {random_.choice([self._filter(random_.choice(sources)), f'{a} < {b}'])})"
        elif argument != "*" and random_.random() < 0.06:
            argument = f"DISTINCT {argument}"
        return f"{name}({argument}){filtered}"

    def _aggregate_of_floats(self, number, integer):
        """Of values whose sums are the same in any order, and which are no zeros, of which there are two."""
        random_ = self.random
        argument = random_.choice([f"CASE WHEN abs({number}) > 0.25 THEN {number} END", f"CASE WHEN {number} > 0.25 THEN {number} * 2 ELSE {integer} % 100 END",
                                   f"({integer} % 1000)::float8 / 4", f"({integer} % 10)::float8"])
        filtered = f" FILTER (WHERE {number} <> 0 AND {integer} > 3)" if random_.random() < 0.2 else ""
        return f"{random_.choice(['sum', 'avg', 'avg', 'min', 'max', 'count'])}(({argument})::float8){filtered}"

    def write(self):
        """An UPDATE, DELETE or MERGE of a table with children."""
        random_ = self.random
        verb = random_.choice([k for k in WRITES if k in self.kinds])
        target = self._source()
        target = Source(random_.choice(self.parents), target.alias, [])
        joined = verb == "MERGE" or not set(self.kinds) & set(SUBLINKS) or random_.random() < 0.6
        tree = self._tree(1 if verb == "MERGE" else random_.choice([1, 1, 2])) if joined else None
        sublinks = [] if verb == "MERGE" or joined and random_.random() < 0.7 else [self._sublink([target])]
        conditions = self._conditions([target], _sources(tree)) if joined else []
        if verb == "MERGE" and random_.random() < 0.7:  # lest a row has several partners
            conditions[0] = f"{target.alias}.id = {tree.alias}.id"
        column = random_.choice(target.table.columns)
        value = f"{target.alias}.id + 3000" if column.name == "id" else random_.choice(["NULL", f"{target.alias}.{column.name}"])
        settings = ["enable_partitionwise_join = on"] if random_.random() < 0.3 else []
        return Write(verb, target, tree, conditions, sublinks, f"{column.name} = {value}", settings)

    def _finish(self, query, sources):
        """Rows as they are, or what may stand above a join: aggregation, DISTINCT, ORDER BY ... LIMIT."""
        random_ = self.random
        if query.rescans():  # lest they are too many
            first = f"{sources[0].alias}.id"
            query.where.append(f"{first} < 2" if query.settings else f"({first} < 100 OR {first} IS NULL)")
        shape = random_.random()
        if shape < 0.1:
            query.select = ["count(*)"]
        elif shape < 0.2:
            source = random_.choice(sources)
            column = random_.choice([c for c in source.table.columns if c.type.family not in AMBIGUOUS])
            query.select = [f"{source.alias}.{column.name}", "count(*)"] + [
                f"{f}({s.alias}.id)" for s in sources for f in random_.sample(["min", "max", "sum"], 1)]
            query.group_by = f"{source.alias}.{column.name}"
        elif shape < 0.25:
            query.distinct = True
            query.select = [f"{s.alias}.{c.name}" for s, c in self._columns(sources) if c.type.family not in AMBIGUOUS][:4]
        elif shape < 0.4:
            query.order_by = [f"{s.alias}.id" for s in sources]
            if random_.random() < 0.7:
                source, column = random_.choice(self._columns(sources))
                how = random_.choice(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
                query.order_by.insert(0, f"{source.alias}.{column.name}{how}")
            query.limit = random_.choice(["LIMIT 1", "LIMIT 10", "LIMIT 10 OFFSET 5", "LIMIT 100", "LIMIT 1000"])
        elif shape < 0.45:
            query.limit = "LIMIT 0" if random_.random() < 0.3 else "OFFSET 0"

    def _tree(self, leaves):
        if leaves == 1:
            return self._source()
        left_leaves = leaves - 1 if self.random.random() < 0.7 else self.random.randrange(1, leaves)
        left, right = self._tree(left_leaves), self._tree(leaves - left_leaves)
        kinds = [k for k in JOIN_KINDS if k in self.kinds] or ["INNER"]
        kind = self.random.choice(["INNER"] * (2 if "INNER" in self.kinds else 0) + kinds)
        return Join(kind, left, right, self._conditions(_sources(left), _sources(right)))

    def _source(self):
        self.aliases += 1
        source = Source(self.random.choice(self.tables), f"rel{self.aliases}", [])
        if self.random.random() < 0.15:
            source.filters = [self._filter(Source(source.table, source.table.name, []))]
        if self.random.random() < 0.1:
            source.shape = self.random.choice(sorted(SHAPES))
        return source

    def _sublink(self, outer):
        source = self._source()
        kind = self.random.choice([k for k in SUBLINKS if k in self.kinds])
        if kind == "IN":
            pair = self._pair(outer, [source])
            return Sublink(kind, source, self._few([self._filter(source)]), pair)
        return Sublink(kind, source, self._conditions(outer, [source]))

    def _conditions(self, left, right):
        """The ON clause: equalities, ranges, and whatever only the executor can decide."""
        random_ = self.random
        conditions = []
        ranges = random_.random() < self.ranges
        if not ranges or random_.random() < 0.5:
            for _ in range(random_.choice([1, 1, 1, 1, 1, 1, 2, 2, 3, 4])):
                sides = self._pair(left, right)
                conditions.append(" = ".join(sides if random_.random() < 0.5 else reversed(sides)))
        if ranges:
            conditions += self._range(left, right)
        if random_.random() < 0.2:
            conditions.append(self._residual(left, right))
        if random_.random() < 0.1:
            conditions.append(self._filter(random_.choice(left + right)))
        if random_.random() < 0.1:
            conditions += self._guarded(left, right)
        return conditions

    def _guarded(self, left, right):
        """A condition that raises an error for pairs which a cheaper one excludes, wherever that stands."""
        a, b = self._pair(left, right, {"integer"})
        excluded = self.random.choice([0, 1, 2, 5])
        guard, guarded = self.random.choice([
            (f"{a} - {b} <> {excluded}", f"100 / ({a} - {b} - {excluded}) / 1 / 1 / 1 < 30"),
            (f"{a} + {b} > {excluded}", f"({a} + 7) % ({a} + {b} - {excluded}) / 1 / 1 / 1 <> 3"),
            (f"{a} % 7 <> {b} % 7", f"length(repeat('x', 10 / ({a} % 7 - {b} % 7)) || {b} || {a}) < 20"),
            (f"length({a} || ',' || {b}) < 4", f"(({a} || '0')::int2 + ({b} || '0')::int2 + 0) / 1 / 1 / 1 / 1 / 1 < 70"),
        ])
        both = [guard, guarded]
        self.random.shuffle(both)
        return both

    def _columns(self, sources, families=None):
        return [(s, c) for s in sources for c in s.table.columns if families is None or c.type.family in families]

    def _pair(self, left, right, families=None):
        """Expressions of one family, one over each side."""
        shared = {c.type.family for _, c in self._columns(left)} & {c.type.family for _, c in self._columns(right)}
        shared -= {"wide"}
        family = self.random.choice(sorted(shared & families if families else shared) or ["integer"])
        return (self._expression(self._columns(left, {family})), self._expression(self._columns(right, {family})))

    def _expression(self, columns):
        """A column, or an expression over columns of one side."""
        source, column = self.random.choice(columns)
        name = f"{source.alias}.{column.name}"
        if self.random.random() < 0.75:
            return name
        other_source, other = self.random.choice(columns)
        other_name = f"{other_source.alias}.{other.name}"
        family = column.type.family
        if family == "integer":
            return self.random.choice([f"({name} + 1)", f"({name} - 2)", f"({name} % 7)", f"coalesce({name}, 3)",
                                       f"({name} / 2 + {other_name} / 2)", f"({name} % 50 * ({other_name} % 9) - {name} % 3)",
                                       f"{name}::int8"])
        if family in ("float", "numeric"):
            return self.random.choice([f"({name} + 1)", f"({name} * 2)", f"coalesce({name}, 0)", f"(- {name})"])
        if family == "text":
            return self.random.choice([f"lower({name}::text)", f"({name}::text || 'x')", f"{name}::bpchar", f"{name}::text"])
        if family == "date" and column.type.name == "timestamp":
            return f"({name} + interval '1 day')"
        return f"coalesce({name}, {name})"

    def _range(self, left, right):
        """Bands, one-sided inequalities and overlaps."""
        a, b = self._pair(left, right, ORDERED)
        shape = self.random.random()
        if shape < 0.35:
            return [self._band(left, right)]
        if shape < 0.6:
            return [f"{a} {self.random.choice(['<', '<=', '>', '>='])} {b}"]
        if shape < 0.75:
            low, high = sorted([a, self._pair(left, right, ORDERED)[0]])
            return [f"{a} >= {b}", f"{a} <= {b}"] if low == high else [f"{a} >= {b}"]
        if shape < 0.88:
            return [self._of_range_types(left, right)]
        c, d = self._pair(left, right, {"integer"})
        e, f = self._pair(left, right, {"integer"})
        return [f"{c} <= {d}", f"{f} <= {e}"]

    def _of_range_types(self, left, right):
        """Overlap and containment, where both sides have what it takes; else a bounded distance."""
        sides = [left, right]
        self.random.shuffle(sides)
        for family, element in [("range", "int4"), ("numrange", "numeric"), ("daterange", "date"), ("tsrange", "timestamp")]:
            ranges = self._columns(sides[0], {family})
            if ranges and self._columns(sides[1], {family}) and self.random.random() < 0.6:
                operator = self.random.choice(["&&", "&&", "@>", "<@"])
                return f"{self._expression(ranges)} {operator} {self._expression(self._columns(sides[1], {family}))}"
            elements = [c for c in self._columns(sides[1]) if c[1].type.name == element]
            if ranges and elements:
                source, column = self.random.choice(elements)
                return f"{source.alias}.{column.name} <@ {self._expression(ranges)}"
        a, b = self._pair(left, right, {"integer"})
        return f"abs({a} - {b}) {self.random.choice(['<', '<='])} {self.random.choice([0, 1, 5])}"

    def _band(self, left, right):
        shared = {c.type.family for _, c in self._columns(left)} & {c.type.family for _, c in self._columns(right)}
        family = self.random.choice(sorted(shared & {"integer", "float", "numeric", "date"}))
        a, b = self._pair(left, right, {family})
        width = self.random.choice([0, 1, 3, 10])
        if family == "date":
            return f"{a} BETWEEN {b} - interval '{width} days' AND {b} + interval '{width} hours'"
        low, high = self.random.choice([(b, b), (b, b), (b, f"({b} + 1)")])
        if self.random.random() < 0.3:
            a, low, high = b, a, a
        if self.random.random() < 0.2:
            return f"{a} BETWEEN SYMMETRIC {high} + {width} AND {self.random.choice([low, high])} - {width}"
        return f"{a} BETWEEN {low} - {width} AND {high} + {width}"

    def _residual(self, left, right):
        if self.random.random() < 0.5:
            return self._condition(left, right)
        a, b = self._pair(left, right, {"integer"})
        c, d = self._pair(left, right)
        return self.random.choice([
            f"({a} % 5 + {b} % 5) % 2 = 0", f"{a} <> {b}", f"({a} < {b} OR {b} IS NULL)",
            f"{c} IS NOT DISTINCT FROM {d}", f"{c} IS DISTINCT FROM {d}", f"({a} > 5 OR {b} > 5)",
            f"{c}::text LIKE {d}::text || '%'", f"CASE WHEN {a} > 3 THEN {b} > 1 ELSE {b} IS NOT NULL END",
        ])

    def _condition(self, left, right, depth=0):
        """What an engine can evaluate for a pair: arithmetic, comparisons and logic over both sides."""
        random_ = self.random
        if depth < 2 and random_.random() < 0.5:
            parts = [self._condition(left, right, depth + 1) for _ in range(random_.choice([1, 2, 2, 3]))]
            if len(parts) == 1:
                return random_.choice([f"NOT {parts[0]}", f"({parts[0]} IS NULL)", f"({parts[0]} IS NOT TRUE)"])
            return "(" + random_.choice([" AND ", " OR ", " OR "]).join(parts) + ")"
        if random_.random() < 0.2 and (oids := self._columns(left + right, {"oid"})):
            return self._of_oids(oids, left + right)
        family = random_.choice(["integer", "integer", "float", "date"])
        a, b = self._pair(left, right, {family})
        c, d = self._pair(left, right, {family})
        compare = random_.choice(["=", "<>", "<", "<=", ">", ">="])
        shared = {c.type.family for _, c in self._columns(left)} & {c.type.family for _, c in self._columns(right)}
        if family not in shared or family == "date":
            return f"({a} {compare} {b})" if random_.random() < 0.7 else f"({a} IS NULL OR {b} IS NOT NULL)"
        # No sum of these fails, but for values at the ends of their types.
        number = random_.choice([f"{a} + {b}", f"{a} - {b}", f"abs({a} - {b})", f"- {a}", f"{a} * 2 - {b}",
                                 f"{a} + {b} - {c}"])
        if family == "integer" and random_.random() < 0.4:
            number = random_.choice([f"({a} + {b}) % 7", f"({a} - {b}) / 3", f"mod({a}, 5) * {b}"])
        if random_.random() < 0.3:
            return random_.choice([
                f"({number} IS DISTINCT FROM {d})", f"({number} IS NOT DISTINCT FROM {d})", f"({number} IN (0, 1, 5))",
                f"({number} NOT IN (2, NULL, 3) IS UNKNOWN)", f"({number} {compare} ALL (ARRAY[{c}, {d}]))",
                f"(CASE WHEN {c} {compare} {d} THEN {number} WHEN {a} > 3 THEN {b} END > 2)",
                f"(CASE WHEN {c} {compare} {d} THEN {number} > 1 ELSE {a} = {b} END)"])
        return f"({number} {compare} {random_.choice([str(random_.choice([0, 1, 3, 20])), d])})"

    def _of_oids(self, oids, sources):
        """Oids with integers, which are cast to oid, in ways of their own, or the oid to them."""
        source, column = self.random.choice(oids)
        other, number = self.random.choice(self._columns(sources, {"integer", "oid"}))
        compare = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
        return self.random.choice([f"({source.alias}.{column.name} {compare} {other.alias}.{number.name})",
                                   f"({other.alias}.{number.name} {compare} {source.alias}.{column.name})",
                                   f"({source.alias}.{column.name}::int8 - {other.alias}.{number.name}::int8 {compare} 3)"])

    def _filter(self, source):
        source, column = self.random.choice(self._columns([source]))
        name = f"{source.alias}.{column.name}"
        choices = [f"{name} IS NOT NULL", f"{name} IS NULL", f"{source.alias}.id % 3 <> 1", f"{source.alias}.id < 150"]
        if column.type.family == "integer":
            choices += [f"{name} < 40", f"coalesce({name}, 0) >= 0", f"{name} IN (1, 2, 3, 5, 8)"] * 2
        return self.random.choice(choices)

    def _few(self, items):
        return items if self.random.random() < 0.3 else []

    def _select(self, sources):
        """Columns of all sides, and the expressions that are awkward to carry through a join."""
        columns = self._columns(sources)
        items = [f"{s.alias}.{c.name}" for s, c in self.random.sample(columns, min(len(columns), self.random.randrange(1, 7)))]
        source = self.random.choice(sources)
        extra = [f"{source.alias}", f"{source.alias}.id + {sources[0].alias}.id", f"coalesce({source.alias}.id, -1)"]
        if source.is_plain():
            extra += [f"{source.alias}.ctid", f"{source.alias}.tableoid::regclass"]
        items += [self.random.choice(extra)] if self.random.random() < 0.3 else []
        return items + ([self._correlated(source)] if self.random.random() < 0.06 else [])

    def _correlated(self, outer):
        """A join that runs once for each row of the query: its node is rescanned."""
        left, right = self._source(), self._source()
        conditions = self._conditions([left], [right])
        tie = self.random.choice([
            f"{left.alias}.id = {outer.alias}.id", f"{right.alias}.id < {outer.alias}.id", " = ".join(self._pair([left], [outer]))])
        join = Join(self.random.choice(["INNER", "LEFT"]), left, right, conditions)
        found = self.random.choice(["count(*)", "count(*)", f"sum({right.alias}.id - {outer.alias}.id)", f"max({left.alias}.id)"])
        if self.random.random() < 0.2:
            third = self._source()
            join = Join("INNER", join, third, self._lookup([left, right], third, False))
        return f"(SELECT {found} FROM {join.sql()} WHERE {tie})"

    def _settings(self):
        if self.random.random() < 0.08:
            return ["max_parallel_workers_per_gather = 2", "parallel_setup_cost = 0", "parallel_tuple_cost = 0",
                    "min_parallel_table_scan_size = 0", "gpujoin.startup_cost = 0", "gpujoin.encode_cost = 1"]
        return []
