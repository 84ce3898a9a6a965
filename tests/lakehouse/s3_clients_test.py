#!/usr/bin/env python3
"""S3 with the clients that tables are read and written by: PyArrow, s3fs, DuckDB, the AWS command line, Spark's S3FileIO.

The environment names what is not in this Python: NILAS_S3FS_PYTHON, NILAS_SPARK_PYTHON, NILAS_SPARK_JARS (comma-separated)."""
import configparser
import glob
import os
import subprocess
import sys

import pyarrow
import pyarrow.fs
import pyarrow.parquet

import support
from support import Lakehouse, check, equal

LAKE = None


def keys():
    file = configparser.ConfigParser()
    file.read(LAKE.environment["AWS_SHARED_CREDENTIALS_FILE"])
    return file["nilas"]["aws_access_key_id"], file["nilas"]["aws_secret_access_key"]


def run(*command, text=None, environment=None, timeout=300):
    done = subprocess.run(command, capture_output=True, text=True, input=text, env={**LAKE.environment, **(environment or {})}, timeout=timeout)
    check(done.returncode == 0, f"{command[:4]} ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def test_pyarrow():
    key, secret = keys()
    fs = pyarrow.fs.S3FileSystem(access_key=key, secret_key=secret, endpoint_override=LAKE.url("s3")[7:], scheme="http", region="us-east-1", allow_bucket_creation=True, allow_bucket_deletion=True)
    fs.create_dir("arrow")
    table = pyarrow.table({"i": list(range(300000)), "s": [str(i * 7919) for i in range(300000)]})
    pyarrow.parquet.write_table(table, "arrow/t/part.parquet", filesystem=fs, row_group_size=50000)
    check(pyarrow.parquet.read_table("arrow/t/part.parquet", filesystem=fs).equals(table), "written and read")
    for size in (0, 1, 5, 100000, 25 << 20):
        body = os.urandom(size)
        with fs.open_output_stream(f"arrow/bytes/{size}", metadata={"Content-Type": "text/x"}) as out:
            out.write(body)
        with fs.open_input_file(f"arrow/bytes/{size}") as file:
            check(file.read() == body, f"{size} bytes")
            equal(file.metadata()["Content-Type"], b"text/x")
        with fs.open_input_file(f"arrow/bytes/{size}") as file:
            file.seek(size // 2)
            check(file.read() == body[size // 2:], "from the middle")
    fs.create_dir("arrow/empty folder")
    infos = {i.path: i.type.name for i in fs.get_file_info(pyarrow.fs.FileSelector("arrow", recursive=True))}
    equal(infos.get("arrow/empty folder"), "Directory")
    equal(infos.get("arrow/t/part.parquet"), "File")
    equal(fs.get_file_info("arrow/none").type.name, "NotFound")
    equal(fs.get_file_info("arrow/t").type.name, "Directory")
    fs.copy_file("arrow/bytes/5", "arrow/copy")
    fs.move("arrow/copy", "arrow/moved")
    equal(fs.get_file_info(["arrow/copy", "arrow/moved"])[0].type.name, "NotFound")
    fs.delete_dir("arrow/bytes")
    equal(fs.get_file_info("arrow/bytes/1").type.name, "NotFound")
    fs.delete_dir("arrow")
    equal(fs.get_file_info("arrow").type.name, "NotFound")


def test_s3fs():
    script = f"""
import s3fs, os
fs = s3fs.S3FileSystem(key={keys()[0]!r}, secret={keys()[1]!r}, endpoint_url={LAKE.url('s3')!r})
fs.mkdir("fsspec")
for size in (0, 10, 70000, 60 << 20):
    body = os.urandom(size)
    with fs.open(f"fsspec/a/{{size}}", "wb") as f: f.write(body)
    assert fs.cat(f"fsspec/a/{{size}}") == body
    assert fs.size(f"fsspec/a/{{size}}") == size
assert fs.cat_file("fsspec/a/70000", start=5, end=10) == fs.cat("fsspec/a/70000")[5:10]
assert sorted(fs.ls("fsspec/a")) == [f"fsspec/a/{{s}}" for s in (0, 10, 62914560, 70000)], fs.ls("fsspec/a")
assert fs.isdir("fsspec/a") and not fs.exists("fsspec/b")
fs.pipe("fsspec/new", b"1", mode="create")
try:
    fs.pipe("fsspec/new", b"2", mode="create"); assert False
except OSError: pass
fs.cp("fsspec/a/70000", "fsspec/copy"); fs.mv("fsspec/copy", "fsspec/moved")
fs.setxattr("fsspec/moved", k="v"); assert fs.getxattr("fsspec/moved", "k") == "v"
assert len(fs.glob("fsspec/a/*0")) == 4 and len(fs.find("fsspec")) == 6
fs.put_tags("fsspec/new", {{"x": "y"}}); assert fs.get_tags("fsspec/new") == {{"x": "y"}}
fs.rm("fsspec", recursive=True)
assert not fs.exists("fsspec")
print("all there")
"""
    equal(run(os.environ.get("NILAS_S3FS_PYTHON", sys.executable), "-c", script).strip(), "all there")


def test_duckdb():
    import duckdb
    import duckdb_extension_httpfs
    key, secret = keys()
    LAKE.client("s3").create_bucket(Bucket="duck")
    folder = os.path.dirname(duckdb_extension_httpfs.__file__)
    db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    db.execute(f"LOAD '{glob.glob(folder + '/extensions/*/httpfs.duckdb_extension')[0]}'")
    db.execute(f"CREATE SECRET (TYPE s3, KEY_ID '{key}', SECRET '{secret}', ENDPOINT '{LAKE.url('s3')[7:]}', URL_STYLE 'path', USE_SSL false, REGION 'us-east-1')")
    db.execute("CREATE TABLE t AS SELECT i, (i * 7919) || 'x' AS s FROM range(500000) r(i)")
    db.execute("COPY t TO 's3://duck/one.parquet'")
    db.execute("COPY (SELECT *, i % 5 AS p FROM t) TO 's3://duck/parts' (FORMAT parquet, PARTITION_BY p)")
    db.execute("COPY t TO 's3://duck/t.csv'")
    equal(db.sql("SELECT count(*), sum(i) FROM 's3://duck/one.parquet'").fetchone(), (500000, sum(range(500000))))
    equal(db.sql("SELECT count(*) FROM 's3://duck/parts/*/*.parquet' WHERE p = 3").fetchone(), (100000,))
    equal(db.sql("SELECT count(*) FROM 's3://duck/t.csv'").fetchone(), (500000,))
    equal(len(db.sql("SELECT * FROM glob('s3://duck/**')").fetchall()) >= 7, True)


def test_aws_command_line():
    aws = [sys.executable, "-m", "awscli"]
    environment = {"AWS_PROFILE": "nilas"}
    path = LAKE.folder + "/aws-file"
    body = os.urandom(20 << 20)
    with open(path, "wb") as file:
        file.write(body)
    os.makedirs(LAKE.folder + "/tree/sub", exist_ok=True)
    for i in range(12):
        with open(f"{LAKE.folder}/tree/sub/f {i}", "w") as file:
            file.write(str(i))
    run(*aws, "s3", "mb", "s3://cli-bucket", environment=environment)
    run(*aws, "s3", "cp", path, "s3://cli-bucket/big", environment=environment)
    run(*aws, "s3", "cp", "s3://cli-bucket/big", path + "2", environment=environment)
    with open(path + "2", "rb") as file:
        check(file.read() == body, "up and down")
    run(*aws, "s3", "sync", LAKE.folder + "/tree", "s3://cli-bucket/tree", environment=environment)
    equal(run(*aws, "s3", "sync", LAKE.folder + "/tree", "s3://cli-bucket/tree", environment=environment), "", "nothing left to do")
    equal(run(*aws, "s3", "ls", "s3://cli-bucket/tree/sub/", environment=environment).count("f "), 12)
    run(*aws, "s3", "mv", "s3://cli-bucket/big", "s3://cli-bucket/moved", environment=environment)
    equal(run(*aws, "s3api", "head-object", "--bucket", "cli-bucket", "--key", "moved", "--query", "ContentLength", environment=environment).strip(), str(20 << 20))
    run(*aws, "s3", "rb", "s3://cli-bucket", "--force", environment=environment)


def test_spark_s3_file_io():
    python, jars = os.environ.get("NILAS_SPARK_PYTHON"), os.environ.get("NILAS_SPARK_JARS")
    if not check(python and jars, "NILAS_SPARK_PYTHON and NILAS_SPARK_JARS must name a Python with PySpark and Iceberg's jars"):
        return
    LAKE.client("s3").create_bucket(Bucket="spark-lake")
    script = f"""
from pyspark.sql import SparkSession
key, secret = {keys()!r}
b = SparkSession.builder.master("local[2]").config("spark.jars", {jars!r}).config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2") \\
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
for k, v in {{"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".uri": "jdbc:sqlite:{LAKE.folder}/catalog.db", ".jdbc.schema-version": "V1", ".warehouse": "s3://spark-lake/warehouse",
              ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO", ".s3.endpoint": {LAKE.url('s3')!r}, ".s3.path-style-access": "true", ".s3.access-key-id": key, ".s3.secret-access-key": secret,
              ".client.region": "us-east-1", ".s3.checksum-enabled": "true", ".s3.multipart.part-size-bytes": "5242880", ".s3.multipart.threshold": "1.0", ".s3.write.tags.by": "spark"}}.items():
    b = b.config("spark.sql.catalog.lake" + k, v)
spark = b.getOrCreate()
spark.sql("CREATE NAMESPACE lake.db")
spark.sql("CREATE TABLE lake.db.t (id BIGINT, s STRING) USING iceberg TBLPROPERTIES ('format-version'='2','write.delete.mode'='merge-on-read')")
spark.sql("INSERT INTO lake.db.t SELECT id, sha2(cast(id as string), 512) FROM range(200000)")
spark.sql("DELETE FROM lake.db.t WHERE id % 3 = 0")
spark.sql("CALL lake.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))")
spark.sql("CALL lake.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)")
print("rows", spark.sql("SELECT count(*), sum(id) FROM lake.db.t").collect()[0])
print("files", [r.file_size_in_bytes for r in spark.sql("SELECT file_size_in_bytes FROM lake.db.t.files").collect()])
spark.sql("DROP TABLE lake.db.t PURGE")
"""
    out = run(python, "-c", script, environment={"SPARK_LOCAL_IP": "127.0.0.1"})
    check(f"rows Row(count(1)=133333, sum(id)={sum(i for i in range(200000) if i % 3)})" in out, out[-500:])
    equal(LAKE.client("s3").list_objects_v2(Bucket="spark-lake")["KeyCount"], 0, "DROP TABLE PURGE removed every file")


if __name__ == "__main__":
    with Lakehouse(names=["s3"]) as LAKE:
        support.run_tests(sys.modules[__name__])
