"""The order benchmark's tables and queries, in the manner of the published TPC-H benchmark: its tables, columns, sizes and
kinds of questions, with values made by hash functions of row numbers, so that every run everywhere has the same rows. Each
order has four lines; a part has four suppliers; every third customer has no orders. Foreign keys have indexes, as users make
them: without one on the lines' parts Q17 and Q20 take minutes."""
from schemas import Table
from star_schema import padded, uniform

FIRST_DAY, ORDER_DAYS = "'1992-01-01'::date", 2406
WORDS = "ARRAY['almond','azure','blue','coral','forest','green','ivory','linen','navy','olive','pink','rose']"


def money(cents):
    return f"(({cents}) / 100.0)::numeric(15, 2)"


def one_of(words, salt, of="i"):
    return f"(ARRAY[{', '.join(repr(word) for word in words)}])[1 + {uniform(len(words), salt, of)}]"


def tables(scale, numeric):
    """Amounts are of type numeric(15, 2), whatever is asked for, as in the published benchmark."""
    suppliers, customers, parts, orders = (max(int(rows * scale), 40) for rows in (10_000, 150_000, 200_000, 1_500_000))
    yield Table("region", 5, "i::int4 AS r_regionkey, ('region ' || i)::char(25) AS r_name, md5(i::text)::varchar(152) AS r_comment",
                "r_regionkey")
    yield Table("nation", 25, """i::int4 AS n_nationkey, ('nation ' || lpad(i::text, 2, '0'))::char(25) AS n_name,
        (i / 5)::int4 AS n_regionkey, md5(i::text)::varchar(152) AS n_comment""", "n_nationkey")
    yield Table("supplier", suppliers, f"""
        i::int4 AS s_suppkey, ({padded('supplier', 'i', 9)})::char(25) AS s_name, left(md5(i::text), 20)::varchar(40) AS s_address,
        {uniform(25, 1)} AS s_nationkey, ((10 + {uniform(25, 1)}) || '-' || {uniform(10**7, 2)})::char(15) AS s_phone,
        {money(f"{uniform(1_100_000, 3)} - 100000")} AS s_acctbal,
        (md5(i::text) || CASE WHEN i % 200 = 0 THEN ' many complaints of customers ' ELSE ' ' END || i)::varchar(101) AS s_comment""",
                "s_suppkey", ("s_nationkey",))
    yield Table("customer", customers, f"""
        i::int4 AS c_custkey, ({padded('customer', 'i', 9)})::varchar(25) AS c_name, left(md5(i::text), 20)::varchar(40) AS c_address,
        {uniform(25, 4)} AS c_nationkey, ((10 + {uniform(25, 4)}) || '-' || {uniform(10**7, 5)})::char(15) AS c_phone,
        {money(f"{uniform(1_100_000, 6)} - 100000")} AS c_acctbal, ('segment ' || {uniform(5, 7)})::char(10) AS c_mktsegment,
        (md5(i::text) || md5((i + 1)::text))::varchar(117) AS c_comment""", "c_custkey",
                ("c_nationkey",))
    yield Table("part", parts, f"""
        i::int4 AS p_partkey, (({WORDS})[1 + {uniform(12, 8)}] || ' ' || ({WORDS})[1 + {uniform(12, 9)}])::varchar(55) AS p_name,
        ('maker ' || 1 + {uniform(5, 10)})::char(25) AS p_mfgr, ('brand ' || 1 + {uniform(5, 10)} || 1 + {uniform(5, 11)})::char(10) AS p_brand,
        ({one_of(('large', 'small', 'plain', 'economy', 'promo', 'medium'), 12)} || ' ' || {one_of(('plated', 'brushed', 'polished'), 13)}
            || ' ' || {one_of(('tin', 'brass', 'steel', 'nickel', 'copper'), 14)})::varchar(25) AS p_type, 1 + {uniform(50, 15)} AS p_size,
        ({one_of(('sm', 'med', 'lg', 'jumbo', 'wrap'), 16)} || ' ' || {one_of(('case', 'box', 'bag', 'pack', 'jar', 'drum', 'can', 'pkg'), 17)})::char(10)
            AS p_container, {money("90000 + i % 110000")} AS p_retailprice, left(md5(i::text), 14)::varchar(23) AS p_comment""", "p_partkey")
    yield Table("partsupp", 4 * parts, f"""
        (i / 4)::int4 AS ps_partkey, ((i / 4 + i % 4 * {suppliers // 4}) % {suppliers})::int4 AS ps_suppkey, 1 + {uniform(9999, 18)} AS ps_availqty,
        {money(f"100 + {uniform(99_900, 19)}")} AS ps_supplycost, (md5(i::text) || md5((i + 7)::text) || md5((i + 9)::text))::varchar(199) AS ps_comment""",
                "ps_partkey, ps_suppkey", ("ps_suppkey",))
    order_day = f"{FIRST_DAY} + {uniform(ORDER_DAYS, 20, '{of}')}"
    yield Table("orders", orders, f"""
        i::int8 AS o_orderkey, ({uniform(customers // 3 * 2, 21)} * 3 / 2 + 1)::int4 AS o_custkey,
        {one_of(('F', 'O', 'F', 'O', 'P'), 22)}::char(1) AS o_orderstatus, {money(f"100000 + {uniform(40_000_000, 23)}")} AS o_totalprice,
        {order_day.format(of='i')} AS o_orderdate, (1 + {uniform(5, 24)} || '-priority')::char(15) AS o_orderpriority,
        ({padded('clerk', uniform(1000, 25), 9)})::char(15) AS o_clerk, 0 AS o_shippriority,
        (md5(i::text) || CASE WHEN i % 90 = 0 THEN ' special wrapping requests ' ELSE '' END)::varchar(79) AS o_comment""", "o_orderkey",
                ("o_custkey",))
    order, part = "i / 4", uniform(parts, 26)
    quantity, ordered = f"(1 + {uniform(50, 27)})", order_day.format(of=order)
    shipped = f"({ordered} + 1 + {uniform(121, 28)})"
    received = f"({shipped} + 1 + {uniform(30, 29)})"
    yield Table("lineitem", 4 * orders, f"""
        ({order})::int8 AS l_orderkey, {part} AS l_partkey,
        (({part} + {uniform(4, 30)} * {suppliers // 4}) % {suppliers})::int4 AS l_suppkey, (i % 4)::int4 + 1 AS l_linenumber,
        {quantity}::numeric(15, 2) AS l_quantity, {money(f"{quantity} * (90000 + {part} % 110000)")} AS l_extendedprice,
        {money(uniform(11, 31))} AS l_discount, {money(uniform(9, 32))} AS l_tax,
        (CASE WHEN {received} > '1995-06-17' THEN 'N' WHEN {uniform(2, 33)} = 0 THEN 'R' ELSE 'A' END)::char(1) AS l_returnflag,
        (CASE WHEN {shipped} > '1995-06-17' THEN 'O' ELSE 'F' END)::char(1) AS l_linestatus, {shipped} AS l_shipdate,
        ({ordered} + 30 + {uniform(61, 34)}) AS l_commitdate, {received} AS l_receiptdate,
        {one_of(('deliver in person', 'collect', 'none', 'take back'), 35)}::char(25) AS l_shipinstruct,
        {one_of(('air', 'air reg', 'rail', 'ship', 'truck', 'mail', 'fob'), 36)}::char(10) AS l_shipmode,
        left(md5(i::text), 27)::varchar(44) AS l_comment""", "l_orderkey, l_linenumber",
                ("l_partkey, l_suppkey", "l_suppkey"))


DISCOUNTED = "l_extendedprice * (1 - l_discount)"
QUERIES = {
    "Q1": f"""SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum({DISCOUNTED}), sum({DISCOUNTED} * (1 + l_tax)),
        avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) FROM lineitem WHERE l_shipdate <= '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "Q2": """SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone FROM part, supplier, partsupp, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%brass' AND s_nationkey = n_nationkey
        AND n_regionkey = r_regionkey AND r_name = 'region 3' AND ps_supplycost = (SELECT min(ps_supplycost)
            FROM partsupp, supplier, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey
            AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'region 3')
        ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100""",
    "Q3": f"""SELECT l_orderkey, sum({DISCOUNTED}) AS revenue, o_orderdate, o_shippriority FROM customer, orders, lineitem
        WHERE c_mktsegment = 'segment 1' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < '1995-03-15'
        AND l_shipdate > '1995-03-15' GROUP BY l_orderkey, o_orderdate, o_shippriority
        ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10""",
    "Q4": """SELECT o_orderpriority, count(*) FROM orders WHERE o_orderdate >= '1993-07-01' AND o_orderdate < '1993-10-01'
        AND EXISTS (SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY o_orderpriority ORDER BY o_orderpriority""",
    "Q5": f"""SELECT n_name, sum({DISCOUNTED}) AS revenue FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'region 2' AND o_orderdate >= '1994-01-01'
        AND o_orderdate < '1995-01-01' GROUP BY n_name ORDER BY revenue DESC""",
    "Q6": """SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'
        AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    "Q7": f"""SELECT supp_nation, cust_nation, l_year, sum(volume) FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation,
            extract(year FROM l_shipdate) AS l_year, {DISCOUNTED} AS volume FROM supplier, lineitem, orders, customer, nation n1, nation n2
            WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey
            AND c_nationkey = n2.n_nationkey AND (n1.n_name = 'nation 06' AND n2.n_name = 'nation 07'
                OR n1.n_name = 'nation 07' AND n2.n_name = 'nation 06') AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31') shipping
        GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year""",
    "Q8": f"""SELECT o_year, sum(CASE WHEN nation = 'nation 08' THEN volume ELSE 0 END) / sum(volume) FROM (
            SELECT extract(year FROM o_orderdate) AS o_year, {DISCOUNTED} AS volume, n2.n_name AS nation
            FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey
            AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey
            AND n1.n_regionkey = r_regionkey AND r_name = 'region 1' AND s_nationkey = n2.n_nationkey
            AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31' AND p_type = 'economy polished steel') all_nations
        GROUP BY o_year ORDER BY o_year""",
    "Q9": f"""SELECT nation, o_year, sum(amount) FROM (SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year,
            {DISCOUNTED} - ps_supplycost * l_quantity AS amount FROM part, supplier, lineitem, partsupp, orders, nation
            WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
            AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%') profit
        GROUP BY nation, o_year ORDER BY nation, o_year DESC""",
    "Q10": f"""SELECT c_custkey, c_name, sum({DISCOUNTED}) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
        FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate >= '1993-10-01' AND o_orderdate < '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC, c_custkey LIMIT 20""",
    "Q11": """SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey
        AND s_nationkey = n_nationkey AND n_name = 'nation 07' GROUP BY ps_partkey HAVING sum(ps_supplycost * ps_availqty) > (
            SELECT sum(ps_supplycost * ps_availqty) * 0.0001 FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey
            AND s_nationkey = n_nationkey AND n_name = 'nation 07') ORDER BY value DESC, ps_partkey""",
    "Q12": """SELECT l_shipmode, sum(CASE WHEN o_orderpriority IN ('1-priority', '2-priority') THEN 1 ELSE 0 END),
        sum(CASE WHEN o_orderpriority NOT IN ('1-priority', '2-priority') THEN 1 ELSE 0 END) FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('mail', 'ship') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
        AND l_receiptdate >= '1994-01-01' AND l_receiptdate < '1995-01-01' GROUP BY l_shipmode ORDER BY l_shipmode""",
    "Q13": """SELECT c_count, count(*) AS custdist FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer LEFT JOIN orders
            ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) c_orders
        GROUP BY c_count ORDER BY custdist DESC, c_count DESC""",
    "Q14": f"""SELECT 100.00 * sum(CASE WHEN p_type LIKE 'promo%' THEN {DISCOUNTED} ELSE 0 END) / sum({DISCOUNTED})
        FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= '1995-09-01' AND l_shipdate < '1995-10-01'""",
    "Q15": f"""WITH revenue AS (SELECT l_suppkey AS supplier_no, sum({DISCOUNTED}) AS total_revenue FROM lineitem
            WHERE l_shipdate >= '1996-01-01' AND l_shipdate < '1996-04-01' GROUP BY l_suppkey)
        SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM supplier, revenue WHERE s_suppkey = supplier_no
        AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY s_suppkey""",
    "Q16": """SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part WHERE p_partkey = ps_partkey
        AND p_brand <> 'brand 45' AND p_type NOT LIKE 'medium polished%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
        AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%complaints%')
        GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size""",
    "Q17": """SELECT sum(l_extendedprice) / 7.0 FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'brand 23'
        AND p_container = 'med box' AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)""",
    "Q18": """SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 180)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100""",
    "Q19": f"""SELECT sum({DISCOUNTED}) FROM lineitem, part WHERE p_partkey = l_partkey AND l_shipinstruct = 'deliver in person'
        AND l_shipmode IN ('air', 'air reg') AND (
            p_brand = 'brand 12' AND p_container IN ('sm case', 'sm box', 'sm pack', 'sm pkg') AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5
            OR p_brand = 'brand 23' AND p_container IN ('med bag', 'med box', 'med pkg', 'med pack') AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10
            OR p_brand = 'brand 34' AND p_container IN ('lg case', 'lg box', 'lg pack', 'lg pkg') AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15)""",
    "Q20": """SELECT s_name, s_address FROM supplier, nation WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp
            WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') AND ps_availqty > (
                SELECT 0.5 * sum(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                AND l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'))
        AND s_nationkey = n_nationkey AND n_name = 'nation 03' ORDER BY s_name""",
    "Q21": """SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation WHERE s_suppkey = l1.l_suppkey
        AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate
        AND EXISTS (SELECT FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
        AND NOT EXISTS (SELECT FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
            AND l3.l_receiptdate > l3.l_commitdate)
        AND s_nationkey = n_nationkey AND n_name = 'nation 20' GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100""",
    "Q22": """SELECT cntrycode, count(*), sum(c_acctbal) FROM (SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM customer
            WHERE substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > (
                SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0.00
                AND substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17'))
            AND NOT EXISTS (SELECT FROM orders WHERE o_custkey = c_custkey)) custsale
        GROUP BY cntrycode ORDER BY cntrycode""",
}
