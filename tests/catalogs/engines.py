"""nilas, Spark and PyIceberg over one catalog; rows are compared as lists of texts."""
import os
import subprocess
import time


class Nilas:
    """One process for each call: what it knows must be in the catalog."""

    name = "nilas"

    def __init__(self, program, confs, environment=None):
        self.program = os.path.abspath(program)
        self.options = [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
        self.environment = {**os.environ, **(environment or {})}

    def command(self, *arguments):
        return [self.program, "sql", "-S", "--conf", "spark.sql.session.timeZone=UTC", *self.options, *arguments]

    def run(self, sql):
        """The rows of the last statement that has any."""
        done = subprocess.run(self.command("-e", sql), capture_output=True, text=True, env=self.environment, timeout=300, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"nilas: {sql}: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def fails(self, sql):
        """The error's text."""
        done = subprocess.run(self.command("-e", sql), capture_output=True, text=True, env=self.environment, timeout=300, check=False)
        if done.returncode == 0:
            raise AssertionError(f"nilas: should have failed: {sql}")
        return done.stderr.strip()


class Spark:
    """PySpark in this process, local[2]. Catalogs come by conf; their names must be new in a process for new confs."""

    name = "Spark"
    session = None

    def __init__(self, confs, at_start=None):
        if Spark.session is None:
            Spark.session = self.start(at_start or {})
        for key, value in confs.items():
            Spark.session.conf.set(key, value)

    @staticmethod
    def start(at_start):
        from pyspark.sql import SparkSession
        builder = SparkSession.builder.master("local[2]").appName("catalogs")
        settings = {
            "spark.jars": os.environ["NILAS_SPARK_JARS"], "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1500m", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalogImplementation": "in-memory", "spark.sql.session.timeZone": "UTC", "spark.ui.showConsoleProgress": "false",
            "spark.driver.extraJavaOptions": "-Duser.timezone=UTC", "spark.log.level": "OFF",
        }
        for key, value in {**settings, **at_start}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def run(self, sql):
        rows = []
        for statement in filter(None, (part.strip() for part in sql.split(";\n"))):
            frame = Spark.session.sql(statement.rstrip(";"))
            rows = frame.collect() if frame.columns else []
        return [[text(value) for value in row] for row in rows]


def text(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def same(what, expected, **answers):
    """Every engine answers what is expected, in any order of rows."""
    for name, rows in answers.items():
        if sorted(rows) != sorted(expected):
            raise AssertionError(f"{what}: {name} answers {sorted(rows)[:20]}, expected {sorted(expected)[:20]}")
    counted.append(what)


counted = []
started = time.monotonic()


def passed(name):
    print(f"catalogs: {name}: {len(counted)} checks in {time.monotonic() - started:.0f} s", flush=True)
