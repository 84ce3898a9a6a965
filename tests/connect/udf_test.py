#!/usr/bin/env python3
"""udf_test.py NILAS [TEST …] - functions in Python through nilas connect: what PySpark's programs see, and what happens when
a function, its process or its Python goes wrong. Expected values are Spark 4.0.1's unless a line says otherwise."""
import decimal
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Iterator

import warnings

import pandas as pd
import pyspark.errors
from pyspark.errors.exceptions.connect import SparkException
from pyspark.sql import Row, Window
from pyspark.sql.functions import array, avg as average, col, explode, lit, pandas_udf, sum as sum_of, transform, udf, udtf, when

from server import connected, serving

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")


def check(found, expected):
    if found != expected:
        raise AssertionError(f"\n  nilas {found!r}\n  spark {expected!r}")


def column(frame):
    return [row[0] for row in frame.collect()]


def fails(run, kind, *words):
    try:
        found = run()
    except kind as error:
        missing = [word for word in words if word not in str(error)]
        if missing:
            raise AssertionError(f"{missing} is not in: {error}") from None
        return str(error)
    raise AssertionError(f"should have failed with {kind.__name__}: {found!r}")


def every_type(spark):
    return spark.sql("""select 1Y b, 2S sh, 3 i, 4L l, 1.5F f, 2.5D d, cast(1.25 as decimal(10,2)) dec, 'txt' s, X'0102' bin,
        date'2024-02-29' dt, timestamp'2024-02-29 12:34:56.789' ts, timestamp_ntz'2024-01-01 01:02:03' ntz,
        array(1,2,null) arr, map('k',1) m, named_struct('x',1,'y','z') st, true bo, interval '1' day iv""")


def test_rows_show_their_values_as_python_s_own(spark):
    frame = every_type(spark)
    show = udf(repr, "string")
    found = dict(zip(frame.columns, frame.select(*[show(name) for name in frame.columns]).first()))
    check(found, {
        "b": "1", "sh": "2", "i": "3", "l": "4", "f": "1.5", "d": "2.5", "dec": "Decimal('1.25')", "s": "'txt'",
        "bin": "bytearray(b'\\x01\\x02')", "dt": "datetime.date(2024, 2, 29)",
        "ts": "datetime.datetime(2024, 2, 29, 12, 34, 56, 789000)", "ntz": "datetime.datetime(2024, 1, 1, 1, 2, 3)",
        "arr": "[1, 2, None]", "m": "{'k': 1}", "st": "Row(x=1, y='z')", "bo": "True", "iv": "datetime.timedelta(days=1)"})


def test_values_of_every_type_come_back(spark):
    frame = every_type(spark)
    for make in (lambda kind: udf(lambda x: x, kind), lambda kind: pandas_udf(lambda x: x, kind)):
        same = frame.select(*[make(frame.schema[name].dataType)(name).alias(name) for name in frame.columns])
        check(same.collect(), frame.collect())


def test_a_value_of_another_type_is_null(spark):
    one = spark.range(1)
    values = [1, 1.5, "a", True, [1, "2"], (1, "b"), {"k": 1}, decimal.Decimal("1.255"), 2**40, -1]
    expected = {
        "boolean": [None, None, None, True, None, None, None, None, None, None],
        "tinyint": [1, None, None, None, None, None, None, None, 0, -1],
        "int": [1, None, None, None, None, None, None, None, 0, -1],
        "bigint": [1, None, None, None, None, None, None, None, 2**40, -1],
        "double": [None, 1.5, None, None, None, None, None, None, None, None],
        "binary": [None, None, bytearray(b"a"), None, None, None, None, None, None, None],
    }
    for kind, wanted in expected.items():
        found = one.select(*[udf(lambda x, v=value: v, kind)("id") for value in values]).first()
        check((kind, list(found)), (kind, wanted))
    texts = [udf(lambda x, v=value: v, "string")("id") for value in (1, True, 2.5, 1e20, {"a": 1}, [1], None)]
    check(list(one.select(*texts).first()), ["1", "true", "2.5", "1.0E20", "{a=1}", "[1]", None])
    fails(lambda: one.select(udf(lambda x: Row(a=1), "int")("id")).collect(), pyspark.errors.PythonException,
          "expected zero arguments for construction of ClassDict (for pyspark.sql.types._create_row)")


def test_functions_stand_wherever_expressions_do(spark):
    plus = udf(lambda x: x + 1, "int")
    twice = udf(lambda x: x * 2, "int")
    rows = spark.range(5)
    check(rows.select(plus("id")).columns, ["<lambda>(id)"])
    check(column(rows.select(twice(plus("id")))), [2, 4, 6, 8, 10])
    check(column(rows.select(plus("id") + plus("id") + col("id"))), [2, 5, 8, 11, 14])
    check(column(rows.filter((plus("id") > 2) & (col("id") < 4))), [2, 3])
    check(column(rows.orderBy(udf(lambda x: -x, "int")("id"))), [4, 3, 2, 1, 0])
    grouped = rows.groupBy(plus(col("id") % 2).alias("k")).agg(sum_of(twice("id")).alias("s")).orderBy("k")
    check([tuple(row) for row in grouped.collect()], [(1, 12), (2, 8)])
    check(column(rows.select(when(col("id") > 2, twice("id")).otherwise(lit(0)))), [0, 0, 0, 6, 8])
    check(column(rows.select(plus(pandas_udf(lambda x: x * 2, "int")("id")))), [1, 3, 5, 7, 9])
    check(column(rows.select(sum_of(plus("id")).over(Window.orderBy("id")))), [1, 3, 6, 10, 15])
    check(column(rows.select(explode(udf(lambda x: [x, x], "array<int>")("id"))).limit(3)), [0, 0, 1])
    check(column(rows.select(udf(lambda a, b: a - b, "int")(b=lit(1), a=lit(5))).limit(1)), [4])
    check(column(rows.select(udf(lambda: 7, "int")())), [7] * 5)
    other = spark.range(3).withColumnRenamed("id", "k")
    check(column(rows.join(other, udf(lambda a, b: a == b + 1, "boolean")("id", "k")).orderBy("id")), [1, 2, 3])
    check(column(rows.join(other, plus("id") == udf(lambda b: b + 3, "int")("k")).orderBy("id")), [2, 3, 4])
    check(rows.select(udf(str)("id")).dtypes, [("str(id)", "string")])


def test_many_rows_keep_their_order(spark):
    found = column(spark.range(50000).select(udf(lambda x: x, "bigint")("id")))
    check(found == list(range(50000)), True)
    check(spark.range(100000).select(udf(lambda x: x, "bigint")("id").alias("x")).agg(sum_of("x")).first()[0], 4999950000)
    check(column(spark.range(1000000).select(udf(lambda x: x, "bigint")("id")).limit(3)), [0, 1, 2])


def test_what_is_refused_names_itself(spark):
    rows = spark.range(5)
    other = spark.range(3).withColumnRenamed("id", "k")
    both = udf(lambda a, b: a == b, "boolean")
    total = pandas_udf(lambda v: float(v.sum()), "double", 202)
    refused = pyspark.errors.AnalysisException
    fails(lambda: rows.join(other, both("id", "k"), "left").collect(), refused, "[UNSUPPORTED_FEATURE.PYTHON_UDF_IN_ON_CLAUSE]", "LEFT OUTER JOIN")
    fails(lambda: rows.agg(sum_of("id"), total("id")).collect(), refused, "[INVALID_PANDAS_UDF_PLACEMENT]")
    fails(lambda: rows.select(transform(array("id"), lambda x: udf(lambda a: a, "int")(x))).collect(), refused,
          "[UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_PYTHON_UDF]")


def test_pandas_functions(spark):
    rows = spark.range(6)
    check(column(rows.select(pandas_udf(lambda x: x * 1.5, "double")("id"))), [0.0, 1.5, 3.0, 4.5, 6.0, 7.5])

    @pandas_udf("long")
    def keep_all(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
        yield from list(parts)  # reads to the end before it gives anything

    check([tuple(row) for row in spark.range(9000).select("id", keep_all("id")).filter("id > 8997").collect()], [(8998, 8998), (8999, 8999)])
    check(column(rows.select(udf(lambda x: x + 1, "int", useArrow=True)("id"))), [1, 2, 3, 4, 5, 6])

    @pandas_udf("double")
    def mean(v: pd.Series) -> float:
        return v.mean()

    values = spark.createDataFrame([(1, 1.0), (1, 2.0), (2, 3.0), (2, 5.0), (2, 10.0)], ("id", "v"))
    check([tuple(r) for r in values.groupBy("id").agg(mean("v")).orderBy("id").collect()], [(1, 1.5), (2, 6.0)])
    check(values.agg(mean("v")).first()[0], 4.2)
    check(column(values.select(mean("v").over(Window.partitionBy("id")))), [1.5, 1.5, 6.0, 6.0, 6.0])
    ordered = Window.partitionBy("id").orderBy("v")
    for frame in (ordered, ordered.rowsBetween(-1, 0), ordered.rowsBetween(0, 1), ordered.rowsBetween(-1, Window.unboundedFollowing),
                  ordered.rangeBetween(-2, 0), Window.partitionBy("id").orderBy((col("v") / 4).cast("int"))):
        both = values.select("id", "v", mean("v").over(frame).alias("p")).join(
            values.select("id", "v", average("v").over(frame).alias("a")), ["id", "v"])
        check([row for row in both.collect() if row.p != row.a], [])
        check(both.count(), 5)


def test_functions_over_rows_and_groups(spark):
    rows = spark.range(10)

    def even(parts):
        for part in parts:
            yield part[part.id % 2 == 0]

    check(column(rows.mapInPandas(even, "id long")), [0, 2, 4, 6, 8])
    check(column(rows.mapInArrow(lambda parts: parts, "id long")), list(range(10)))

    def first_only(parts):
        yield next(parts).head(1)

    check(column(spark.range(200000).mapInPandas(first_only, "id long")), [0])
    values = spark.createDataFrame([(1, 1.0), (1, 2.0), (2, 3.0), (2, 5.0), (2, 10.0)], ("id", "v"))
    centred = values.groupBy("id").applyInPandas(lambda d: d.assign(v=d.v - d.v.mean()), "id long, v double")
    check([tuple(r) for r in centred.collect()], [(1, -0.5), (1, 0.5), (2, -3.0), (2, -1.0), (2, 4.0)])
    check(column(values.groupBy("id").applyInArrow(lambda d: d, "id long, v double")), [1, 1, 2, 2, 2])
    keyed = values.groupBy((col("id") % 2).alias("p")).applyInPandas(lambda k, d: pd.DataFrame({"k": [k[0]], "n": [len(d)]}), "k long, n long")
    check(sorted(tuple(r) for r in keyed.collect()), [(0, 3), (1, 2)])
    nulls = spark.sql("values (1,2),(null,3),(1,null),(null,5) t(a,b)").groupBy("a")
    check(column(nulls.applyInPandas(lambda d: pd.DataFrame({"n": [len(d)]}), "n long")), [2, 2])
    other = spark.createDataFrame([(1, "x"), (3, "y")], ("id", "w"))
    both = values.groupBy("id").cogroup(other.groupBy("id"))
    counted = both.applyInPandas(lambda l, r: pd.DataFrame({"l": [len(l)], "r": [len(r)], "w": [",".join(r.w)]}), "l long, r long, w string")
    check(sorted(tuple(r) for r in counted.collect()), [(0, 1, "y"), (2, 1, "x"), (3, 0, "")])
    check(len(both.applyInArrow(lambda l, r: l, "id long, v double").collect()), 5)


def test_registered_functions_are_called_from_sql(spark):
    spark.udf.register("plus_one", lambda x: x + 1, "int")
    check([tuple(r) for r in spark.sql("select plus_one(id) x, plus_one(id) from range(3) where plus_one(id) > 1").collect()], [(2, 2), (3, 3)])
    check(spark.sql("select plus_one(1)").columns, ["plus_one(1)"])
    check([tuple(r) for r in spark.sql("select plus_one(id) % 2, count(*) from range(4) group by plus_one(id) % 2 order by 1").collect()], [(0, 2), (1, 2)])
    spark.udf.register("plus_one", lambda x: x + 100, "int")
    check(spark.sql("select plus_one(1)").first()[0], 101)


def test_table_functions(spark):
    @udtf(returnType="num: int, squared: int")
    class Squares:
        def eval(self, start: int, end: int):
            for number in range(start, end + 1):
                yield (number, number * number)

    @udtf(returnType="c: bigint")
    class Total:
        def __init__(self):
            self.total = 0

        def eval(self, x):
            self.total += x

        def terminate(self):
            yield (self.total,)

    check([tuple(r) for r in Squares(lit(1), lit(3)).collect()], [(1, 1), (2, 4), (3, 9)])
    check(column(Squares(end=lit(3), start=lit(2))), [2, 3])
    check(Squares(lit(2), lit(1)).collect(), [])
    check(column(Total(lit(5))), [5])
    spark.udtf.register("squares", Squares)
    check(spark.sql("select sum(squared) from squares(1, 4)").first()[0], 30)
    check([tuple(r) for r in spark.sql("select * from squares(1, 2) as t(a, b) where a > 1").collect()], [(2, 4)])
    fails(lambda: spark.sql("select squares(1, 2)").collect(), pyspark.errors.AnalysisException, "[NOT_A_SCALAR_FUNCTION]")

    @udtf(returnType="c: int")
    class Wrong:
        def eval(self, x):
            yield (1, 2)

    fails(lambda: Wrong(lit(1)).collect(), pyspark.errors.PythonException, "UDTF_RETURN_SCHEMA_MISMATCH")


def test_table_functions_over_other_tables(spark):
    @udtf(returnType="n: int, s: string")
    class Times:
        def eval(self, x, s="?"):
            for n in range(x or 0):
                yield (n, s)

    spark.udtf.register("times", Times)
    rows = "values (1, 'a'), (2, 'b'), (0, 'c'), (2, 'b'), (null, 'd') t(x, s)"
    lateral = spark.sql(f"select t.x, t.s, u.n, u.s as us from {rows}, lateral times(t.x, t.s) u order by all")
    check([tuple(r) for r in lateral.collect()], [(1, "a", 0, "a"), (2, "b", 0, "b"), (2, "b", 0, "b"), (2, "b", 1, "b"), (2, "b", 1, "b")])
    many = spark.sql("select count(*), sum(u.n), count(distinct id) from range(25000), lateral times(cast(id % 3 as int), s => 'x') u")
    check(tuple(many.first()), (24999, 8333, 16666))
    from_frame = spark.range(3).selectExpr("cast(id as int) as id").lateralJoin(Times(col("id").outer())).select("id", "n").orderBy("id", "n")
    check([tuple(r) for r in from_frame.collect()], [(1, 0), (2, 0), (2, 1)])
    # Spark loses the rows of the left side for which the function gives none.
    left = spark.sql(f"select t.s, u.n from {rows} left join lateral times(x) u order by all")
    check([tuple(r) for r in left.collect()], [("a", 0), ("b", 0), ("b", 0), ("b", 1), ("b", 1), ("c", None), ("d", None)])


def test_table_functions_of_tables(spark):
    @udtf(returnType="first: int, last: int, count: int")
    class Span:
        def __init__(self):
            self.rows = []

        def eval(self, row: Row):
            self.rows.append(row["v"])

        def terminate(self):
            yield (self.rows[0], self.rows[-1], len(self.rows))

    @udtf(returnType="text: string")
    class Shown:
        def eval(self, row: Row, prefix: str = ""):
            yield (prefix + ",".join(f"{k}={v}" for k, v in row.asDict().items()),)

    spark.udtf.register("span", Span)
    spark.udtf.register("shown", Shown)
    spark.sql("select * from values (1, 5), (2, 7), (1, 3), (2, 1), (1, 4) t(k, v)").createOrReplaceTempView("kv")
    check(sorted(column(spark.sql("select * from shown(table(kv))"))), ["k=1,v=3", "k=1,v=4", "k=1,v=5", "k=2,v=1", "k=2,v=7"])
    check(sorted(column(spark.sql("select * from shown(table(select v from kv where k = 2), prefix => '>')"))), [">v=1", ">v=7"])
    by_key = "select * from span(table(kv) partition by k order by v desc) order by count"
    check([tuple(r) for r in spark.sql(by_key).collect()], [(7, 1, 2), (5, 3, 3)])
    by_expression = "select * from span(table(kv) partition by k % 1 order by v)"
    check([tuple(r) for r in spark.sql(by_expression).collect()], [(1, 7, 5)])
    check([tuple(r) for r in spark.sql("select * from span(table(kv) with single partition order by v)").collect()], [(1, 7, 5)])
    check(sorted(column(spark.sql("select * from shown(table(kv) partition by k order by v)"))), ["k=1,v=3", "k=1,v=4", "k=1,v=5", "k=2,v=1", "k=2,v=7"])
    frame = spark.table("kv")
    check([tuple(r) for r in Span(frame.asTable().partitionBy("k").orderBy("v")).orderBy("count").collect()], [(1, 7, 2), (3, 5, 3)])
    check([tuple(r) for r in Span(frame.asTable().withSinglePartition().orderBy("v")).collect()], [(1, 7, 5)])
    fails(lambda: spark.sql("select * from span(table(nothing_there))").collect(), pyspark.errors.AnalysisException, "[TABLE_OR_VIEW_NOT_FOUND]")


def test_rows_by_arrow(spark):
    spark.conf.set("spark.sql.execution.pythonUDF.arrow.enabled", "true")
    show, add = udf(lambda x: type(x).__name__, "string"), udf(lambda a, b: a + b, "long")
    check(tuple(spark.range(3).select(show("id"), add("id", lit(2))).collect()[2]), ("int", 4))
    spark.conf.unset("spark.sql.execution.pythonUDF.arrow.enabled")
    check(tuple(spark.range(3).select(udf(lambda a: a * 2, "long", useArrow=True)("id")).collect()[2]), (4,))


def test_an_exception_shows_the_function_s_own_lines(spark):
    text = fails(lambda: spark.range(3).select(udf(lambda x: 1 // x, "int")("id")).collect(), pyspark.errors.PythonException,
                 "An exception was thrown from the Python worker", "udf_test.py", "ZeroDivisionError: integer division or modulo by zero")
    check("pyspark/worker.py" in text, False)
    fails(lambda: spark.range(5).select(pandas_udf(lambda a: pd.Series([1]), "int")("id")).collect(), pyspark.errors.PythonException,
          "SCHEMA_MISMATCH_FOR_PANDAS_UDF")
    fails(lambda: spark.range(5).groupBy("id").applyInPandas(lambda d: d, "id long, q int").collect(), pyspark.errors.PythonException,
          "RESULT_COLUMNS_MISMATCH_FOR_PANDAS_UDF")


def die(x):
    os._exit(3)


def hang(x):
    open(x, "w").write(str(os.getpid()))
    while True:
        pass


def test_a_process_that_dies_is_an_error_of_its_query(spark):
    fails(lambda: spark.range(3).select(udf(die, "int")("id")).collect(), SparkException, "Python worker exited unexpectedly (crashed)")
    check(column(spark.range(2).select(udf(lambda x: x, "int")("id"))), [0, 1])


def pid_in(path):
    for _ in range(200):
        if os.path.exists(path) and open(path).read():
            return int(open(path).read())
        time.sleep(0.05)
    raise AssertionError("the function has not begun")


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends_soon(pid):
    for _ in range(100):
        if not is_running(pid):
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


def test_groups_go_to_several_processes(spark):
    rows = spark.range(400).selectExpr("id % 40 AS k", "id AS v")

    def slowly(pdf):
        time.sleep(0.02)
        return pdf.assign(p=os.getpid())

    found = rows.groupBy("k").applyInPandas(slowly, "k long, v long, p long").collect()
    check([row.k for row in found], sorted(row.v % 40 for row in found))
    check(sorted(row.v for row in found), list(range(400)))
    processes = len({row.p for row in found})
    check(processes > 1 or os.cpu_count() == 1, True)

    @pandas_udf("long")
    def total(v: pd.Series) -> int:
        time.sleep(0.005)
        return v.sum()

    sums = [(k, sum(range(k, 400, 40))) for k in range(40)]
    check([tuple(row) for row in rows.groupBy("k").agg(total("v")).collect()], sums)
    over = Window.partitionBy("k")
    check(sorted({(row.k, row.t) for row in rows.select("k", total("v").over(over).alias("t")).collect()}), sums)

    def pair(left, right):
        return pd.DataFrame({"k": left.k[:1], "n": [len(left) + 100 * len(right)]})

    both = rows.groupBy("k").cogroup(rows.filter("k % 2 = 0").groupBy("k")).applyInPandas(pair, "k long, n long")
    check([tuple(row) for row in both.collect()], [(k, 10 if k % 2 else 1010) for k in range(40)])

    def fails_late(pdf):
        if pdf.k[0] == 33:
            raise ValueError("of group 33")
        return pdf

    fails(lambda: rows.groupBy("k").applyInPandas(fails_late, "k long, v long").collect(), pyspark.errors.PythonException, "of group 33")

    def none_or_all(pdf):
        return pdf if pdf.k[0] % 2 else pdf[:0]

    check(rows.groupBy("k").applyInPandas(none_or_all, "k long, v long").count(), 200)


def test_an_interrupted_function_ends(spark):
    path = os.path.join(tempfile.mkdtemp(), "pid")
    done = []

    def run():
        try:
            spark.range(1).select(udf(hang, "int")(lit(path))).collect()
        except Exception as error:  # pylint: disable=broad-except
            done.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    pid = pid_in(path)
    spark.interruptAll()
    thread.join(20)
    check(len(done), 1)
    ends_soon(pid)


def check_a_killed_server_leaves_no_process(nilas):
    path = os.path.join(tempfile.mkdtemp(), "pid")
    server = subprocess.Popen([nilas, "connect", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = server.stdout.readline().split("sc://")[1].split()[0].rsplit(":", 1)[1]
    code = ("import sys,time\nfrom pyspark.sql import SparkSession\nfrom pyspark.sql.functions import udf\n"
            "def hang(x):\n    import os\n    open(sys_path,'w').write(str(os.getpid()))\n    while True: time.sleep(0.01)\n"
            f"sys_path={path!r}\n"
            f"SparkSession.builder.remote('sc://localhost:{port}').getOrCreate().range(1).select(udf(hang,'int')('id')).collect()\n")
    client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = pid_in(path)
    server.send_signal(signal.SIGKILL)
    server.wait()
    client.kill()
    client.wait()
    ends_soon(pid)


FAKE = """#!/usr/bin/env python3
import socket, struct, sys
s = socket.socket(fileno=3); f = s.makefile('rb')
while True:
    head = f.read(5)
    if len(head) < 5: sys.exit(0)
    kind, payload = head[:1], f.read(struct.unpack('<I', head[1:])[0])
    if kind == b'B':
        payload = PAYLOAD
        s.sendall(b'R' + struct.pack('<I', len(payload)) + payload)
"""


def check_wrong_answers(nilas):
    """A worker that answers with what is no batch."""
    for payload in ("b'no stream at all'", "payload[:40]", "b''"):
        path = os.path.join(tempfile.mkdtemp(), "python")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FAKE.replace("PAYLOAD", payload))
        os.chmod(path, 0o700)
        with serving(nilas, "--conf", f"spark.pyspark.python={path}") as server:
            spark = connected(server.url)
            fails(lambda: spark.range(3).select(udf(lambda x: x, "int")("id")).collect(), Exception)
            check(spark.range(3).count(), 3)
            spark.stop()


def check_memory_has_a_limit(nilas):
    with serving(nilas, "--conf", f"spark.pyspark.python={sys.executable}", "--conf", "spark.executor.pyspark.memory=2g") as server:
        spark = connected(server.url)
        fails(lambda: spark.range(1).select(udf(lambda x: len(bytearray(4 << 30)), "long")("id")).collect(), pyspark.errors.PythonException, "MemoryError")
        check(spark.range(1).select(udf(lambda x: len(bytearray(1 << 20)), "long")("id")).first()[0], 1 << 20)
        spark.stop()


def main():
    nilas, wanted = sys.argv[1], sys.argv[2:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    problems, count = [], 0
    with serving(nilas) as server:
        spark = connected(server.url)  # of all tests: its processes are reused
        for name, test in list(globals().items()):
            if not name.startswith("test_") or (wanted and name not in wanted):
                continue
            count += 1
            try:
                test(spark)
            except Exception as error:  # pylint: disable=broad-except
                problems.append(f"{name}: {type(error).__name__} {error}")
        spark.stop()
        if not server.is_alive():
            problems.append(f"the server has died: {server.read_log()}")
    for test in (check_a_killed_server_leaves_no_process, check_wrong_answers, check_memory_has_a_limit):
        if wanted and test.__name__ not in wanted:
            continue
        count += 1
        try:
            test(nilas)
        except Exception as error:  # pylint: disable=broad-except
            problems.append(f"{test.__name__}: {type(error).__name__} {error}")
    for problem in problems:
        print(problem)
    print(f"{count} tests of functions in Python, {len(problems)} fail")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
