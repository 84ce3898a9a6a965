"""The chapter by `nilas sql` with the chapter's own settings against `nilas up`: what it prints is what the demo on local files
prints; PyIceberg and Athena then read the table, and the chapter's clean-up leaves nothing."""
import os
import re
import subprocess
import sys
import time

import support
from support import Lakehouse, equal, run_tests

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def confs(lake, arn):
    name = "spark.sql.catalog.lake"
    settings = {"spark.sql.session.timeZone": "UTC", name: "org.apache.iceberg.spark.SparkCatalog", f"{name}.type": "rest", f"{name}.uri": lake.url("s3tables") + "/iceberg",
                f"{name}.warehouse": arn, f"{name}.rest.sigv4-enabled": "true", f"{name}.rest.signing-name": "s3tables", f"{name}.rest.signing-region": "us-east-1",
                f"{name}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO", f"{name}.s3.endpoint": lake.url("s3"), f"{name}.s3.path-style-access": "true"}
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def sql(lake, arn, text, folder):
    path = os.path.join(folder, "text.sql")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    done = subprocess.run([support.NILAS, "sql", "-S", *confs(lake, arn), "-f", path], capture_output=True, text=True, cwd=folder, timeout=120, check=False,
                          env=dict(lake.environment, AWS_PROFILE="nilas"))
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def in_catalog(text):
    """examples/orders.sql with its tables in the catalog lake."""
    text = re.sub(r"\bsales\.orders\b", "lake.sales.orders", text).replace("'lake.sales.orders'", "'sales.orders'")
    return re.sub(r"NAMESPACE( IF NOT EXISTS)? sales\b", r"NAMESPACE\1 lake.sales", text).replace("CALL local.", "CALL lake.")


def test_the_chapter():
    with Lakehouse() as lake:
        tables = lake.client("s3tables")
        arn = tables.create_table_bucket(name="lakehouse")["arn"]
        equal(arn, "arn:aws:s3tables:us-east-1:123456789012:bucket/lakehouse")
        with open(os.path.join(ROOT, "examples/orders.sql"), encoding="utf-8") as text:
            orders = text.read()
        lake_lines = sql(lake, arn, in_catalog(orders), lake.folder).splitlines()
        local = os.path.join(lake.folder, "local")
        os.mkdir(local)
        done = subprocess.run([support.NILAS, "sql", "-S", "--conf", "spark.sql.session.timeZone=UTC", "-f", os.path.join(ROOT, "examples/orders.sql")], capture_output=True, text=True,
                              cwd=local, timeout=60, check=True)
        sizes = re.compile(r"^(\d+\t\d+\t)\d+(\t\d+\t\d+)$")  # bytes rewritten differ with the paths in a file's metadata
        equal([sizes.sub(r"\1_\2", line) for line in lake_lines], [sizes.sub(r"\1_\2", line) for line in done.stdout.splitlines()], "the same lines as on local files")

        from pyiceberg.catalog import load_catalog
        catalog = load_catalog("lakehouse", **{"type": "rest", "uri": lake.url("s3tables") + "/iceberg", "warehouse": arn, "s3.endpoint": lake.url("s3"), "s3.access-key-id": "nilas",
                                               "s3.secret-access-key": "nilas", "s3.region": "us-east-1"})
        web = catalog.load_table("sales.orders").scan(row_filter="channel == 'web'").to_arrow()
        equal([web.num_rows, [str(value) for value in web.column("total").to_pylist()], web.column("order_id").to_pylist()], [1, ["20.00"], [9001]], "PyIceberg")
        athena = lake.client("athena")
        query = athena.start_query_execution(
            QueryString='SELECT date(placed_at) AS day, count(*) AS orders FROM "s3tablescatalog/lakehouse"."sales"."orders" GROUP BY 1 ORDER BY 1')["QueryExecutionId"]
        while athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]["State"] in ("QUEUED", "RUNNING"):
            time.sleep(0.02)
        rows = [[cell["VarCharValue"] for cell in row["Data"]] for row in athena.get_query_results(QueryExecutionId=query)["ResultSet"]["Rows"]]
        equal(rows, [["day", "orders"], ["2026-10-02", "1000"], ["2026-10-03", "1000"], ["2026-10-04", "1000"], ["2026-10-05", "1000"], ["2026-10-06", "1000"], ["2026-10-07", "1051"]],
              "Athena")

        for table in tables.list_tables(tableBucketARN=arn)["tables"]:
            tables.delete_table(tableBucketARN=arn, namespace=table["namespace"][0], name=table["name"])
        for space in tables.list_namespaces(tableBucketARN=arn)["namespaces"]:
            tables.delete_namespace(tableBucketARN=arn, namespace=space["namespace"][0])
        tables.delete_table_bucket(tableBucketARN=arn)
        equal(tables.list_table_buckets()["tableBuckets"], [], "cleaned up")


def test_hadoop_and_jdbc_catalogs_on_this_s3():
    """The other catalogs on s3:// and s3a:// paths of the same server, and plain files."""
    with Lakehouse(names=["s3"]) as lake:
        lake.client("s3").create_bucket(Bucket="data")
        prefix = "spark.sql.catalog"
        settings = {f"{prefix}.h": "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.h.type": "hadoop", f"{prefix}.h.warehouse": "s3a://data/hadoop",
                    f"{prefix}.j": "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.j.type": "jdbc", f"{prefix}.j.uri": f"jdbc:sqlite:{lake.folder}/j.db",
                    f"{prefix}.j.warehouse": "s3://data/jdbc"}
        options = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]

        def run(text):
            done = subprocess.run([support.NILAS, "sql", "-S", *options, "-e", text], capture_output=True, text=True, cwd=lake.folder, timeout=120, check=False,
                                  env=dict(lake.environment, AWS_PROFILE="nilas"))
            if done.returncode != 0:
                raise RuntimeError(done.stderr)
            return done.stdout.splitlines()

        for name in ("h", "j"):
            run(f"CREATE NAMESPACE {name}.db; CREATE TABLE {name}.db.t (a int, b string) USING iceberg PARTITIONED BY (a); INSERT INTO {name}.db.t SELECT id % 5, id FROM range(1000);"
                f" DELETE FROM {name}.db.t WHERE a = 3; UPDATE {name}.db.t SET b = 'x' WHERE a = 1")
            equal(run(f"SELECT count(*), count(DISTINCT b) FROM {name}.db.t"), ["800\t601"], name)
        run("INSERT OVERWRITE DIRECTORY 's3a://data/plain' USING parquet SELECT id FROM range(10)")
        equal(run("SELECT count(*), sum(id) FROM parquet.`s3a://data/plain`"), ["10\t45"], "plain files")


run_tests(sys.modules[__name__])
