#!/usr/bin/env python3
"""Trino's client protocol, by its Python client: values of every type, pages, prepared statements, errors, cancelling.

    tests/lakehouse/trino_test.py NILAS [test_name…]

Needs boto3, PyIceberg and trino.
"""
import datetime
import decimal
import json
import math
import os
import subprocess
import sys
import time
import urllib.request
import uuid

import pyarrow
import trino
from pyiceberg.catalog import load_catalog

from support import Lakehouse, check, equal, run_tests


CLI_VERSION = "476"


def connect(lake, **options):
    return trino.dbapi.connect(host="localhost", port=lake.ports["trino"], user="somebody", **options)


def query(connection, text, parameters=None):
    cursor = connection.cursor()
    cursor.execute(text, parameters) if parameters is not None else cursor.execute(text)
    return cursor.fetchall(), cursor


def fails(connection, text, kind, name):
    try:
        query(connection, text)
    except kind as problem:
        return equal(problem.error_name, name, text)
    return check(False, f"{text} should fail")


def make_table(lake):
    lake.client("s3tables").create_table_bucket(name="lakehouse")
    arn = lake.client("s3tables").list_table_buckets()["tableBuckets"][0]["arn"]
    catalog = load_catalog("lake", **{"type": "rest", "uri": lake.url("s3tables") + "/iceberg", "warehouse": arn, "s3.endpoint": lake.url("s3"), "s3.access-key-id": "nilas",
                                      "s3.secret-access-key": "nilas", "s3.region": "us-east-1"})
    catalog.create_namespace("sales")
    rows = pyarrow.table({"id": pyarrow.array([1, 2, 3], pyarrow.int64()), "name": ["one", None, "drei 'ß'"], "price": pyarrow.array([decimal.Decimal("1.50"), None, decimal.Decimal("-3.25")],
                         pyarrow.decimal128(10, 2)), "at": pyarrow.array([datetime.datetime(2026, 10, 1, 12, 0, 0, 123456)] * 3, pyarrow.timestamp("us", "UTC"))})
    catalog.create_table("sales.orders", schema=rows.schema).append(rows)


def test_catalogs_schemas_tables_columns():
    with Lakehouse() as lake:
        make_table(lake)
        connection = connect(lake)
        check(["lakehouse"] in query(connection, "SHOW CATALOGS")[0] and ["warehouse"] in query(connection, "SHOW CATALOGS")[0], "the catalogs")
        equal(query(connection, "SHOW SCHEMAS FROM lakehouse")[0], [["sales"]])
        rows, cursor = query(connection, "SHOW TABLES FROM lakehouse.sales")
        equal((rows, cursor.description[0][0]), ([["orders"]], "Table"))
        equal(query(connection, "SHOW TABLES FROM lakehouse.sales LIKE 'x%'")[0], [])
        described = query(connection, "DESCRIBE lakehouse.sales.orders")[0]
        equal([row[:2] for row in described], [["id", "bigint"], ["name", "varchar"], ["price", "decimal(10,2)"], ["at", "timestamp(6) with time zone"]])
        equal(query(connection, "SHOW COLUMNS FROM lakehouse.sales.orders")[0], described)
        fails(connection, "SHOW SCHEMAS FROM nowhere", trino.exceptions.TrinoUserError, "GENERIC_USER_ERROR")


def test_tables_are_read_and_written():
    with Lakehouse() as lake:
        make_table(lake)
        connection = connect(lake, catalog="lakehouse", schema="sales")
        rows, cursor = query(connection, "SELECT id, name, price, at FROM orders ORDER BY id")
        at = datetime.datetime(2026, 10, 1, 12, 0, 0, 123456, tzinfo=datetime.timezone.utc)
        equal([row[:3] for row in rows], [[1, "one", decimal.Decimal("1.50")], [2, None, None], [3, "drei 'ß'", decimal.Decimal("-3.25")]])
        check(all(row[3] == at for row in rows), rows)
        equal([column[1] for column in cursor.description], ["bigint", "varchar", "decimal(10, 2)", "timestamp(6) with time zone"])
        equal(query(connection, "SELECT count(*), sum(price) AS total FROM \"s3tablescatalog/lakehouse\".\"sales\".\"orders\"")[0], [[3, decimal.Decimal("-1.75")]])
        query(connection, "INSERT INTO orders VALUES (4, 'four', 4.00, TIMESTAMP '2026-10-02 00:00:00')")
        query(connection, "DELETE FROM orders WHERE id = 1")
        equal(query(connection, "SELECT id FROM lakehouse.sales.orders ORDER BY 1")[0], [[2], [3], [4]])
        query(connection, "CREATE TABLE made AS SELECT id, name FROM orders")
        equal(query(connection, "SHOW TABLES")[0], [["made"], ["orders"]])
        query(connection, "DROP TABLE made")
        query(connection, "USE lakehouse.sales")
        fails(connection, "USE lakehouse.none", trino.exceptions.TrinoUserError, "SCHEMA_NOT_FOUND")


def test_values_of_every_type():
    with Lakehouse() as lake:
        connection = connect(lake)
        for text, value in [
            ("true", True), ("CAST(1 AS TINYINT)", 1), ("CAST(9223372036854775807 AS BIGINT)", 9223372036854775807), ("CAST(1.5 AS DOUBLE)", 1.5), ("CAST('1e300' AS DOUBLE)", 1e300),
            ("CAST(0.1 AS DECIMAL(38, 20))", decimal.Decimal("0.10000000000000000000")), ("'a\"b\\c\nd é 漢 😀'", "a\"b\\c\nd é 漢 😀"), ("X'00FF'", b"\x00\xff"),
            ("DATE '2026-10-01'", datetime.date(2026, 10, 1)), ("CAST(NULL AS varchar)", None),
            ("TIMESTAMP '2026-10-01 01:02:03.000004'", datetime.datetime(2026, 10, 1, 1, 2, 3, 4)), ("ARRAY[1, NULL, 3]", [1, None, 3]), ("MAP(ARRAY['k'], ARRAY[1])", {"k": 1}),
            ("ARRAY[ARRAY['x']]", [["x"]]),
        ]:
            equal(query(connection, f"SELECT {text} AS v")[0], [[value]], text)
        equal(tuple(query(connection, "SELECT CAST(ROW(1, 'x') AS row(a integer, b varchar)) AS v")[0][0][0]), (1, "x"))
        check(math.isnan(query(connection, "SELECT CAST('NaN' AS DOUBLE) AS v")[0][0][0]), "NaN")
        equal(query(connection, "SELECT CAST('-Infinity' AS DOUBLE) AS v")[0][0][0], -math.inf)
        equal(query(connection, "SELECT 1 + 1, 2 AS b")[1].description[0][0], "_col0")


def test_the_dialect():
    """What Trino's documentation says, where Spark's SQL says something else."""
    with Lakehouse() as lake:
        connection = connect(lake)
        for text, value in [
            ("SELECT 7 / 2", [[3]]), ("SELECT -7 / 2", [[-3]]), ("SELECT 7 / 2.0e0", [[3.5]]), ("SELECT ARRAY[10, 20][1]", [[10]]), ("SELECT 'it''s' || ' \\'", [["it's \\"]]),
            ("SELECT x FROM (VALUES 2, NULL, 1) AS t(x) ORDER BY x", [[1], [2], [None]]), ("SELECT x FROM (VALUES 2, NULL, 1) AS t(x) ORDER BY x DESC", [[2], [1], [None]]),
            ("SELECT x FROM (VALUES 1, 2, 3, 4) AS t(x) ORDER BY x OFFSET 1 LIMIT 2", [[2], [3]]), ("SELECT x FROM (VALUES 1, 2) AS t(x) ORDER BY x FETCH FIRST 1 ROWS ONLY", [[1]]),
            ("SELECT y FROM (VALUES 1) AS t(x) CROSS JOIN UNNEST(ARRAY[5, 6]) AS u(y)", [[5], [6]]), ("SELECT x FROM UNNEST(ARRAY['a']) AS t(x)", [["a"]]),
            ("SELECT strpos('hello', 'l')", [[3]]), ("SELECT date_diff('day', DATE '2026-01-01', DATE '2026-02-01')", [[31]]),
            ("SELECT date_add('month', 1, DATE '2026-01-31')", [[datetime.date(2026, 2, 28)]]), ("SELECT date_add('day', -1, DATE '2026-01-01')", [[datetime.date(2025, 12, 31)]]),
            ("SELECT date_format(TIMESTAMP '2026-10-01 13:05:00', '%Y/%m/%d %H:%i')", [["2026/10/01 13:05"]]), ("SELECT split('a.b', '.')", [[["a", "b"]]]),
            ("SELECT regexp_extract('abc123', '[0-9]+')", [["123"]]), ("SELECT contains(ARRAY[1, 2], 2)", [[True]]), ("SELECT json_extract_scalar('{\"a\": 1}', '$.a')", [["1"]]),
            ("SELECT BIGINT '5' + 1", [[6]]), ("SELECT DECIMAL '1.50'", [[decimal.Decimal("1.50")]]), ("SELECT CAST(1 AS varchar)", [["1"]]), ("SELECT MAP(ARRAY['a'], ARRAY[1])['a']", [[1]]), ("SELECT \"x y\" FROM (SELECT 1 AS \"x y\") AS t", [[1]]),
            ("SELECT count(*) FROM (VALUES 1, 1, 2) AS t(x) GROUP BY x ORDER BY 1", [[1], [2]]),
        ]:
            equal(query(connection, text)[0], value, text)
        fails(connection, "SELECT ARRAY[1, 2][3]", trino.exceptions.TrinoUserError, "GENERIC_USER_ERROR")


def test_many_rows_come_in_pages_and_a_reader_that_stops_stops_the_query():
    with Lakehouse() as lake:
        connection = connect(lake)
        rows, _ = query(connection, "SELECT id, concat('row ', CAST(id AS varchar)) AS t FROM TABLE(sequence(0, 199999)) AS r(id) ORDER BY id")
        equal((len(rows), rows[0], rows[-1]), (200000, [0, "row 0"], [199999, "row 199999"]))
        cursor = connection.cursor()
        cursor.execute("SELECT id FROM TABLE(sequence(0, 99999999)) AS r(id)")
        equal(cursor.fetchone(), [0])
        time.sleep(1)
        with open(f"/proc/{lake.process.pid}/status") as status:
            resident = int(next(line.split()[1] for line in status if line.startswith("VmRSS")))
        check(resident < 400000, f"{resident} KiB are held for a reader that does not read")
        cursor.cancel()
        deadline = time.time() + 10
        while time.time() < deadline and json.load(urllib.request.urlopen(lake.url("dashboard") + "/api/queries")):
            time.sleep(0.1)
        equal(json.load(urllib.request.urlopen(lake.url("dashboard") + "/api/queries")), [], "it has stopped")


def test_parameters_and_prepared_statements():
    with Lakehouse() as lake:
        for legacy in (False, True):
            connection = connect(lake, legacy_prepared_statements=legacy)
            value = "it's ? \"x\" -- no"
            equal(query(connection, "SELECT ? AS a, ? AS b, '?' AS c -- ?", [value, 5])[0], [[value, 5, "?"]], f"legacy {legacy}")
            equal(query(connection, "SELECT id FROM TABLE(sequence(0, 9)) AS r(id) WHERE id IN (?, ?) ORDER BY id", [3, 7])[0], [[3], [7]])
        connection = connect(lake)
        query(connection, "PREPARE p FROM SELECT ? + 1 AS x")
        fails(connection, "EXECUTE none", trino.exceptions.TrinoUserError, "GENERIC_USER_ERROR")
        fails(connection, "EXECUTE IMMEDIATE 'SELECT ?'", trino.exceptions.TrinoUserError, "GENERIC_USER_ERROR")


def test_errors_have_trinos_names():
    with Lakehouse() as lake:
        make_table(lake)
        connection = connect(lake, catalog="lakehouse", schema="sales")
        for text, name in [("SELECT * FROM none", "TABLE_NOT_FOUND"), ("SELECT nothing FROM orders", "COLUMN_NOT_FOUND"), ("SELEC 1", "SYNTAX_ERROR"), ("SELECT 1 / 0", "DIVISION_BY_ZERO"),
                           ("CREATE TABLE orders (a BIGINT)", "TABLE_ALREADY_EXISTS"), ("START TRANSACTION", "NOT_SUPPORTED"), ("SELECT nvl(1, 2)", "FUNCTION_NOT_FOUND"), ("SELECT histogram(1)", "NOT_SUPPORTED"),
                           ("SELECT 2147483647 + 1", "NUMERIC_VALUE_OUT_OF_RANGE"), ("SELECT CAST('x' AS integer)", "INVALID_CAST_ARGUMENT"), ("SELECT 1 = '1'", "TYPE_MISMATCH"),
                           ("SELECT (SELECT x FROM (VALUES 1, 2) AS t(x))", "SUBQUERY_MULTIPLE_ROWS"), ("SELECT a FROM (SELECT 1 AS a, 2 AS a)", "AMBIGUOUS_NAME"),
                           ("SELECT x, y FROM (VALUES (1, 2)) AS t(x, y) GROUP BY x", "EXPRESSION_NOT_AGGREGATE")]:
            fails(connection, text, trino.exceptions.TrinoUserError, name)


def test_information_schema():
    with Lakehouse() as lake:
        make_table(lake)
        connection = connect(lake, catalog="lakehouse", schema="sales")
        equal(query(connection, "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'sales'")[0], [["orders", "BASE TABLE"]])
        equal(query(connection, "SELECT schema_name FROM lakehouse.information_schema.schemata")[0], [["sales"]])
        equal(query(connection, "SELECT c.column_name, data_type, is_nullable FROM \"lakehouse\".information_schema.columns c WHERE table_name = 'orders' ORDER BY ordinal_position LIMIT 2")[0],
              [["id", "bigint", "YES"], ["name", "varchar", "YES"]])
        equal(query(connection, "SELECT count(*) FROM warehouse.information_schema.tables")[0], [[0]])
        equal(query(connection, "SELECT TABLE_NAME FROM system.jdbc.tables WHERE TABLE_CAT = 'lakehouse' AND TABLE_SCHEM LIKE 'sa%' ESCAPE '\\'")[0], [["orders"]])
        check(["lakehouse"] in query(connection, "SELECT TABLE_CAT FROM system.jdbc.catalogs ORDER BY TABLE_CAT")[0], "catalogs")
        equal(query(connection, "SELECT COLUMN_NAME, DATA_TYPE FROM system.jdbc.columns WHERE TABLE_NAME = 'orders' AND COLUMN_NAME = 'price'")[0], [["price", 3]])


def test_the_trino_command():
    """Trino's own command line, from Maven; Java and Maven are there once scripts/crosswise.sh has run."""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nilas-tests", "jars")
    jar = os.path.join(cache, f"trino-cli-{CLI_VERSION}-executable.jar")
    if not os.path.exists(jar):
        subprocess.run(["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy", f"-Dartifact=io.trino:trino-cli:{CLI_VERSION}:jar:executable", f"-DoutputDirectory={cache}"],
                       check=True, timeout=300)
    with Lakehouse() as lake:
        make_table(lake)
        text = "CREATE TABLE t (id bigint, name varchar); INSERT INTO t VALUES (1, 'it''s'), (2, NULL); SELECT * FROM t ORDER BY name; SHOW TABLES; SELECT * FROM none"
        done = subprocess.run(["java", "-jar", jar, "--server", lake.url("trino"), "--catalog", "lakehouse", "--schema", "sales", "--output-format", "CSV_HEADER", "--execute", text],
                              capture_output=True, text=True, timeout=120)
        equal(done.stdout, '"id","name"\n"1","it\'s"\n"2",""\n"Table"\n"orders"\n"t"\n')
        check("none" in done.stderr and done.returncode == 1, done.stderr)


def test_wrong_requests_are_refused():
    with Lakehouse() as lake:
        base = lake.url("trino")

        def ask(path, method="GET", body=None):
            try:
                return urllib.request.urlopen(urllib.request.Request(base + path, method=method, data=body), timeout=20).status
            except urllib.error.HTTPError as problem:
                return problem.code

        equal(ask("/v1/statement", "POST", b""), 400)
        equal(ask("/v1/statement/executing/20260101_000000_00001_nilas/" + uuid.uuid4().hex + "/1"), 404)
        equal(ask("/v1/nothing"), 404)
        equal(ask("/v1/info"), 200)
        first = json.load(urllib.request.urlopen(urllib.request.Request(base + "/v1/statement", data=b"SELECT 1 AS a")))
        page = json.load(urllib.request.urlopen(first["nextUri"]))
        while "data" not in page:
            page = json.load(urllib.request.urlopen(page["nextUri"]))
        equal(ask(first["nextUri"][len(base):-1] + "9"), 410, "a page that is not next")


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
