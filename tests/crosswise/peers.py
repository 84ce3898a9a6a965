"""The engines that read and write the same Iceberg tables: nilas, Spark in this process, PyIceberg and DuckDB.

All work on one folder, the warehouse of the hadoop catalogs `lake` and `local`. Rows are compared as text: what
spark-sql prints (nilas prints the same in a pipe), or canonical Python values where an engine gives Arrow.
"""
import glob
import logging
import os
import re
import subprocess
import sys
import time

TABLES = ("snapshots history files manifests partitions refs entries metadata_log_entries data_files delete_files "
          "all_data_files all_delete_files all_files all_manifests all_entries position_deletes").split()
CATALOGS = ("lake", "local")
logging.disable(logging.CRITICAL)  # PySpark logs each error that the scripts expect


def confs(warehouse):
    yield "spark.sql.session.timeZone", "UTC"
    yield "spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    for catalog in CATALOGS:
        yield f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog"
        yield f"spark.sql.catalog.{catalog}.type", "hadoop"
        yield f"spark.sql.catalog.{catalog}.warehouse", warehouse
        yield f"spark.sql.catalog.{catalog}.cache-enabled", "false"


class SqlError(Exception):
    """A statement failed; the text is the engine's."""


class Nilas:
    """One process for each call: what it knows must be in the files."""

    name = "nilas"

    def __init__(self, program, warehouse):
        self.program = os.path.abspath(program)
        self.warehouse = warehouse
        self.options = [part for key, value in confs(warehouse) for part in ("--conf", f"{key}={value}")]
        self.prelude = ""  # temporary views of the session

    def run(self, sql):
        """Lines of the last statement, as spark-sql prints them."""
        command = [self.program, "sql", "-S", *self.options, "-e", self.prelude + sql]
        result = subprocess.run(command, capture_output=True, cwd=self.warehouse, timeout=300, check=False)
        if result.returncode != 0:
            raise SqlError(result.stderr.decode(errors="replace").strip())
        return result.stdout.decode(errors="replace").split("\n")[:-1]

    def run_each(self, statements):
        """Lines of several queries in one process, each ended by a marker row."""
        text = "".join(f"{sql};\nSELECT '--end of rows--';\n" for sql in statements)
        lines, answers = self.run(text), [[]]
        for line in lines:
            if line == "--end of rows--":
                answers.append([])
            else:
                answers[-1].append(line)
        return answers[:-1]


class Spark:
    """PySpark in this process, local[2]; started once, with a session for each warehouse."""

    name = "Spark"
    shared = None

    def __init__(self, warehouse):
        self.warehouse = warehouse
        if Spark.shared is None:
            Spark.shared = start_spark(warehouse)
        self.session = Spark.shared.newSession()
        for key, value in confs(warehouse):
            if key != "spark.sql.extensions":
                self.session.conf.set(key, value)

    def run(self, sql):
        answer = []
        for statement in split_statements(sql):
            try:
                frame = self.session.sql(statement)
                answer = self.lines(frame) if frame.columns else []
            except Exception as error:
                raise SqlError(str(error).split("\n\nJVM")[0][:2000]) from None
        return answer

    def run_each(self, statements):
        return [self.run(sql) for sql in statements]

    def lines(self, frame):
        """What spark-sql prints of a frame; a line for each row."""
        plan = frame._jdf.queryExecution().executedPlan()
        result = self.session._jvm.org.apache.spark.sql.execution.HiveResult
        return [line for row in iterate(result.hiveResultString(plan)) for line in row.split("\n")]

    def rows(self, sql):
        return arrow_rows(self.session.sql(sql).toArrow())  # collect() cannot hold the first days of year 1


def iterate(sequence):
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


def jars():
    """The Iceberg runtime: $NILAS_SPARK_JARS, or where Maven keeps it."""
    given = os.environ.get("NILAS_SPARK_JARS")
    if given:
        return given
    pattern = os.path.expanduser("~/.m2/repository/org/apache/iceberg/iceberg-spark-runtime-4.0_2.13/1.10.0/*1.10.0.jar")
    return ",".join(glob.glob(pattern))


def start_spark(warehouse):
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.setdefault("TZ", "UTC")
    from pyspark.sql import SparkSession
    builder = SparkSession.builder.master("local[2]").appName("crosswise")
    settings = dict(confs(warehouse))
    settings.update({
        "spark.jars": jars(), "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "2g", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.catalogImplementation": "in-memory", "spark.sql.warehouse.dir": f"{warehouse}/plain",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC", "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
    })
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def split_statements(text):
    """Statements divided by a semicolon at a line's end."""
    pending = []
    for line in text.split("\n"):
        pending.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(pending).rstrip().rstrip(";")
            pending = []
    if "".join(pending).strip():
        yield "\n".join(pending)


def current_metadata(warehouse, table):
    """The newest metadata file of a table named namespace.table."""
    folder = f"{warehouse}/{table.replace('.', '/')}/metadata"
    files = glob.glob(f"{folder}/v*.metadata.json")
    return max(files, key=lambda name: int(re.search(r"/v(\d+)\.", name).group(1)))


def canonical(value):
    """A Python value that compares equal whichever engine gave it."""
    import datetime
    import decimal
    import math
    import uuid
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    if isinstance(value, datetime.datetime) and value.tzinfo:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dict):
        return tuple(sorted(((canonical(k), canonical(v)) for k, v in value.items()), key=repr))
    if isinstance(value, (list, tuple)):
        return tuple(canonical(part) for part in value)
    return value


def without_empty(value):
    """PyIceberg gives some lists and maps that are null as empty ones, of Spark's files as well."""
    if isinstance(value, tuple):
        return tuple(without_empty(part) for part in value) or None
    return value


def as_values(rows):
    return sorted((tuple(canonical(value) for value in row) for row in rows), key=repr)


def arrow_rows(table):
    """Rows of Arrow data as tuples; maps become dicts, structs tuples of their values as Spark's rows are."""
    import pyarrow

    def convert(value, kind):
        if value is None:
            return None
        if pyarrow.types.is_struct(kind):
            return tuple(convert(value[field.name], field.type) for field in kind)
        if pyarrow.types.is_map(kind):
            return {freeze(convert(k, kind.key_type)): convert(v, kind.item_type) for k, v in (value.items() if isinstance(value, dict) else value)}
        if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
            return [convert(part, kind.value_type) for part in value]
        return value

    columns = [[convert(value, column.type) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns)) if columns else []


def freeze(value):
    return tuple(freeze(part) for part in value) if isinstance(value, list) else value


def pyiceberg_rows(warehouse, table):
    from pyiceberg.table import StaticTable
    return arrow_rows(StaticTable.from_metadata(current_metadata(warehouse, table)).scan().to_arrow())


class Duck:
    """DuckDB with its Iceberg extension, from the Python packages that carry DuckDB's extensions."""

    def __init__(self):
        import duckdb
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        for extension in ("avro", "iceberg"):
            package = __import__(f"duckdb_extension_{extension}")
            files = glob.glob(f"{os.path.dirname(package.__file__)}/extensions/*/{extension}.duckdb_extension")
            self.connection.execute(f"LOAD '{files[0]}'")

    def rows(self, warehouse, table):
        metadata = current_metadata(warehouse, table)
        result = self.connection.execute(f"SELECT * FROM iceberg_scan('{metadata}')")
        answer = result.to_arrow_table() if hasattr(result, "to_arrow_table") else result.fetch_arrow_table()
        return arrow_rows(answer)


class Score:
    """Counts and names what differs."""

    def __init__(self):
        self.passed, self.failed, self.start = 0, [], time.monotonic()

    def check(self, name, left_name, left, right_name, right):
        if left == right:
            self.passed += 1
            return True
        self.failed.append(name)
        in_left, in_right = set(map(repr, left)), set(map(repr, right))
        only_left = [repr(row) for row in left if repr(row) not in in_right]
        only_right = [repr(row) for row in right if repr(row) not in in_left]
        print(f"FAILED {name}: {left_name} has {len(left)} rows, {right_name} {len(right)}")
        pairs = list(zip(only_left, only_right))
        at = next((i for i, (one, other) in enumerate(zip(*pairs[0])) if one != other), 0) if pairs else 0
        for side, rows in ((left_name, only_left), (right_name, only_right)):
            for row in rows[:1]:
                print(f"    only {side}: {row[:60]} … {row[max(0, at - 60):at + 160]}")
        sys.stdout.flush()
        return False

    def fail(self, name, problem):
        self.failed.append(name)
        print(f"FAILED {name}: {str(problem)[:2000]}")
        sys.stdout.flush()

    def finish(self, title):
        print(f"{title}: {self.passed} passed, {len(self.failed)} failed in {time.monotonic() - self.start:.0f} s")
        return 1 if self.failed else 0
