"""The chapter's listings with real PySpark 4.0.1, Iceberg 1.10.0 and its AWS bundle against `nilas up`, as they are printed there
but for the profile's name; then the plain catalog with staged creation and several tables. Run by scripts/lakehouse_spark.sh.

    chapter_spark.py path/to/nilas JAR,JAR
"""
import contextlib
import io
import os
import sys

import support
from support import Lakehouse, equal

JARS = sys.argv.pop(2)


def session(lake):
    """lake.py of the chapter, with the jars given instead of downloaded."""
    import boto3
    from pyspark.sql import SparkSession
    aws = boto3.Session()
    region = aws.region_name
    tables = aws.client("s3tables").meta.endpoint_url
    s3 = aws.client("s3")
    found = aws.client("s3tables").list_table_buckets(prefix="lakehouse")
    name = "spark.sql.catalog.lake"
    builder = (SparkSession.builder.appName("lakehouse").master("local[2]").config("spark.jars", JARS).config("spark.sql.session.timeZone", "UTC")
               .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
               .config(name, "org.apache.iceberg.spark.SparkCatalog").config(f"{name}.type", "rest").config(f"{name}.uri", f"{tables}/iceberg")
               .config(f"{name}.warehouse", found["tableBuckets"][0]["arn"]).config(f"{name}.rest.sigv4-enabled", "true")
               .config(f"{name}.rest.signing-name", "s3tables").config(f"{name}.rest.signing-region", region)
               .config(f"{name}.io-impl", "org.apache.iceberg.aws.s3.S3FileIO").config(f"{name}.s3.endpoint", s3.meta.endpoint_url))
    if s3.meta.config.s3.get("addressing_style") == "path":
        builder = builder.config(f"{name}.s3.path-style-access", "true")
    plain = "spark.sql.catalog.plain"  # beside the chapter: the catalog without signatures; S3 settings come from its defaults
    builder = (builder.config(plain, "org.apache.iceberg.spark.SparkCatalog").config(f"{plain}.type", "rest").config(f"{plain}.uri", lake.url("rest"))
               .config(f"{plain}.warehouse", "warehouse").config(f"{plain}.io-impl", "org.apache.iceberg.aws.s3.S3FileIO"))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def shown(frame):
    """What .show() prints, without the frame."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        frame.show()
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.getvalue().splitlines() if line.startswith("|")][1:]


def files_and_snapshots(spark):
    return tuple(spark.sql(f"SELECT count(*) FROM lake.sales.orders.{t}").first()[0] for t in ("files", "snapshots"))


def test_creating_merging_deleting():
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.sales")
    spark.sql("""CREATE TABLE lake.sales.orders (order_id bigint, customer string, total decimal(10, 2), placed_at timestamp)
                 USING iceberg PARTITIONED BY (days(placed_at))""")
    spark.sql("""INSERT INTO lake.sales.orders
                 SELECT id, concat('customer-', id % 50), CAST((id % 97) * 1.25 AS decimal(10, 2)),
                        timestamp'2026-10-01 00:00:00' + make_interval(0, 0, 0, CAST(id DIV 1000 AS int), 0, 0, CAST(id % 1000 * 60 AS int))
                 FROM range(7000)""")
    days = [f"2026-10-0{day}" for day in range(1, 8)]
    equal(shown(spark.sql("SELECT date(placed_at) AS day, count(*) AS orders FROM lake.sales.orders GROUP BY 1 ORDER BY 1")), [(day, "1000") for day in days])
    equal(shown(spark.sql("SELECT partition.placed_at_day AS day, record_count, file_count FROM lake.sales.orders.partitions ORDER BY day")), [(day, "1000", "1") for day in days])
    spark.sql("""SELECT id AS order_id, concat('customer-', id % 50) AS customer, CAST(id % 97 * 1.25 + 5 AS decimal(10, 2)) AS total,
                        timestamp'2026-10-07 12:00:00' AS placed_at FROM range(6900, 7050)""").createOrReplaceTempView("updates")
    spark.sql("""MERGE INTO lake.sales.orders AS o USING updates AS u ON o.order_id = u.order_id
                 WHEN MATCHED THEN UPDATE SET o.total = u.total WHEN NOT MATCHED THEN INSERT *""")
    equal(shown(spark.sql("SELECT count(*) AS orders, sum(total) AS revenue FROM lake.sales.orders")), [("7050", "422471.25")])
    spark.sql("DELETE FROM lake.sales.orders WHERE placed_at < timestamp'2026-10-02 00:00:00'")
    equal(shown(spark.sql("""SELECT operation, summary['deleted-data-files'] AS files_removed, summary['added-data-files'] AS files_added
                             FROM lake.sales.orders.snapshots ORDER BY committed_at""")), [("append", "NULL", "7"), ("overwrite", "1", "1"), ("delete", "1", "NULL")])


def test_time_travel_and_schema():
    first = spark.sql("SELECT snapshot_id FROM lake.sales.orders.snapshots ORDER BY committed_at LIMIT 1").first()[0]
    count = "SELECT count(*) FROM lake.sales.orders"
    equal((spark.sql(count).first()[0], spark.sql(f"{count} VERSION AS OF {first}").first()[0]), (6050, 7000))
    spark.sql("ALTER TABLE lake.sales.orders ADD COLUMN channel string")
    spark.sql("INSERT INTO lake.sales.orders VALUES (9001, 'customer-1', 20.00, timestamp'2026-10-07 18:00:00', 'web')")
    equal(sorted(shown(spark.sql("SELECT channel, count(*) AS orders FROM lake.sales.orders GROUP BY channel"))), [("NULL", "6050"), ("web", "1")])


def test_maintenance():
    equal(files_and_snapshots(spark), (7, 4))
    compacted = spark.sql("CALL lake.system.rewrite_data_files(table => 'sales.orders', options => map('min-input-files', '2'))").first()
    equal((compacted.rewritten_data_files_count, compacted.added_data_files_count), (2, 1))
    expired = spark.sql("CALL lake.system.expire_snapshots(table => 'sales.orders', older_than => current_timestamp(), retain_last => 1)").first()
    equal(expired.deleted_data_files_count, 4)
    equal(files_and_snapshots(spark), (6, 1))


def test_pyiceberg_reads_it():
    from decimal import Decimal

    import boto3
    from pyiceberg.catalog import load_catalog
    client = boto3.client("s3tables")
    arn = client.list_table_buckets(prefix="lakehouse")["tableBuckets"][0]["arn"]
    keys = boto3.Session().get_credentials()
    catalog = load_catalog("lake", **{"type": "rest", "uri": client.meta.endpoint_url + "/iceberg", "warehouse": arn, "rest.sigv4-enabled": "true", "rest.signing-name": "s3tables",
                                      "rest.signing-region": "us-east-1", "s3.endpoint": lakehouse.url("s3"), "s3.access-key-id": keys.access_key,
                                      "s3.secret-access-key": keys.secret_key, "s3.region": "us-east-1"})
    orders = catalog.load_table("sales.orders").scan(row_filter="channel == 'web'").to_arrow()
    equal((orders.num_rows, orders.select(["order_id", "total"]).to_pylist()), (1, [{"order_id": 9001, "total": Decimal("20.00")}]))


def test_the_plain_catalog():
    spark.sql("CREATE NAMESPACE plain.db")
    spark.sql("CREATE NAMESPACE plain.db.inner")
    spark.sql("CREATE TABLE plain.db.inner.a USING iceberg PARTITIONED BY (bucket(4, id)) AS SELECT id, 'x' AS s FROM range(100)")
    spark.sql("CREATE OR REPLACE TABLE plain.db.inner.a USING iceberg AS SELECT id FROM range(7)")
    equal(spark.sql("SELECT count(*) FROM plain.db.inner.a").first()[0], 7)
    equal(spark.sql("SELECT count(*) FROM plain.db.inner.a.snapshots").first()[0], 2)
    spark.sql("CREATE VIEW plain.db.inner.v AS SELECT id * 2 AS twice FROM plain.db.inner.a")
    equal(spark.sql("SELECT max(twice) FROM plain.db.inner.v").first()[0], 12)
    spark.sql("DROP VIEW plain.db.inner.v")
    spark.sql("ALTER TABLE plain.db.inner.a CREATE BRANCH b")
    spark.sql("INSERT INTO plain.db.inner.a.branch_b VALUES (50)")
    equal((spark.sql("SELECT count(*) FROM plain.db.inner.a VERSION AS OF 'b'").first()[0], spark.sql("SELECT count(*) FROM plain.db.inner.a").first()[0]), (8, 7))
    spark.sql("ALTER TABLE plain.db.inner.a RENAME TO db.moved")
    equal([row.tableName for row in spark.sql("SHOW TABLES IN plain.db").collect()], ["moved"])
    spark.sql("DROP TABLE plain.db.moved PURGE")
    spark.sql("DROP NAMESPACE plain.db.inner")
    spark.sql("DROP NAMESPACE plain.db")


def test_cleaning_up():
    import boto3
    client = boto3.client("s3tables")
    arn = client.list_table_buckets(prefix="lakehouse")["tableBuckets"][0]["arn"]
    for table in client.list_tables(tableBucketARN=arn)["tables"]:
        client.delete_table(tableBucketARN=arn, namespace=table["namespace"][0], name=table["name"])
    for space in client.list_namespaces(tableBucketARN=arn)["namespaces"]:
        client.delete_namespace(tableBucketARN=arn, namespace=space["namespace"][0])
    client.delete_table_bucket(tableBucketARN=arn)
    equal(client.list_table_buckets()["tableBuckets"], [])


if __name__ == "__main__":
    with Lakehouse() as lakehouse:
        for variable in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            os.environ[variable] = lakehouse.environment[variable]
        os.environ["AWS_PROFILE"] = "nilas"
        import boto3
        equal(boto3.client("s3tables").create_table_bucket(name="lakehouse")["arn"], "arn:aws:s3tables:us-east-1:123456789012:bucket/lakehouse")
        spark = session(lakehouse)
        support.run_tests(sys.modules[__name__])
