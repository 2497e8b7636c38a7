"""The star benchmark's tables and queries, in the manner of the published Star Schema Benchmark: its tables, columns, sizes
and shares of rows, with values made by hash functions of row numbers, so that every run everywhere has the same rows. A
region has 5 nations and a nation 10 cities, a maker 5 categories and a category 40 brands."""
import math

from schemas import Table

DAYS, CITIES, BRANDS = 2556, 250, 1000
DAY = "('1992-01-01'::date + i::int4)"
DAY_KEYS = f"ARRAY(SELECT to_char('1992-01-01'::date + n, 'YYYYMMDD')::int4 FROM generate_series(0, {DAYS - 1}) n)"


def uniform(span, salt, of="i"):
    return f"((hashint8extended({of}, {salt}) & 9007199254740991) % {span})::int4"


def padded(word, number, digits):
    return f"'{word} ' || lpad(({number})::text, {digits}, '0')"


def place(prefix, salt):
    """City, nation and region."""
    city = uniform(CITIES, salt)
    return (f"{padded('city', city, 3)} AS {prefix}_city, {padded('nation', f'{city} / 10', 2)} AS {prefix}_nation, "
            f"'region ' || {city} / 50 AS {prefix}_region, (10 + {city} / 10) || '-' || {uniform(10**7, 9)} AS {prefix}_phone")


def tables(scale, numeric):
    """Amounts are whole numbers of cents, or with numeric of type numeric(15, 2)."""
    lines, customers, suppliers = (max(int(rows * scale), 1) for rows in (6_000_000, 30_000, 2_000))
    parts = int(200_000 * (1 + math.log2(scale) if scale > 1 else scale)) or 1
    yield Table("date", DAYS, f"""
        to_char({DAY}, 'YYYYMMDD')::int4 AS d_datekey, to_char({DAY}, 'FMMonth DD, YYYY') AS d_date,
        to_char({DAY}, 'FMDay') AS d_dayofweek, to_char({DAY}, 'FMMonth') AS d_month,
        extract(year FROM {DAY})::int4 AS d_year, to_char({DAY}, 'YYYYMM')::int4 AS d_yearmonthnum,
        to_char({DAY}, 'MonYYYY') AS d_yearmonth, extract(dow FROM {DAY})::int4 + 1 AS d_daynuminweek,
        extract(day FROM {DAY})::int4 AS d_daynuminmonth, extract(doy FROM {DAY})::int4 AS d_daynuminyear,
        extract(month FROM {DAY})::int4 AS d_monthnuminyear, (extract(doy FROM {DAY})::int4 - 1) / 7 + 1 AS d_weeknuminyear,
        'season ' || extract(quarter FROM {DAY}) AS d_sellingseason""", "d_datekey")
    yield Table("supplier", suppliers, f"""
        i::int4 AS s_suppkey, {padded('supplier', 'i', 9)} AS s_name, left(md5(i::text), 15) AS s_address, {place('s', 1)}""",
                "s_suppkey")
    yield Table("customer", customers, f"""
        i::int4 AS c_custkey, {padded('customer', 'i', 9)} AS c_name, left(md5(i::text), 15) AS c_address, {place('c', 2)},
        'segment ' || {uniform(5, 3)} AS c_mktsegment""", "c_custkey")
    brand = uniform(BRANDS, 4)
    yield Table("part", parts, f"""
        i::int4 AS p_partkey, 'color ' || {uniform(92, 5)} || ' color ' || {uniform(92, 6)} AS p_name,
        'maker ' || {brand} / 200 AS p_mfgr, {padded('category', f'{brand} / 40', 2)} AS p_category,
        {padded('brand', brand, 3)} AS p_brand1, 'color ' || {uniform(92, 5)} AS p_color,
        'type ' || {uniform(150, 7)} AS p_type, {uniform(50, 8)} + 1 AS p_size, 'container ' || {uniform(40, 9)} AS p_container""",
                "p_partkey")
    part, quantity, discount = uniform(parts, 11), f"({uniform(50, 12)} + 1)", uniform(11, 13)
    price = f"(90000 + {part} % 110000)"

    def amount(cents):
        return f"(({cents}) / 100.0)::numeric(15, 2)" if numeric else f"({cents})::int4"

    yield Table("lineorder", lines, f"""
        (i / 4)::int8 AS lo_orderkey, (i % 4)::int4 + 1 AS lo_linenumber, {uniform(customers, 14, 'i / 4')} AS lo_custkey,
        {part} AS lo_partkey, {uniform(suppliers, 15)} AS lo_suppkey,
        ({DAY_KEYS})[1 + {uniform(DAYS, 16, 'i / 4')}] AS lo_orderdate, 'priority ' || {uniform(5, 17, 'i / 4')} AS lo_orderpriority,
        '0' AS lo_shippriority, {quantity} AS lo_quantity, {amount(f"{quantity} * {price}")} AS lo_extendedprice,
        {amount(uniform(40_000_000, 18, 'i / 4'))} AS lo_ordtotalprice, {discount} AS lo_discount,
        {amount(f"{quantity} * {price} / 100 * (100 - {discount})")} AS lo_revenue, {amount(f"{price} / 10 * 6")} AS lo_supplycost,
        {uniform(9, 19)} AS lo_tax, ({DAY_KEYS})[1 + {uniform(DAYS, 20)}] AS lo_commitdate,
        'mode ' || {uniform(7, 21)} AS lo_shipmode""",
                "lo_orderkey, lo_linenumber", is_fact=True)


def _sale(condition):
    return f"SELECT sum(lo_extendedprice * lo_discount) FROM lineorder JOIN date ON d_datekey = lo_orderdate WHERE {condition}"


def _brands(condition):
    return f"""SELECT sum(lo_revenue), d_year, p_brand1 FROM lineorder JOIN date ON d_datekey = lo_orderdate
        JOIN part ON p_partkey = lo_partkey JOIN supplier ON s_suppkey = lo_suppkey
        WHERE {condition} GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"""


def _trade(level, condition):
    return f"""SELECT c_{level}, s_{level}, d_year, sum(lo_revenue) AS revenue FROM lineorder
        JOIN customer ON c_custkey = lo_custkey JOIN supplier ON s_suppkey = lo_suppkey JOIN date ON d_datekey = lo_orderdate
        WHERE {condition} GROUP BY c_{level}, s_{level}, d_year ORDER BY d_year, revenue DESC, c_{level}, s_{level}"""


def _profit(keys, condition):
    return f"""SELECT {keys}, sum(lo_revenue - lo_supplycost) AS profit FROM lineorder
        JOIN date ON d_datekey = lo_orderdate JOIN customer ON c_custkey = lo_custkey JOIN supplier ON s_suppkey = lo_suppkey
        JOIN part ON p_partkey = lo_partkey WHERE {condition} GROUP BY {keys} ORDER BY {keys}"""


IN_CITIES = "c_city IN ('city 081', 'city 085') AND s_city IN ('city 081', 'city 085')"
QUERIES = {
    "Q1.1": _sale("d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25"),
    "Q1.2": _sale("d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35"),
    "Q1.3": _sale("d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 AND lo_quantity BETWEEN 26 AND 35"),
    "Q2.1": _brands("p_category = 'category 12' AND s_region = 'region 1'"),
    "Q2.2": _brands("p_brand1 BETWEEN 'brand 481' AND 'brand 488' AND s_region = 'region 2'"),
    "Q2.3": _brands("p_brand1 = 'brand 481' AND s_region = 'region 3'"),
    "Q3.1": _trade("nation", "c_region = 'region 2' AND s_region = 'region 2' AND d_year BETWEEN 1992 AND 1997"),
    "Q3.2": _trade("city", "c_nation = 'nation 08' AND s_nation = 'nation 08' AND d_year BETWEEN 1992 AND 1997"),
    "Q3.3": _trade("city", f"{IN_CITIES} AND d_year BETWEEN 1992 AND 1997"),
    "Q3.4": _trade("city", f"{IN_CITIES} AND d_yearmonth = 'Dec1997'"),
    "Q4.1": _profit("d_year, c_nation", "c_region = 'region 1' AND s_region = 'region 1' AND p_mfgr IN ('maker 0', 'maker 1')"),
    "Q4.2": _profit("d_year, s_nation, p_category", "c_region = 'region 1' AND s_region = 'region 1' AND d_year IN (1997, 1998) "
                    "AND p_mfgr IN ('maker 0', 'maker 1')"),
    "Q4.3": _profit("d_year, s_city, p_brand1", "c_region = 'region 1' AND s_nation = 'nation 07' AND d_year IN (1997, 1998) "
                    "AND p_category = 'category 12'"),
}
