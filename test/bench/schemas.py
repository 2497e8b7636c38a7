"""The schemas of the grid's statements: a star, a snowflake, and tables whose wanted columns lie behind text. All values
are made by hash functions of row numbers, so that every run everywhere has the same rows. Each schema comes in sizes,
by rows of its fact table, and lives in a PostgreSQL schema of its own for each.

Dimensions have a column pick, uniform in [0, 1000), for filters that keep a given share of their rows: {pick} in a
statement is that share times 1000.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Table:
    """columns: SQL of a row, from its number i; is_fact: its indexes may be left out."""

    name: str
    rows: int
    columns: str
    primary_key: str = ""
    indexes: tuple = ()
    references: tuple = ()  # (column, table with that primary key)
    is_fact: bool = False


@dataclasses.dataclass(frozen=True)
class Schema:
    name: str
    tables: object  # facts -> list of Table
    statements: dict  # name -> SQL


def uniform(span, salt):
    return f"((hashint8extended(i, {salt}) & 9007199254740991) % {span})::int4"


def pick():
    return f"{uniform(1000, 99)} AS pick"


def star_tables(facts):
    products, customers, days, stores, promotions = max(facts // 100, 1000), max(facts // 20, 1000), 2000, 500, 200
    yield Table("day", days, f"i::int4 AS day_id, 2018 + i / 365 AS year, i / 30 % 12 + 1 AS month, {pick()}, "
                "'day ' || i AS label", "day_id")
    yield Table("store", stores, f"i::int4 AS store_id, {uniform(20, 11)} AS region, {pick()}, 'store ' || i AS label",
                "store_id")
    yield Table("product", products, f"i::int4 AS product_id, {uniform(1000, 12)} AS brand, {uniform(20, 13)} AS kind, "
                f"{pick()}, 'product ' || md5(i::text) AS label", "product_id")
    yield Table("customer", customers, f"i::int4 AS customer_id, {uniform(10, 14)} AS segment, {uniform(80, 15)} AS age, "
                f"{pick()}, 'customer ' || md5(i::text) AS label", "customer_id")
    yield Table("promotion", promotions, f"i::int4 AS promotion_id, {uniform(8, 16)} AS channel, {pick()}", "promotion_id")
    yield Table("sale", facts, f"i AS sale_id, (i * {days} / {facts})::int4 AS day_id, {uniform(stores, 1)} AS store_id, "
                f"{uniform(products, 2)} AS product_id, {uniform(customers, 3)} AS customer_id, "
                f"{uniform(promotions, 4)} AS promotion_id, {uniform(10, 5)} AS quantity, {uniform(100000, 6)} AS amount, "
                f"{uniform(1000, 7)} AS discount, {uniform(1000, 8)} AS tax",
                "sale_id", ("day_id", "product_id", "customer_id"),
                (("day_id", "day"), ("store_id", "store"), ("product_id", "product"), ("customer_id", "customer"),
                 ("promotion_id", "promotion")), is_fact=True)


STAR = {
    "sum, 2 joins": """
        SELECT count(*), sum(amount) FROM sale JOIN product USING (product_id) JOIN store USING (store_id)
        WHERE product.pick < {pick} AND store.region < 15""",
    "few groups, 2 joins": """
        SELECT segment, count(*), sum(amount) FROM sale JOIN customer USING (customer_id) JOIN day USING (day_id)
        WHERE day.pick < {pick} GROUP BY segment ORDER BY segment""",
    "groups, 3 joins": """
        SELECT brand, month, count(*), sum(amount - discount) FROM sale JOIN product USING (product_id)
        JOIN day USING (day_id) JOIN store USING (store_id)
        WHERE store.pick < {pick} AND year = 2019 GROUP BY brand, month ORDER BY brand, month""",
    "groups, 5 joins": """
        SELECT year, region, channel, count(*), sum(amount) FROM sale JOIN day USING (day_id) JOIN store USING (store_id)
        JOIN product USING (product_id) JOIN customer USING (customer_id) JOIN promotion USING (promotion_id)
        WHERE product.pick < {pick} AND customer.age >= 20 GROUP BY year, region, channel
        ORDER BY year, region, channel""",
    "many groups, top 10": """
        SELECT customer_id, sum(amount) FROM sale JOIN customer USING (customer_id) JOIN store USING (store_id)
        WHERE customer.pick < {pick} GROUP BY customer_id ORDER BY 2 DESC, 1 LIMIT 10""",
    "top 100 rows, 3 joins": """
        SELECT amount, sale_id, customer.label, product.label, day.label FROM sale JOIN customer USING (customer_id)
        JOIN product USING (product_id) JOIN day USING (day_id)
        WHERE customer.pick < {pick} AND kind = 3 ORDER BY amount DESC, sale_id LIMIT 100""",
    "semi join of facts": """
        SELECT segment, count(*), sum(age) FROM customer WHERE pick < {pick} AND EXISTS (SELECT FROM sale
        WHERE sale.customer_id = customer.customer_id AND quantity = 7 AND discount < 300) GROUP BY segment
        ORDER BY segment""",
    "anti join of facts": """
        SELECT kind, count(*) FROM product WHERE pick < {pick} AND NOT EXISTS (SELECT FROM sale
        WHERE sale.product_id = product.product_id AND promotion_id < 2) GROUP BY kind ORDER BY kind""",
    "facts in two sets": """
        SELECT store_id, count(*), sum(amount) FROM sale
        WHERE product_id IN (SELECT product_id FROM product WHERE pick < {pick})
        AND customer_id IN (SELECT customer_id FROM customer WHERE segment = 1) GROUP BY store_id ORDER BY store_id""",
    "first 100 facts": """
        SELECT sale_id, amount, customer.label, product.label FROM sale JOIN customer USING (customer_id)
        JOIN product USING (product_id) WHERE product.pick < {pick} ORDER BY sale_id LIMIT 100""",
}


def snowflake_tables(facts):
    orders, customers, products = max(facts // 4, 1000), max(facts // 40, 1000), max(facts // 300, 1000)
    cities, subcategories = 2000, 400
    yield Table("region", 5, "i::int4 AS region_id, 'region ' || i AS label", "region_id")
    yield Table("country", 50, "i::int4 AS country_id, (i % 5)::int4 AS region_id, 'country ' || i AS label", "country_id",
                references=(("region_id", "region"),))
    yield Table("city", cities, f"i::int4 AS city_id, {uniform(50, 21)} AS country_id, {pick()}, 'city ' || i AS label",
                "city_id", references=(("country_id", "country"),))
    yield Table("customer", customers, f"i::int4 AS customer_id, {uniform(cities, 22)} AS city_id, "
                f"('segment ' || {uniform(5, 23)})::char(10) AS segment, {pick()}, 'customer ' || i AS label, "
                "md5(i::text) AS address", "customer_id", references=(("city_id", "city"),))
    yield Table("category", 40, "i::int4 AS category_id, (i % 8)::int4 AS department, 'category ' || i AS label",
                "category_id")
    yield Table("subcategory", subcategories, f"i::int4 AS subcategory_id, {uniform(40, 24)} AS category_id, {pick()}, "
                "'subcategory ' || i AS label", "subcategory_id", references=(("category_id", "category"),))
    yield Table("product", products, f"i::int4 AS product_id, {uniform(subcategories, 25)} AS subcategory_id, {pick()}, "
                "'product ' || md5(i::text) AS label", "product_id", references=(("subcategory_id", "subcategory"),))
    yield Table("orders", orders, f"i::int4 AS order_id, {uniform(customers, 26)} AS customer_id, "
                f"'2018-01-01'::date + (i * 2400 / {orders})::int4 AS ordered, ('priority ' || {uniform(5, 27)})::char(15) "
                f"AS priority, {pick()}, {uniform(1000000, 28)} AS total", "order_id", ("customer_id",),
                (("customer_id", "customer"),), is_fact=True)
    yield Table("line", facts, f"(i * {orders} / {facts})::int4 AS order_id, {uniform(products, 31)} AS product_id, "
                f"{uniform(7, 32)} AS number, {uniform(50, 33)} AS quantity, {uniform(100000, 34)} AS amount, "
                f"{uniform(11, 35)} AS discount, {uniform(9, 36)} AS tax, "
                f"'2018-01-01'::date + {uniform(2500, 37)} AS shipped, (i % 3)::char(1) AS flag, "
                f"('mode ' || {uniform(7, 38)})::char(10) AS mode, ('instruct ' || {uniform(4, 39)})::char(25) AS instruct, "
                f"'2018-01-01'::date + {uniform(2500, 40)} AS received, {uniform(1000, 41)} AS pick",
                "", ("order_id", "product_id"), (("order_id", "orders"), ("product_id", "product")), is_fact=True)


SNOWFLAKE = {
    "orders' sums, top 10": """
        SELECT order_id, ordered, sum(amount * (100 - discount)::bigint) FROM customer JOIN orders USING (customer_id)
        JOIN line USING (order_id) WHERE customer.pick < {pick} AND ordered < '2021-06-01' AND shipped > '2019-06-01'
        GROUP BY order_id, ordered ORDER BY 3 DESC, 1 LIMIT 10""",
    "groups, 5 joins": """
        SELECT country.label, count(*), sum(amount) FROM line JOIN orders USING (order_id) JOIN customer USING (customer_id)
        JOIN city USING (city_id) JOIN country USING (country_id) JOIN region USING (region_id)
        WHERE region.label = 'region 2' AND orders.pick < {pick} GROUP BY country.label ORDER BY country.label""",
    "groups, 3 joins": """
        SELECT category.label, sum(amount), sum(quantity) FROM line JOIN product USING (product_id)
        JOIN subcategory USING (subcategory_id) JOIN category USING (category_id)
        WHERE product.pick < {pick} GROUP BY category.label ORDER BY category.label""",
    "semi join of facts": """
        SELECT priority, count(*) FROM orders WHERE pick < {pick} AND EXISTS (SELECT FROM line
        WHERE line.order_id = orders.order_id AND received > shipped) GROUP BY priority ORDER BY priority""",
    "anti join of facts": """
        SELECT priority, count(*), sum(total) FROM orders WHERE pick < {pick} AND NOT EXISTS (SELECT FROM line
        WHERE line.order_id = orders.order_id AND flag = '2') GROUP BY priority ORDER BY priority""",
    "customers' sums, top 20": """
        SELECT customer_id, customer.label, city.label, sum(amount) FROM customer JOIN orders USING (customer_id)
        JOIN line USING (order_id) JOIN city USING (city_id) WHERE orders.pick < {pick} AND flag = '1'
        GROUP BY customer_id, customer.label, city.label ORDER BY 4 DESC, 1 LIMIT 20""",
    "few groups, a column behind text": """
        SELECT mode, count(*), sum(total) FROM orders JOIN line USING (order_id) WHERE line.pick < {pick}
        AND mode IN ('mode 1', 'mode 3') AND shipped < received GROUP BY mode ORDER BY mode""",
    "many groups with a condition": """
        SELECT count(*), sum(amount), max(order_id) FROM (SELECT order_id, sum(amount) AS amount FROM orders
        JOIN line USING (order_id) JOIN customer USING (customer_id) WHERE orders.pick < {pick}
        GROUP BY order_id HAVING sum(quantity) > 150) large""",
    "counts, outer join": """
        SELECT orders, count(*) FROM (SELECT customer_id, count(order_id) AS orders FROM customer
        LEFT JOIN (SELECT * FROM orders WHERE pick < {pick}) placed USING (customer_id) JOIN city USING (city_id)
        GROUP BY customer_id) counts GROUP BY orders ORDER BY orders""",
    "top 100 rows, 3 joins": """
        SELECT amount, order_id, number, product.label, customer.label, instruct FROM line JOIN orders USING (order_id)
        JOIN customer USING (customer_id) JOIN product USING (product_id) WHERE product.pick < {pick} AND quantity > 40
        ORDER BY amount DESC, order_id, number, product.label LIMIT 100""",
}


def behind_text_tables(facts):
    few = max(facts // 10, 1000)
    text = ", ".join(f"md5((i + {n})::text) AS t{n}" for n in range(8))
    key, value = f"{uniform(few, 51)} AS k", f"{uniform(1000, 52)} AS v, {pick()}"
    yield Table("few", few, f"i::int4 AS k, {uniform(1000, 53)} AS c, {pick()}", "k")
    yield Table("few_behind", few, f"md5(i::text) AS t0, md5((i + 1)::text) AS t1, i::int4 AS k, {uniform(1000, 53)} AS c, "
                f"{pick()}", "k")
    yield Table("in_front", facts, f"{key}, {value}, {text}", is_fact=True)
    yield Table("behind_one", facts, f"md5(i::text) AS t0, {key}, {value}", is_fact=True)
    yield Table("behind_eight", facts, f"{text}, {key}, {value}", is_fact=True)
    yield Table("behind_nulls", facts, f"CASE i % 2 WHEN 0 THEN i END AS n, 'x'::char(15) AS t0, {key}, {value}", is_fact=True)


BEHIND_TEXT = {
    "in front of 8 texts": "SELECT count(*), sum(c), sum(v) FROM in_front f JOIN few USING (k) WHERE few.pick < {pick}",
    "behind 1 text": "SELECT count(*), sum(c), sum(v) FROM behind_one f JOIN few USING (k) WHERE few.pick < {pick}",
    "behind 8 texts": "SELECT count(*), sum(c), sum(v) FROM behind_eight f JOIN few USING (k) WHERE few.pick < {pick}",
    "behind 8 texts, filter": """
        SELECT count(*), sum(c), sum(v) FROM behind_eight f JOIN few_behind few USING (k) WHERE f.pick < {pick}""",
    "behind text on both sides": """
        SELECT count(*), sum(c), sum(v) FROM behind_one f JOIN few_behind few USING (k) WHERE few.pick < {pick}""",
    "behind NULLs and char": "SELECT count(*), sum(c), sum(v) FROM behind_nulls f JOIN few USING (k) WHERE few.pick < {pick}",
    "text wanted": """
        SELECT count(*), sum(c), max(t0), max(t7) FROM behind_eight f JOIN few USING (k) WHERE few.pick < {pick}""",
    "all facts, many groups": """
        SELECT count(*), sum(v) FROM (SELECT k, sum(f.v) AS v FROM behind_eight f JOIN few USING (k) WHERE few.pick < {pick}
        GROUP BY k) groups""",
}

SCHEMAS = {"star": Schema("star", star_tables, STAR), "snowflake": Schema("snowflake", snowflake_tables, SNOWFLAKE),
           "behind_text": Schema("behind_text", behind_text_tables, BEHIND_TEXT)}
