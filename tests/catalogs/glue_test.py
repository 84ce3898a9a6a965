"""The Glue catalog: nilas, Spark's GlueCatalog and PyIceberg write the same tables by turns, on moto's Glue and S3.

    python3 tests/catalogs/glue_test.py NILAS

The Glue tables themselves are compared too: what nilas shows of a table there (columns, comments, locations, parameters) is
what Java shows of the same table.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import boto3
import pyarrow

from versioned_glue import VersionedGlue

REGION = "eu-west-1"
BUCKET = "lake"
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing-secret", "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nowhere/config", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials"}
os.environ.update(KEYS)  # before Java starts

from engines import Nilas, Spark, passed, same  # noqa: E402
from pyiceberg.catalog import load_catalog  # noqa: E402


class Moto:
    """Glue and S3 of moto on a free port."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(folder, "moto.log"), "w")
        self.process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=self.log, stderr=self.log)
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{self.url}/moto-api/data.json", timeout=5).read()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        raise SystemExit("moto's server does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.log.close()


def settings(moto, name="glue", **more):
    prefix = f"spark.sql.catalog.{name}"
    confs = {"type": "glue", "glue.endpoint": moto.url, "s3.endpoint": moto.url, "s3.path-style-access": "true", "client.region": REGION, "warehouse": f"s3://{BUCKET}/warehouse",
             "cache-enabled": "false", **more}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **{f"{prefix}.{key}": value for key, value in confs.items()}}


def rows_of(table):
    return [[str(value) if value is not None else "NULL" for value in row.values()] for row in table.scan().to_arrow().to_pylist()]


def by_turns(nilas, spark, python):
    query = "SELECT id, name FROM glue.db.t"

    def check(what, expected):
        same(what, expected, spark=spark.run(query), python=rows_of(python.load_table("db.t")), nilas=nilas.run(query))

    nilas.run("CREATE NAMESPACE glue.db;\nCREATE TABLE glue.db.t (id bigint, name string) USING iceberg PARTITIONED BY (bucket(4, id));\n"
              "INSERT INTO glue.db.t VALUES (1, 'nilas'), (2, 'nilas')")
    check("nilas creates", [["1", "nilas"], ["2", "nilas"]])
    spark.run("INSERT INTO glue.db.t VALUES (3, 'spark')")
    check("Spark appends", [["1", "nilas"], ["2", "nilas"], ["3", "spark"]])
    python.load_table("db.t").append(pyarrow.table({"id": pyarrow.array([4], pyarrow.int64()), "name": ["python"]}))
    check("PyIceberg appends", [["1", "nilas"], ["2", "nilas"], ["3", "spark"], ["4", "python"]])
    nilas.run("MERGE INTO glue.db.t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'merged';\nDELETE FROM glue.db.t WHERE id = 1")
    check("nilas merges and deletes", [["2", "nilas"], ["3", "merged"], ["4", "python"]])
    spark.run("ALTER TABLE glue.db.t RENAME TO db.u")
    query = "SELECT id, name FROM glue.db.u"
    same("Spark renames", [["2", "nilas"], ["3", "merged"], ["4", "python"]], spark=spark.run(query), python=rows_of(python.load_table("db.u")), nilas=nilas.run(query))
    nilas.run("ALTER TABLE glue.db.u RENAME TO glue.db.t")
    query = "SELECT id, name FROM glue.db.t"
    check("nilas renames", [["2", "nilas"], ["3", "merged"], ["4", "python"]])
    same("tables", [["t"]], python=[[name[1]] for name in python.list_tables("db")], nilas=nilas.run("SHOW TABLES IN glue.db"),
         spark=[row[1:2] for row in spark.run("SHOW TABLES IN glue.db")])
    nilas.run("ALTER TABLE glue.db.t ADD COLUMN more map<string, int>;\nINSERT INTO glue.db.t SELECT 5, 'wide', map('a', 1)")
    same("nilas adds a column", [["5", "{'a': 1}"]], spark=[[row[0], row[1]] for row in spark.run("SELECT id, more FROM glue.db.t WHERE id = 5")])
    nilas.run("CREATE TABLE glue.db.made AS SELECT id, id * 2 AS twice FROM range(3)")
    same("CTAS", [["0", "0"], ["1", "2"], ["2", "4"]], spark=spark.run("SELECT * FROM glue.db.made"), nilas=nilas.run("SELECT * FROM glue.db.made"))
    spark.run("CREATE OR REPLACE TABLE glue.db.made USING iceberg AS SELECT 7 AS seven")
    same("RTAS by Spark", [["7"]], nilas=nilas.run("SELECT * FROM glue.db.made"))
    nilas.run("CREATE OR REPLACE TABLE glue.db.made USING iceberg AS SELECT 8 AS eight")
    same("RTAS by nilas", [["8"]], spark=spark.run("SELECT * FROM glue.db.made"))


DDL = """CREATE TABLE glue.same.{name} (
    id bigint NOT NULL COMMENT 'the key', flag boolean, i int, f float, d double, price decimal(12, 3), day date, at timestamp, local timestamp_ntz, note string, raw binary,
    st struct<a: int, b: array<string>> COMMENT 'nested', m map<string, struct<x: double>>)
    USING iceberg COMMENT 'a table' PARTITIONED BY (days(at)) TBLPROPERTIES ('k' = 'v', 'write.data.path' = 's3://lake/elsewhere')"""
CHANGES = ["ALTER TABLE glue.same.{name} DROP COLUMN flag", "ALTER TABLE glue.same.{name} ADD COLUMN later string COMMENT 'came later'",
           "ALTER TABLE glue.same.{name} ALTER COLUMN i TYPE bigint", "ALTER TABLE glue.same.{name} UNSET TBLPROPERTIES ('comment')"]


def without_places(value, name):
    """The entry without what must differ: times, versions, uuids of files, the table's own name."""
    entry = {key: part for key, part in value.items() if key not in ("CreateTime", "UpdateTime", "VersionId", "CatalogId", "Name", "DatabaseName", "IsRegisteredWithLakeFormation")}
    text = json.dumps(entry, sort_keys=True, default=str).replace(f"/{name}", "/NAME")
    parameters = json.loads(text)["Parameters"]
    assert parameters["metadata_location"].startswith("s3://lake/"), parameters
    changed = json.loads(text)
    changed["Parameters"] = {key: ("FILE" if key.endswith("metadata_location") else part) for key, part in parameters.items()}
    return changed


def same_entries(glue, nilas, spark):
    """After each change Glue shows the same of a table of nilas's as of one of Spark's."""
    spark.run("CREATE NAMESPACE glue.same")
    for number, statement in enumerate([DDL, *CHANGES]):
        spark.run(statement.format(name="by_spark"))
        nilas.run(statement.format(name="by_nilas"))
        entries = [without_places(glue.get_table(DatabaseName="same", Name=name)["Table"], name) for name in ("by_spark", "by_nilas")]
        if entries[0] != entries[1]:
            raise AssertionError(f"after {statement}:\nSpark {json.dumps(entries[0], sort_keys=True)}\nnilas {json.dumps(entries[1], sort_keys=True)}")
        same(f"Glue's entry after change {number}", [[]], entries=[[]])
    before = glue.get_table(DatabaseName="same", Name="by_nilas")["Table"]["Parameters"]["metadata_location"]
    nilas.run("INSERT INTO glue.same.by_nilas (id, i, f, d, price, day, at, local, note, raw, st, m, later) SELECT 1, 2, 3, 4, 5, date'2026-10-01', timestamp'2026-10-01 00:00:00',"
              " timestamp_ntz'2026-10-01 00:00:00', 'n', X'01', named_struct('a', 1, 'b', array('x')), map('k', named_struct('x', 1.5D)), 'l'")
    after = glue.get_table(DatabaseName="same", Name="by_nilas")["Table"]["Parameters"]
    same("the previous metadata", [[before]], entry=[[after["previous_metadata_location"]]])
    same("every type", [["1", "5.000", "x"]], spark=spark.run("SELECT id, price, st.b[0] FROM glue.same.by_nilas"), nilas=nilas.run("SELECT id, price, st.b[0] FROM glue.same.by_nilas"))


def properties_of(lines):
    """key and value of the properties that DESCRIBE NAMESPACE EXTENDED shows."""
    return sorted(tuple(row[:2]) for row in lines)


def namespaces(glue, nilas, spark):
    for engine, name in ((nilas, "of_nilas"), (spark, "of_spark")):
        engine.run(f"CREATE NAMESPACE glue.{name} COMMENT 'made here' LOCATION 's3://lake/own/{name}' WITH DBPROPERTIES ('k' = 'v', 'gone' = '1')")
        engine.run(f"ALTER NAMESPACE glue.{name} SET DBPROPERTIES ('k' = 'w', 'more' = 'x')")
        described = [properties_of(other.run(f"DESCRIBE NAMESPACE EXTENDED glue.{name}")) for other in (nilas, spark)]
        same(f"the properties of {name}", [list(row) for row in described[1]], nilas=[list(row) for row in described[0]])
        engine.run(f"CREATE TABLE glue.{name}.t (a int) USING iceberg")
        location = glue.get_table(DatabaseName=name, Name="t")["Table"]["StorageDescriptor"]["Location"]
        same(f"the location below {name}", [[f"s3://lake/own/{name}/t"]], glue=[[location]])
    databases = [{key: value for key, value in glue.get_database(Name=name)["Database"].items() if key not in ("CreateTime", "CatalogId", "Name", "LocationUri")}
                 for name in ("of_spark", "of_nilas")]
    same("Glue's databases", [[json.dumps(databases[0], sort_keys=True, default=str)]], nilas=[[json.dumps(databases[1], sort_keys=True, default=str)]])
    same("namespaces", [row[:1] for row in spark.run("SHOW NAMESPACES IN glue")], nilas=[row[:1] for row in nilas.run("SHOW NAMESPACES IN glue")])
    for statement, words in (("CREATE NAMESPACE glue.of_spark", "SCHEMA_ALREADY_EXISTS"), ("DROP NAMESPACE glue.of_spark", "still contains Iceberg tables"),
                             ("DROP NAMESPACE glue.nothing", "SCHEMA_NOT_FOUND"), ("CREATE NAMESPACE glue.`Upper`", "lowercase letters"), ("CREATE NAMESPACE glue.a.b", "lowercase letters"),
                             ("SHOW TABLES IN glue.nothing", "nothing"), ("CREATE TABLE glue.nothing.t (a int) USING iceberg", "SCHEMA_NOT_FOUND"),
                             ("CREATE TABLE glue.of_spark.t (a int) USING iceberg", "TABLE_OR_VIEW_ALREADY_EXISTS"), ("CREATE TABLE glue.of_spark.`Upper` (a int) USING iceberg", "Invalid table identifier"),
                             ("SELECT * FROM glue.of_spark.`Upper`", "TABLE_OR_VIEW_NOT_FOUND"), ("ALTER TABLE glue.of_spark.t RENAME TO glue.nothing.t", "namespace nothing does not exist"),
                             ("ALTER TABLE glue.of_spark.t RENAME TO glue.db.t", "TABLE_OR_VIEW_ALREADY_EXISTS"), ("ALTER TABLE glue.of_spark.none RENAME TO glue.db.none", "TABLE_OR_VIEW_NOT_FOUND"),
                             ("CREATE VIEW glue.of_spark.v AS SELECT 1", "not supported")):
        message = nilas.fails(statement)
        same(statement, [[True]], nilas=[[words in message]] if words in message else [[message]])


def objects_below(s3, prefix):
    return [found["Key"] for found in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])]


def drops(glue, s3, nilas, spark):
    nilas.run("CREATE NAMESPACE glue.gone;\nCREATE TABLE glue.gone.kept AS SELECT 1 AS a;\nCREATE TABLE glue.gone.purged AS SELECT 1 AS a;\nINSERT INTO glue.gone.purged VALUES (2)")
    kept = glue.get_table(DatabaseName="gone", Name="kept")["Table"]["Parameters"]["metadata_location"]
    nilas.run("DROP TABLE glue.gone.kept;\nDROP TABLE glue.gone.purged PURGE")
    same("a drop keeps files, a purge does not", [[True, 0]], files=[[len(objects_below(s3, "warehouse/gone.db/kept/")) > 2, len(objects_below(s3, "warehouse/gone.db/purged/"))]])
    nilas.run(f"CALL glue.system.register_table(table => 'gone.again', metadata_file => '{kept}')")
    same("registered by nilas", [["1"]], spark=spark.run("SELECT * FROM glue.gone.again"), nilas=nilas.run("SELECT * FROM glue.gone.again"))
    glue.create_table(DatabaseName="gone", TableInput={"Name": "plain", "Parameters": {}, "StorageDescriptor": {"Columns": [], "Location": "s3://lake/x"}})
    same("a table of another kind", [["again"]], nilas=nilas.run("SHOW TABLES IN glue.gone"))
    assert "TABLE_OR_VIEW_NOT_FOUND" in nilas.fails("SELECT * FROM glue.gone.plain")
    assert "TABLE_OR_VIEW_NOT_FOUND" in nilas.fails("DROP TABLE glue.gone.plain")
    nilas.run("DROP TABLE glue.gone.again")
    assert "non-Iceberg tables" in nilas.fails("DROP NAMESPACE glue.gone")
    glue.delete_table(DatabaseName="gone", Name="plain")
    nilas.run("DROP NAMESPACE glue.gone")
    same("dropped", [[False]], glue=[["gone" in [found["Name"] for found in glue.get_databases()["DatabaseList"]]]])


def tags(s3, program, moto):
    """The objects of a table carry its name."""
    nilas = Nilas(program, settings(moto, **{"s3.write.table-tag-enabled": "true", "s3.write.namespace-tag-enabled": "true", "s3.write.tags.team": "one"}))
    nilas.run("CREATE NAMESPACE glue.tagged;\nCREATE TABLE glue.tagged.t AS SELECT 1 AS a")
    expected = [["iceberg.namespace", "tagged"], ["iceberg.table", "t"], ["team", "one"]]
    keys = objects_below(s3, "warehouse/tagged.db/t/")
    assert len(keys) >= 4, keys
    for key in keys:
        same(f"tags of {key}", expected, s3=[[tag["Key"], tag["Value"]] for tag in s3.get_object_tagging(Bucket=BUCKET, Key=key)["TagSet"]])


def many_tables(glue, nilas):
    """More than one page of moto's answers."""
    nilas.run("CREATE NAMESPACE glue.many")
    for number in range(230):
        glue.create_table(DatabaseName="many", TableInput={"Name": f"t{number:03}", "Parameters": {"table_type": "ICEBERG"}, "StorageDescriptor": {"Columns": []}})
    same("230 tables", [[f"t{number:03}"] for number in range(230)], nilas=nilas.run("SHOW TABLES IN glue.many"))


def many_writers(program, folder):
    """Processes that commit to one table at once, on a Glue that looks at versions and now and then loses its answer: nothing is lost, nothing is there twice."""
    glue = VersionedGlue(lost_answers=0.1)
    confs = {**settings(glue, warehouse=os.path.join(folder, "race"), **{"io-impl": "org.apache.iceberg.hadoop.HadoopFileIO"})}
    nilas = Nilas(program, confs)
    writers, commits = 6, 12
    try:
        nilas.run("CREATE NAMESPACE glue.race;\nCREATE TABLE glue.race.t (writer int, number int) USING iceberg TBLPROPERTIES ('commit.retry.num-retries' = '100', 'commit.retry.min-wait-ms' = '20')")
        processes = [subprocess.Popen(nilas.command("-e", ";\n".join(f"INSERT INTO glue.race.t VALUES ({writer}, {number})" for number in range(commits))), env=nilas.environment,
                                      stderr=subprocess.PIPE, text=True) for writer in range(writers)]
        for process in processes:
            _, problems = process.communicate(timeout=300)
            assert process.returncode == 0, problems
        expected = [[str(writer), str(number)] for writer in range(writers) for number in range(commits)]
        same(f"{writers} writers, {glue.conflicts} conflicts, {glue.lost} lost answers", expected, nilas=nilas.run("SELECT * FROM glue.race.t"))
        same("a snapshot for each commit", [[str(writers * commits)]], nilas=nilas.run("SELECT count(*) FROM glue.race.t.snapshots"))
        assert glue.conflicts > 0 and glue.lost > 0, (glue.conflicts, glue.lost)
        print(f"catalogs: glue: {writers} writers, {writers * commits} commits, {glue.conflicts} conflicts, {glue.lost} lost answers", flush=True)
    finally:
        glue.stop()


def faults(program, folder):
    """Each request to Glue fails in turn, in each way: a row is there once when the INSERT succeeded, and not at all when it failed and said so."""
    glue = VersionedGlue()
    confs = settings(glue, warehouse=os.path.join(folder, "faults"), **{"io-impl": "org.apache.iceberg.hadoop.HadoopFileIO"})
    nilas = Nilas(program, confs)
    outcomes = []
    try:
        nilas.run("CREATE NAMESPACE glue.f;\nCREATE TABLE glue.f.t (number int) USING iceberg")
        for number, (place, effect) in enumerate((place, effect) for place in ("glue.change:1", "glue.read:1", "glue.read:2", "glue.read:3", "glue.read:any", "glue.change:any")
                                                 for effect in ("500", "503", "reset", "lost-reply")):
            failing = Nilas(program, confs, {"NILAS_FAULT": f"{place}={effect}"})
            done = subprocess.run(failing.command("-e", f"INSERT INTO glue.f.t VALUES ({number})"), capture_output=True, text=True, env=failing.environment, timeout=300, check=False)
            found = nilas.run(f"SELECT count(*) FROM glue.f.t WHERE number = {number}")[0][0]
            is_unknown = "UNKNOWN" in done.stderr
            same(f"{place} {effect}", [[True]], nilas=[[found == "1" if done.returncode == 0 else found == "0" or (is_unknown and found == "1") or done.stderr.strip()]])
            outcomes.append("done" if done.returncode == 0 else "unknown" if is_unknown else "failed")
        same("single faults do no harm", [["done"]] * 16, nilas=[[outcome] for outcome in outcomes[:16]])
        print(f"catalogs: glue: requests that fail: {', '.join(f'{outcomes.count(kind)} {kind}' for kind in ('done', 'failed', 'unknown'))}", flush=True)
    finally:
        glue.stop()


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        moto = Moto(folder)
        try:
            glue = boto3.client("glue", endpoint_url=moto.url)
            s3 = boto3.client("s3", endpoint_url=moto.url)
            s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
            nilas, spark = Nilas(program, settings(moto)), Spark(settings(moto))
            python = load_catalog("glue", type="glue", **{"glue.endpoint": moto.url, "s3.endpoint": moto.url, "glue.region": REGION, "s3.region": REGION})
            by_turns(nilas, spark, python)
            same_entries(glue, nilas, spark)
            namespaces(glue, nilas, spark)
            drops(glue, s3, nilas, spark)
            tags(s3, program, moto)
            many_tables(glue, nilas)
            many_writers(program, folder)
            faults(program, folder)
        finally:
            moto.stop()
    passed("glue")


if __name__ == "__main__":
    main()
