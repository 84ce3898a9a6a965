"""Tables and files in S3: nilas as a client of moto's S3 and of its own, with PyIceberg and pyarrow on the other side.

    python3 tests/catalogs/s3_storage_test.py NILAS

A hadoop catalog on s3:// (commits by conditional PUT), a JDBC catalog shared with PyIceberg on s3a://, plain Parquet and CSV by
session settings, an object of more than 100 MB in parts, many writers at once, and a server that dies in the middle.
"""
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing-secret", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nowhere/config", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials"}
os.environ.update(KEYS)

import boto3  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.csv  # noqa: E402
import pyarrow.dataset  # noqa: E402
import pyarrow.fs  # noqa: E402
import pyarrow.parquet  # noqa: E402
from botocore.config import Config  # noqa: E402
from pyiceberg.catalog.sql import SqlCatalog  # noqa: E402
from pyiceberg.table import StaticTable  # noqa: E402

from engines import Nilas, passed, same  # noqa: E402

BUCKET = "lake"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Some S3 on a free port of this machine; kill() and start() may follow each other."""

    def __init__(self, folder, program):
        self.folder = folder
        self.program = program
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def command(self):
        raise NotImplementedError

    def start(self):
        self.log = open(os.path.join(self.folder, "server.log"), "ab")
        self.process = subprocess.Popen(self.command(), stdout=self.log, stderr=self.log, env={**os.environ, "NILAS_DATA": self.folder + "/data", "HOME": self.folder})
        for _ in range(300):
            try:
                urllib.request.urlopen(self.url, timeout=1).close()
                return self
            except urllib.error.HTTPError:
                return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.name} does not answer")

    def stop(self, how=signal.SIGTERM):
        if self.process:
            self.process.send_signal(how)
            self.process.wait(30)
        self.process = None

    def client(self):
        return boto3.client("s3", endpoint_url=self.url, config=Config(retries={"max_attempts": 2}, s3={"addressing_style": "path"}))


class Moto(Server):
    name = "moto"
    keeps_objects = False

    def command(self):
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]


class Lakehouse(Server):
    name = "nilas up"
    keeps_objects = True

    def command(self):
        return [self.program, "up", "s3", "--no-configure", "--port", f"s3={self.port}"]


def confs(server, kind, **more):
    settings = {"spark.sql.catalog.c": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.c.type": kind, "spark.sql.catalog.c.s3.endpoint": server.url,
                "spark.sql.catalog.c.s3.path-style-access": "true"}
    return {**settings, **{f"spark.sql.catalog.c.{key}": value for key, value in more.items()}}


def file_system(server):
    return pyarrow.fs.S3FileSystem(endpoint_override=server.url, access_key=KEYS["AWS_ACCESS_KEY_ID"], secret_key=KEYS["AWS_SECRET_ACCESS_KEY"], region="us-east-1")


def iceberg_properties(server):
    return {"s3.endpoint": server.url, "s3.access-key-id": KEYS["AWS_ACCESS_KEY_ID"], "s3.secret-access-key": KEYS["AWS_SECRET_ACCESS_KEY"], "s3.region": "us-east-1"}


def keys_below(server, prefix):
    pages = server.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def test_hadoop_catalog(server, program):
    nilas = Nilas(program, confs(server, "hadoop", warehouse=f"s3://{BUCKET}/wh"))
    nilas.run("CREATE NAMESPACE c.db")
    same("an empty namespace", [["db"]], nilas=nilas.run("SHOW NAMESPACES IN c"))
    nilas.run("CREATE TABLE c.db.t (id BIGINT, part STRING) USING iceberg PARTITIONED BY (part) TBLPROPERTIES ('format-version' = 2, 'write.delete.mode' = 'merge-on-read')")
    nilas.run("INSERT INTO c.db.t SELECT id, concat('p/ö ', id % 3) FROM range(1000)")
    nilas.run("INSERT INTO c.db.t VALUES (5000, NULL)")
    nilas.run("DELETE FROM c.db.t WHERE id = 7")
    nilas.run("UPDATE c.db.t SET part = 'moved' WHERE id = 8")
    expected = [["1000", "504493", "5"]]
    same("a table in S3", expected, nilas=nilas.run("SELECT count(*), sum(id), count(DISTINCT coalesce(part, 'none')) FROM c.db.t"))
    latest = max(keys_below(server, "wh/db/t/metadata/"), key=lambda key: int((re.search(r"/v(\d+)\.metadata\.json$", key) or [0, 0])[1]))
    table = StaticTable.from_metadata(f"s3://{BUCKET}/{latest}", iceberg_properties(server)).scan().to_arrow()
    ids = table["id"].to_pylist()
    same("the same table", expected, PyIceberg=[[str(len(ids)), str(sum(ids)), str(len(set(value or "none" for value in table["part"].to_pylist())))]])
    same("removed files", [["0"]], nilas=nilas.run("CALL c.system.remove_orphan_files(table => 'db.t', older_than => TIMESTAMP '2026-01-01 00:00:00');\nSELECT 0"))
    nilas.run("DROP TABLE c.db.t PURGE")
    same("nothing stays behind", [], S3=[key for key in keys_below(server, "wh/db/t")])
    nilas.run("DROP NAMESPACE c.db")
    same("no namespace is left", [], nilas=nilas.run("SHOW NAMESPACES IN c"))


def test_writers_at_once(server, program):
    nilas = Nilas(program, confs(server, "hadoop", warehouse=f"s3://{BUCKET}/race"))
    nilas.run("CREATE TABLE c.db.t (writer INT, i INT) USING iceberg TBLPROPERTIES ('commit.retry.num-retries' = 50, 'commit.retry.max-wait-ms' = 500)")
    problems = []

    def write(writer):
        for i in range(5):
            try:
                nilas.run(f"INSERT INTO c.db.t VALUES ({writer}, {i})")
            except RuntimeError as problem:
                problems.append(str(problem))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same("no writer failed", [], problems=problems)
    same("each row once", [["20", "20"]], nilas=nilas.run("SELECT count(*), count(DISTINCT writer * 100 + i) FROM c.db.t"))
    same("each commit once", [["20"]], nilas=nilas.run("SELECT count(*) FROM c.db.t.snapshots"))


def test_shared_with_pyiceberg(server, program, folder):
    database = os.path.join(folder, f"catalog-{server.name.replace(' ', '-')}.db")
    nilas = Nilas(program, confs(server, "jdbc", uri=f"jdbc:sqlite:{database}", warehouse=f"s3a://{BUCKET}/shared", **{"jdbc.schema-version": "V1"}))
    nilas.run("CREATE NAMESPACE c.db;\nCREATE TABLE c.db.t (id BIGINT, s STRING) USING iceberg")
    other = SqlCatalog("c", uri=f"sqlite:///{database}", warehouse=f"s3://{BUCKET}/shared", **iceberg_properties(server))
    table = other.load_table("db.t")
    table.append(pyarrow.table({"id": pyarrow.array(range(50), pyarrow.int64()), "s": [f"py {i}" for i in range(50)]}))
    nilas.run("INSERT INTO c.db.t SELECT id + 50, 'nilas' FROM range(50)")
    ids = other.load_table("db.t").scan().to_arrow()["id"].to_pylist()
    same("both wrote", [["100", "4950"]], nilas=nilas.run("SELECT count(*), sum(id) FROM c.db.t"), PyIceberg=[[str(len(ids)), str(sum(ids))]])


def test_plain_files(server, program):
    settings = {"spark.hadoop.fs.s3a.endpoint": server.url, "spark.hadoop.fs.s3a.path.style.access": "true", "spark.hadoop.fs.s3a.access.key": "plain",
                "spark.hadoop.fs.s3a.secret.key": "plain-secret"}
    if server.keeps_objects:  # its one known key is checked
        settings.update({"spark.hadoop.fs.s3a.access.key": KEYS["AWS_ACCESS_KEY_ID"], "spark.hadoop.fs.s3a.secret.key": KEYS["AWS_SECRET_ACCESS_KEY"]})
    nilas = Nilas(program, settings)
    for day in (1, 2):
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table({"id": list(range(day * 10))}), buffer)
        server.client().put_object(Bucket=BUCKET, Key=f"plain/day={day}/f.parquet", Body=buffer.getvalue())
    same("folders with a column", [["1", "10"], ["2", "20"]], nilas=nilas.run(f"SELECT day, count(*) FROM parquet.`s3a://{BUCKET}/plain` GROUP BY day ORDER BY day"))
    nilas.run(f"INSERT OVERWRITE DIRECTORY 's3a://{BUCKET}/out' USING parquet SELECT id, cast(id AS STRING) AS s FROM range(1000)")
    data = pyarrow.dataset.dataset(f"{BUCKET}/out", filesystem=file_system(server), exclude_invalid_files=True).to_table()
    same("pyarrow reads what nilas wrote", [["1000", "499500"]], pyarrow=[[str(data.num_rows), str(sum(data["id"].to_pylist()))]])
    nilas.run(f"INSERT OVERWRITE DIRECTORY 's3a://{BUCKET}/out' USING csv OPTIONS (header true) SELECT id FROM range(3)")
    left = [key for key in keys_below(server, "out/") if not key.endswith("_SUCCESS")]
    same("the new files alone", [[True]], S3=[[bool(left) and all(key.endswith(".csv") for key in left)]])
    problem = nilas.fails(f"SELECT * FROM parquet.`s3a://{BUCKET}/none`")
    same("a path that is none", [[True]], nilas=[["PATH_NOT_FOUND" in problem]])
    problem = nilas.fails("SELECT * FROM parquet.`s3a://no-such-bucket/none`")
    same("a bucket that is none", [[True]], nilas=[["no-such-bucket" in problem]])


def test_large_objects(server, program):
    nilas = Nilas(program, {"spark.master": "local", **confs(server, "hadoop", warehouse=f"s3://{BUCKET}/large")})
    nilas.run("CREATE TABLE c.db.t (id BIGINT, noise STRING) USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.target-file-size-bytes' = '1073741824',"
              " 'write.parquet.compression-codec' = 'uncompressed')")
    nilas.run("INSERT INTO c.db.t SELECT id, concat(sha2(cast(id AS STRING), 512), sha2(cast(-id AS STRING), 512)) FROM range(600000)")
    files = nilas.run("SELECT file_path, file_size_in_bytes FROM c.db.t.files")
    largest = max(int(size) for _, size in files)
    same("one object of more than 100 MB", [[True]], nilas=[[largest > 100 << 20]])
    same("all of it comes back", [["600000", "600000"]], nilas=nilas.run("SELECT count(*), count(DISTINCT noise) FROM c.db.t"))
    etags = [server.client().head_object(Bucket=BUCKET, Key=path.split("/", 3)[3])["ETag"] for path, size in files if int(size) == largest]
    same("it went up in parts", [[True]], S3=[["-" in etags[0]]])
    same("no upload is left open", [[0]], S3=[[len(server.client().list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))]])


def test_a_server_that_dies(server, program):
    nilas = Nilas(program, confs(server, "hadoop", warehouse=f"s3://{BUCKET}/dies", **{"s3.retry.num-retries": "2"}))
    nilas.run("CREATE TABLE c.db.t (id BIGINT, noise STRING) USING iceberg;\nINSERT INTO c.db.t VALUES (1, 'x')")
    writer = subprocess.Popen(nilas.command("-e", "INSERT INTO c.db.t SELECT id, sha2(cast(id AS STRING), 512) FROM range(3000000)"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    server.stop(signal.SIGKILL)
    begun = time.time()
    _, problem = writer.communicate(timeout=120)
    same("an error, soon", [[True, True]], nilas=[[writer.returncode != 0 and "NILAS_IO_ERROR" in problem, time.time() - begun < 60]])
    problem = nilas.fails("SELECT count(*) FROM c.db.t")
    same("nobody is there", [[True]], nilas=[["NILAS_IO_ERROR" in problem]])
    server.start()
    if server.keeps_objects:
        same("the table is as it was", [["1"]], nilas=nilas.run("SELECT count(*) FROM c.db.t"))
        nilas.run("INSERT INTO c.db.t VALUES (2, 'y')")
        same("and takes rows again", [["2"]], nilas=nilas.run("SELECT count(*) FROM c.db.t"))


def main():
    program = os.path.abspath(sys.argv[1])
    for kind in (Moto, Lakehouse):
        with tempfile.TemporaryDirectory(prefix="nilas-s3-") as folder:
            server = kind(folder, program).start()
            try:
                server.client().create_bucket(Bucket=BUCKET)
                test_hadoop_catalog(server, program)
                test_writers_at_once(server, program)
                test_shared_with_pyiceberg(server, program, folder)
                test_plain_files(server, program)
                test_large_objects(server, program)
                test_a_server_that_dies(server, program)
            finally:
                server.stop(signal.SIGKILL)
    passed("s3_storage")


if __name__ == "__main__":
    main()
