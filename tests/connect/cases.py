"""What a PySpark program sees, case by case: each takes a session and gives something that JSON can hold.

record.py runs them against real Spark and writes expected.json; session_test.py runs them against nilas.
"""
import contextlib
import io
import re
import uuid

from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.functions import col, lit

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def plain(value):
    """Rows, dates, decimals … as text that tells their type."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)) and not hasattr(value, "asDict"):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "asDict"):
        return {"row": [[name, plain(item)] for name, item in zip(value.__fields__, value)]}
    return f"{type(value).__name__} {value!r}"


def failure(action):
    """What a program catches."""
    try:
        return {"no error": plain(action())}
    except PySparkException as error:
        contexts = [[str(context.contextType()), context.startIndex(), context.stopIndex(), context.fragment(), context.summary()]
                    for context in error.getQueryContext() or []]
        # The tree of the plan after analysis errors and the JVM's stack are Spark's own.
        text = str(error).split("\n\nJVM stacktrace:")[0].split(";\n")[0].rstrip("; \n")
        return {"class": type(error).__name__, "condition": error.getCondition(), "state": error.getSqlState(),
                "parameters": error.getMessageParameters() or {}, "contexts": contexts, "text": text}


def failure_of_frame(action):
    """The same of a DataFrame: a call site is a file and a line, of which the file's name is kept and that the line is there."""
    try:
        return {"no error": plain(action())}
    except PySparkException as error:
        def placed(text):
            return re.sub(r"\S*/cases\.py:\d+", "cases.py:N", text)

        contexts = []
        for context in error.getQueryContext() or []:
            is_sql = context.contextType().name == "SQL"
            where = [context.startIndex(), context.stopIndex()] if is_sql else [placed(context.callSite())]
            contexts.append([context.contextType().name, *where, context.fragment(), placed(context.summary())])
        text = placed(str(error).split("\n\nJVM stacktrace:")[0].split(";\n")[0].rstrip("; \n"))
        return {"class": type(error).__name__, "condition": error.getCondition(), "contexts": contexts, "text": text}


def shown(frame, *arguments, **named):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        frame.show(*arguments, **named)
    return out.getvalue()


def query(name, text):
    CASES["rows_of_" + name] = lambda spark: plain(spark.sql(text).collect())
    CASES["arrow_of_" + name] = lambda spark: str(spark.sql(text).toArrow().schema)
    CASES["schema_of_" + name] = lambda spark: spark.sql(text).schema.json()


query("numbers", "SELECT true b, 1Y t, 2S s, 3 i, 4L l, 1.5F f, 2.5D d, 1.25 dec, CAST(12345678901234567890.5 AS DECIMAL(30,5)) wide")
query("texts", "SELECT 'x' s, X'00FF' bin, CAST('ab' AS CHAR(3)) c, 'ä€😀' u, '' e")
query("null_or_not", "SELECT " + ", ".join(
    f"{text} c{i}" for i, text in enumerate([
        "acos(0.5D)", "sqrt(1)", "sign(-1)", "encode('a', 'utf-8')", "to_json(map('a', 1))", "to_csv(struct(1))", "to_xml(struct(1 a))", "url_encode('a')",
        "url_decode('a')", "right('abc', 1)", "split_part('a,b', ',', 1)", "luhn_check('1')", "is_valid_utf8('a')", "make_valid_utf8('a')",
        "from_unixtime(0)", "map_contains_key(map('a', 1), 'a')", "pow(2, 3)", "length('a')", 
        "filter(array(1), x -> x > 1)", "map_filter(map('a', 1), (k, v) -> v > 1)", "zip_with(array(1), array(2), (x, y) -> x + y)",
        "CAST('1' AS INT)", "CAST(1 AS DECIMAL(10, 0))", "CAST(1L AS DECIMAL(10, 0))", "CAST(1 AS DECIMAL(9, 0))", "CAST(1.5 AS DECIMAL(10, 2))",
        "CAST(1.55 AS DECIMAL(10, 1))", "CAST(1.5 AS INT)", "CAST(1.5D AS INT)", "CAST(1 AS DOUBLE)", "CAST(DATE'2020-01-01' AS TIMESTAMP)",
        "CAST(DATE'2020-01-01' AS TIMESTAMP_NTZ)", "CAST(TIMESTAMP'2020-01-01' AS DATE)", "CAST(TIMESTAMP_NTZ'2020-01-01' AS DATE)",
        "CAST(TIMESTAMP'2020-01-01' AS BIGINT)", "CAST(TIMESTAMP'2020-01-01' AS INT)", "CAST(1 AS STRING)", "CAST('a' AS BINARY)", "CAST(1.5 AS BIGINT)",
        "CAST(1 AS TIMESTAMP)", "CAST(1.5D AS TIMESTAMP)", "CAST(true AS DECIMAL(5, 2))", "CAST(1.555 AS DECIMAL(3, 2))", "year(TIMESTAMP_NTZ'2020-01-01')",
        "year(DATE'2020-01-01')", "bin(1L)", "bin(1.5)", "DATE'2020-01-01' < '2020-01-02'", "1 = '1'", "CAST(INTERVAL '1' DAY AS INT)"])))
query("times", "SELECT DATE'2026-11-30' d, TIMESTAMP'2026-11-30 12:30:45.123456' t, TIMESTAMP_NTZ'2026-11-30 12:30:45' n, INTERVAL '1 02:03:04' DAY TO SECOND dt")
query("nested", "SELECT array(1, 2, NULL) a, map('k', 1) m, named_struct('x', 1, 'y', array('z')) s, array(named_struct('q', DATE'2020-01-01')) n")
query("nulls", "SELECT NULL v, CAST(NULL AS INT) i, CAST(NULL AS STRING) s, CAST(NULL AS ARRAY<INT>) a")
query("nothing", "SELECT id, CAST(id AS STRING) AS s FROM range(10) WHERE id > 100")
query("unnamed", "SELECT 1, count(1), max(id), CAST(1 AS STRING) FROM range(3)")


def error(name, text):
    CASES["error_of_" + name] = lambda spark: failure(lambda: spark.sql(text).collect())


error("division", "SELECT 1/0")
error("cast_to_int", "SELECT CAST('abc' AS INT)")
error("cast_to_date", "SELECT CAST('abc' AS DATE)")
error("cast_to_boolean", "SELECT CAST('abc' AS BOOLEAN)")
error("cast_overflow", "SELECT CAST(1000 AS TINYINT)")
error("overflow", "SELECT 2147483647 + 1")
error("index", "SELECT array(1, 2)[5]")
error("element", "SELECT element_at(array(1), 0)")
error("raised", "SELECT raise_error('boom')")
error("column", "SELECT nosuch")
error("table", "SELECT * FROM nosuch")
error("function", "SELECT nosuchf(1)")
error("arguments", "SELECT repeat('a')")
error("syntax", "SELEC 1")
error("syntax_later", "SELECT 1 +\n  FROM t")
error("subquery", "SELECT (SELECT * FROM VALUES 1, 2)")
error("decimal", "SELECT CAST(123.456 AS DECIMAL(4,2))")
error("parsing", "SELECT to_timestamp('2020-13-01', 'yyyy-MM-dd')")
error("charset", "SELECT encode('a', 'nosuch')")
error("limit", "SELECT 1 LIMIT -1")
error("setting", "SET spark.sql.shuffle.partitions=abc")
error("static", "SET spark.sql.warehouse.dir=x")


@case
def version(spark):
    return spark.version


@case
def pandas_types(spark):
    frame = spark.sql("SELECT id, id * 1.5D AS d, CAST(id AS STRING) AS s, id % 2 = 0 AS b FROM range(5)").toPandas()
    return [[name, str(kind)] for name, kind in frame.dtypes.items()] + frame.values.tolist()


@case
def pandas_of_nothing(spark):
    frame = spark.sql("SELECT 1 AS a, 'x' AS b WHERE false").toPandas()
    return [list(frame.columns), len(frame)]


@case
def several_batches(spark):
    table = spark.sql("SELECT id, CAST(id AS STRING) s FROM range(30000)").toArrow()
    return [table.num_rows, table.column("id").to_pylist() == list(range(30000)), table.column("s")[29999].as_py()]


@case
def rows_one_by_one(spark):
    return sum(row.id for row in spark.sql("SELECT id FROM range(25000)").toLocalIterator())


@case
def time_zone(spark):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    rows = plain(spark.sql("SELECT TIMESTAMP'2026-11-30 12:00:00' t, CAST(TIMESTAMP'2026-11-30 12:00:00' AS STRING) s").select("s").collect())
    spark.conf.unset("spark.sql.session.timeZone")
    return rows


@case
def statement_runs_once(spark):
    spark.sql("DECLARE OR REPLACE VARIABLE calls INT DEFAULT 0")
    frame = spark.sql("SET VAR calls = calls + 1")
    frame.collect()
    frame.collect()
    return plain(spark.sql("SELECT calls").collect())


@case
def settings(spark):
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    spark.conf.set("my.own.key", "value")
    found = [spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("my.own.key"), spark.conf.get("nosuch.key", "other"),
             spark.conf.get("nosuch.key", None), spark.conf.get("spark.sql.ansi.enabled"), spark.conf.get("spark.sql.timestampType"),
             spark.conf.isModifiable("spark.sql.shuffle.partitions"), spark.conf.isModifiable("nosuch.key"),
             spark.conf.isModifiable("spark.sql.warehouse.dir")]
    spark.conf.unset("spark.sql.shuffle.partitions")
    spark.conf.unset("my.own.key")
    return found + [spark.conf.get("spark.sql.shuffle.partitions"), failure(lambda: spark.conf.get("my.own.key"))]


@case
def settings_of_the_client(spark):
    keys = ["spark.sql.session.localRelationCacheThreshold", "spark.sql.execution.pandas.convertToArrowArraySafely",
            "spark.sql.execution.pandas.inferPandasDictAsMap", "spark.sql.pyspark.inferNestedDictAsStruct.enabled",
            "spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled", "spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled",
            "spark.sql.execution.arrow.useLargeVarTypes", "spark.sql.execution.arrow.pyspark.selfDestruct.enabled",
            "spark.sql.execution.pandas.structHandlingMode", "spark.sql.repl.eagerEval.enabled", "spark.sql.repl.eagerEval.maxNumRows",
            "spark.sql.repl.eagerEval.truncate", "spark.sql.execution.pythonUDF.arrow.enabled", "spark.sql.pyspark.jvmStacktrace.enabled",
            "spark.sql.execution.arrow.maxRecordsPerBatch"]
    return [spark.conf.get(key) for key in keys]


@case
def setting_with_a_bad_value(spark):
    return failure(lambda: spark.conf.set("spark.sql.shuffle.partitions", "abc"))


@case
def setting_that_is_static(spark):
    return failure(lambda: spark.conf.set("spark.sql.warehouse.dir", "x"))


@case
def schemas_of_text(spark):
    from pyspark.sql.types import StructType
    return [StructType.fromDDL("a INT, b ARRAY<STRING>, c STRUCT<x: DECIMAL(10,2), y: MAP<STRING, DATE>>, d STRING COMMENT 'why'").json(),
            failure(lambda: StructType.fromDDL("a INT b"))]


@case
def nothing_to_interrupt(spark):
    return [spark.interruptAll(), spark.interruptTag("nosuch"), spark.interruptOperation(str(uuid.UUID(int=7)))]


@case
def trees(spark):
    frame = spark.sql("SELECT 1 a, array(named_struct('x', 'y')) b, map('k', 1.5) c")
    return [None, frame.columns, [list(pair) for pair in frame.dtypes]]


# ---- errors of DataFrames: the call of the program that has made the expression, or the SQL that was part of it ----

FAILING_FRAMES = {
    "division": lambda spark: spark.range(3).select(col("id") / 0),
    "division_of_literal": lambda spark: spark.range(3).select(1 / col("id")),
    "remainder": lambda spark: spark.range(3).select(col("id") % 0),
    "overflow": lambda spark: spark.range(3).select(col("id") + lit(9223372036854775807)),
    "negation": lambda spark: spark.range(1).select(-lit(-9223372036854775808)),
    "absolute_value": lambda spark: spark.range(1).select(F.abs(lit(-9223372036854775808))),
    "cast": lambda spark: spark.createDataFrame([("x",)], ["s"]).withColumn("n", col("s").cast("int")),
    "decimal": lambda spark: spark.range(3).select(lit(12345).cast("decimal(3,1)")),
    "implicit_cast": lambda spark: spark.createDataFrame([("x",)], ["s"]).select(col("s") == 1),
    "between": lambda spark: spark.createDataFrame([("x",)], ["s"]).select(col("s").between(1, 2)),
    "cast_of_function": lambda spark: spark.createDataFrame([("x",)], ["s"]).select(F.to_date("s")),
    "filter": lambda spark: spark.range(3).filter(col("id") / 0 > 1),
    "filter_in_sql": lambda spark: spark.range(3).filter("id/0 > 1"),
    "expr": lambda spark: spark.range(3).select(F.expr("id +\n 1/0"), col("id") + 1),
    "select_expr": lambda spark: spark.range(3).selectExpr("'ä' AS y", "id/0 AS x"),
    "sql_below": lambda spark: spark.sql("SELECT * FROM range(3)").select(col("id") / 0),
    "sql_and_expr": lambda spark: spark.sql("SELECT\n 1/id AS x FROM range(3)").filter("x > 0").select(col("x") + 1),
    "index": lambda spark: spark.range(3).select(F.array(lit(1))[5]),
    "element": lambda spark: spark.range(3).select(F.element_at(F.array(lit(1)), 5)),
    "sum": lambda spark: spark.range(3).select(F.sum(lit(9223372036854775807))),
    "aggregate": lambda spark: spark.range(3).agg(F.sum(col("id") / 0)),
    "group": lambda spark: spark.range(3).groupBy(col("id") / 0).count(),
    "order": lambda spark: spark.range(3).orderBy(col("id") / 0),
    "join": lambda spark: spark.range(3).join(spark.range(3).withColumnRenamed("id", "k"), col("id") / 0 == col("k")),
    "lambda": lambda spark: spark.range(3).select(F.transform(F.array(col("id")), lambda x: x / 0)),
    "case": lambda spark: spark.range(3).select(F.when(col("id") / 0 > 1, 1).otherwise(2)),
    "try": lambda spark: spark.range(3).select(F.try_divide(lit(1), lit(0)), F.pmod(col("id"), lit(0))),
    "column": lambda spark: spark.range(3).select("nosuch"),
    "column_in_expression": lambda spark: spark.range(3).select(col("nosuch") + 1),
    "types": lambda spark: spark.range(3).select(col("id") + F.array(lit(1))),
    "raised": lambda spark: spark.range(3).select(F.raise_error(lit("boom"))),
}


def failing_frame(name, make):
    CASES["frame_error_of_" + name] = lambda spark: failure_of_frame(lambda: make(spark).collect())


for failing_name, failing_make in FAILING_FRAMES.items():
    failing_frame(failing_name, failing_make)
