#!/usr/bin/env python3
"""The engine on the S3 of `nilas up`: how few requests queries need, and files outside of tables.

    tests/lakehouse/engine_test.py NILAS [test_name…]

The server's log (a line for each request) tells what was asked for.
"""
import collections
import re
import subprocess
import urllib.request

from support import NILAS, Lakehouse, check, equal, run_tests


def make_bucket(lake, name="files"):
    urllib.request.urlopen(urllib.request.Request(f"{lake.url('s3')}/{name}", method="PUT"))


def sql(lake, *statements, fails=False):
    """Rows of the last statements, as texts; or what was said on stderr."""
    confs = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": "s3://files/warehouse", ".s3.endpoint": lake.url("s3"), ".s3.path-style-access": "true",
             ".s3.access-key-id": "nilas", ".s3.secret-access-key": "nilas", ".client.region": "us-east-1"}
    hadoop = {"fs.s3a.endpoint": lake.url("s3"), "fs.s3a.path.style.access": "true", "fs.s3a.access.key": "nilas", "fs.s3a.secret.key": "nilas", "fs.s3a.endpoint.region": "us-east-1"}
    pairs = [f"spark.sql.catalog.lake{key}={value}" for key, value in confs.items()] + [f"spark.hadoop.{key}={value}" for key, value in hadoop.items()]
    done = subprocess.run([NILAS, "sql", "-S", *[part for pair in pairs for part in ("--conf", pair)], "-e", "; ".join(statements)], capture_output=True, text=True, env=lake.environment,
                          timeout=120, cwd=lake.folder)
    if not check((done.returncode != 0) == fails, f"{statements[-1]}: {done.returncode} {done.stderr}"):
        return []
    return done.stderr if fails else [line.split("\t") for line in done.stdout.splitlines()]


def requests(lake, since=0):
    """(method, path) of each request that the server has answered, behind the first `since`."""
    return re.findall(r"INFO s3 +(\w+) (\S+) ", lake.stderr())[since:]


def test_a_statement_asks_for_each_piece_of_metadata_once():
    with Lakehouse("--verbose", names=["s3"]) as lake:
        make_bucket(lake)
        sql(lake, "CREATE NAMESPACE lake.db", "CREATE TABLE lake.db.t AS SELECT id, id % 10 AS k FROM range(1000)", "INSERT INTO lake.db.t SELECT id, 3 FROM range(10)")
        before = len(requests(lake))
        query = "SELECT count(*) FROM lake.db.t a JOIN lake.db.t b ON a.k = b.k WHERE a.id IN (SELECT id FROM lake.db.t WHERE id > 5) AND b.id < 4"
        first = sql(lake, query)
        counts = collections.Counter(f"{method} {re.sub('[0-9a-f-]{20,}', 'U', path)}" for method, path in requests(lake, before))
        metadata = {name: count for name, count in counts.items() if "/metadata/" in name}
        equal(counts["GET /files/warehouse/db/t/metadata/version-hint.text"], 1, "the hint")
        check(all(count == 1 for name, count in metadata.items() if "snap-" in name or "version-hint" in name or ".metadata.json" in name), f"more than once: {metadata}")
        check(not any(name.startswith("HEAD") and "avro" in name for name in metadata), f"sizes were asked for: {metadata}")
        # A second statement of the session looks for a newer version, and reads nothing twice.
        before = len(requests(lake))
        equal(sql(lake, query, query), first * 2)
        names = [path for method, path in requests(lake, before) if method == "GET" and path.endswith(".avro")]
        equal(len(names), len(set(names)), f"{names}")


def test_a_column_comes_in_large_pieces():
    with Lakehouse("--verbose", names=["s3"]) as lake:
        make_bucket(lake)
        sql(lake, "CREATE NAMESPACE lake.db", "CREATE TABLE lake.db.t AS SELECT id, hash(id) AS h, xxhash64(id) AS x FROM range(2000000)")
        before = len(requests(lake))
        equal(sql(lake, "SELECT sum(h % 10), sum(x % 10) FROM lake.db.t"), sql(lake, "SELECT sum(h % 10), sum(x % 10) FROM (SELECT hash(id) AS h, xxhash64(id) AS x FROM range(2000000))"))
        count = sum(1 for _, path in requests(lake, before) if path.endswith(".parquet"))
        check(count <= 26, f"{count} requests for 24 MB")


def test_patterns_stand_for_objects():
    with Lakehouse(names=["s3"]) as lake:
        make_bucket(lake)
        for name in ("a/b1", "a/b2", "a/c", "d/k=1", "d/k=2"):
            sql(lake, f"INSERT OVERWRITE DIRECTORY 's3a://files/{name}' USING parquet SELECT '{name}' AS f")
        for pattern, found in [("a/*", ["a/b1", "a/b2", "a/c"]), ("a/b?", ["a/b1", "a/b2"]), ("a/b[^2]/*.parquet", ["a/b1"]), ("{a/{b1,c},d/k=2}", ["a/b1", "a/c", "d/k=2"]),
                               ("*/b*/*", ["a/b1", "a/b2"]), ("d/k=*/*.parquet", ["d/k=1", "d/k=2"])]:
            equal([row[0] for row in sql(lake, f"SELECT f FROM parquet.`s3a://files/{pattern}` ORDER BY f")], found, pattern)
        check("[PATH_NOT_FOUND] Path does not exist: s3a://files/a/x*." in sql(lake, "SELECT * FROM parquet.`s3a://files/a/x*`", fails=True), "a pattern without files")
        view = "CREATE TEMPORARY VIEW v USING parquet OPTIONS (path 's3a://files/{}', {})"
        equal(sql(lake, view.format("", "recursiveFileLookup 'true', pathGlobFilter '*.{parquet,csv}', modifiedAfter '2020-01-01'"), "SELECT count(*) FROM v"), [["5"]])
        check("UNABLE_TO_INFER_SCHEMA" in sql(lake, view.format("a/c", "modifiedBefore '2020-01-01'"), fails=True), "nothing is that old")


def test_folders_are_written_in_place():
    with Lakehouse("--verbose", names=["s3"]) as lake:
        make_bucket(lake)
        write = "INSERT OVERWRITE DIRECTORY 's3a://files/out' USING {} SELECT {} AS a FROM range({})"
        sql(lake, write.format("parquet", "id", 1000))
        equal(sql(lake, "SELECT count(*), sum(a) FROM parquet.`s3a://files/out`"), [["1000", "499500"]])
        before = len(requests(lake))
        sql(lake, write.format("csv", "id * 2", 10))
        asked = requests(lake, before)
        check(not any("_temporary" in path for _, path in asked), f"a folder for what is not ready: {asked}")
        equal(sql(lake, "SELECT count(*), sum(CAST(_c0 AS INT)) FROM csv.`s3a://files/out`"), [["10", "90"]])
        sql(lake, write.format("csv", "id", 0))  # no rows: what was there goes all the same
        equal(sql(lake, "SELECT * FROM csv.`s3a://files/out`"), [], "an empty result")
        sql(lake, write.format("json", "id", 5))
        before = len(requests(lake))
        check("DIVIDE_BY_ZERO" in sql(lake, write.format("json", "1 / (id - 90000)", 100000), fails=True), "a failure")
        equal(sql(lake, "SELECT count(*), sum(a) FROM json.`s3a://files/out`"), [["5", "10"]], "what was there before a failure")


run_tests(__import__("__main__"))
