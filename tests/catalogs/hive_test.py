"""The Hive catalog: nilas, Spark's HiveCatalog and PyIceberg write the same tables by turns, in a real Hive metastore.

    python3 tests/catalogs/hive_test.py NILAS

What the metastore shows of a table or view of nilas's is compared with what it shows of the same one of Spark's. Long: with the word
"long" behind, more writers, and a metastore that is killed again and again under them.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import pyarrow

from flaky_metastore import FlakyMetastore
from engines import Nilas, Spark, passed, same
from metastore import Metastore
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.hive import _HiveClient


def settings(metastore, name="hive", **more):
    prefix = f"spark.sql.catalog.{name}"
    confs = {"type": "hive", "uri": metastore.uri, "warehouse": metastore.warehouse, "cache-enabled": "false", **more}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **{f"{prefix}.{key}": value for key, value in confs.items()}}


def rows_of(table):
    return [[str(value) if value is not None else "NULL" for value in row.values()] for row in table.scan().to_arrow().to_pylist()]


def by_turns(nilas, spark, python):
    query = "SELECT id, name FROM hive.db.t"

    def check(what, expected):
        same(what, expected, spark=spark.run(query), python=rows_of(python.load_table("db.t")), nilas=nilas.run(query))

    nilas.run("CREATE NAMESPACE hive.db;\nCREATE TABLE hive.db.t (id bigint, name string) USING iceberg PARTITIONED BY (bucket(4, id));\n"
              "INSERT INTO hive.db.t VALUES (1, 'nilas'), (2, 'nilas')")
    check("nilas creates", [["1", "nilas"], ["2", "nilas"]])
    spark.run("INSERT INTO hive.db.t VALUES (3, 'spark')")
    check("Spark appends", [["1", "nilas"], ["2", "nilas"], ["3", "spark"]])
    python.load_table("db.t").append(pyarrow.table({"id": pyarrow.array([4], pyarrow.int64()), "name": ["python"]}))
    check("PyIceberg appends", [["1", "nilas"], ["2", "nilas"], ["3", "spark"], ["4", "python"]])
    nilas.run("MERGE INTO hive.db.t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'merged';\nDELETE FROM hive.db.t WHERE id = 1")
    check("nilas merges and deletes", [["2", "nilas"], ["3", "merged"], ["4", "python"]])
    spark.run("ALTER TABLE hive.db.t RENAME TO hive.db.u")
    query = "SELECT id, name FROM hive.db.u"
    same("Spark renames", [["2", "nilas"], ["3", "merged"], ["4", "python"]], spark=spark.run(query), python=rows_of(python.load_table("db.u")), nilas=nilas.run(query))
    nilas.run("ALTER TABLE hive.db.u RENAME TO hive.db.t")
    query = "SELECT id, name FROM hive.db.t"
    check("nilas renames", [["2", "nilas"], ["3", "merged"], ["4", "python"]])
    same("tables", [["t"]], python=[[name[1]] for name in python.list_tables("db")], nilas=nilas.run("SHOW TABLES IN hive.db"),
         spark=[row[1:2] for row in spark.run("SHOW TABLES IN hive.db")])
    nilas.run("ALTER TABLE hive.db.t ADD COLUMN more map<string, int>;\nINSERT INTO hive.db.t SELECT 5, 'wide', map('a', 1)")
    same("nilas adds a column", [["5", "{'a': 1}"]], spark=[[row[0], row[1]] for row in spark.run("SELECT id, more FROM hive.db.t WHERE id = 5")])
    nilas.run("CREATE TABLE hive.db.made AS SELECT id, id * 2 AS twice FROM range(3)")
    same("CTAS", [["0", "0"], ["1", "2"], ["2", "4"]], spark=spark.run("SELECT * FROM hive.db.made"), nilas=nilas.run("SELECT * FROM hive.db.made"))
    spark.run("CREATE OR REPLACE TABLE hive.db.made USING iceberg AS SELECT 7 AS seven")
    same("RTAS by Spark", [["7"]], nilas=nilas.run("SELECT * FROM hive.db.made"))
    nilas.run("CREATE OR REPLACE TABLE hive.db.made USING iceberg AS SELECT 8 AS eight")
    same("RTAS by nilas", [["8"]], spark=spark.run("SELECT * FROM hive.db.made"))


def views(nilas, spark):
    nilas.run("CREATE NAMESPACE hive.views;\nCREATE TABLE hive.views.t AS SELECT id FROM range(4);\nCREATE VIEW hive.views.of_nilas COMMENT 'a view' AS SELECT id * 10 AS tens FROM hive.views.t")
    spark.run("CREATE VIEW hive.views.of_spark AS SELECT max(id) AS most FROM hive.views.t")
    for engine in (nilas, spark):
        same(f"views by {engine.name}", [["0"], ["10"], ["20"], ["30"], ["3"]],
             rows=engine.run("SELECT * FROM hive.views.of_nilas") + engine.run("SELECT * FROM hive.views.of_spark"))
    spark.run("CREATE OR REPLACE VIEW hive.views.of_nilas AS SELECT 'new' AS word")
    nilas.run("ALTER VIEW hive.views.of_spark RENAME TO hive.views.renamed")
    same("a replaced view", [["new"]], nilas=nilas.run("SELECT * FROM hive.views.of_nilas"))
    same("a renamed view", [["3"]], spark=spark.run("SELECT * FROM hive.views.renamed"))
    same("the list of views", [["of_nilas"], ["renamed"]], nilas=[row[1:2] for row in nilas.run("SHOW VIEWS IN hive.views")], spark=[row[1:2] for row in spark.run("SHOW VIEWS IN hive.views")])
    same("views are no tables", [["t"]], nilas=nilas.run("SHOW TABLES IN hive.views"))
    for statement, words in (("CREATE VIEW hive.views.t AS SELECT 1", "VIEW_ALREADY_EXISTS"), ("CREATE TABLE hive.views.renamed (a int) USING iceberg", "TABLE_OR_VIEW_ALREADY_EXISTS")):
        message = nilas.fails(statement)
        same(statement, [[True]], nilas=[[words in message or message]])
    spark.run("DROP VIEW hive.views.of_nilas")
    nilas.run("DROP VIEW hive.views.renamed")
    same("no views", [], nilas=nilas.run("SHOW VIEWS IN hive.views"))


DDL = """CREATE TABLE hive.same.{name} (
    id bigint NOT NULL COMMENT 'the key', flag boolean, i int, f float, d double, price decimal(12, 3), day date, at timestamp, local timestamp_ntz, note string, raw binary,
    st struct<a: int, b: array<string>> COMMENT 'nested', m map<string, struct<x: double>>)
    USING iceberg COMMENT 'a table' PARTITIONED BY (days(at)) TBLPROPERTIES ('k' = 'v', 'gc.enabled' = 'false', 'hive.metastore.table.owner' = 'somebody')"""
CHANGES = ["ALTER TABLE hive.same.{name} DROP COLUMN flag", "ALTER TABLE hive.same.{name} ADD COLUMN later string COMMENT 'came later'",
           "ALTER TABLE hive.same.{name} ALTER COLUMN i TYPE bigint", "ALTER TABLE hive.same.{name} WRITE ORDERED BY id DESC",
           "ALTER TABLE hive.same.{name} UNSET TBLPROPERTIES ('comment', 'k')", "INSERT INTO hive.same.{name} SELECT 1, 2, 3, 4, 5, date'2026-10-01', timestamp'2026-10-01 00:00:00', timestamp_ntz'2026-10-01 00:00:00', 'n', X'01',"
           " named_struct('a', 1, 'b', array('x')), map('k', named_struct('x', 1.5D)), 'l'",
           "ALTER TABLE hive.same.{name} SET TBLPROPERTIES ('engine.hive.enabled' = 'true')", "ALTER TABLE hive.same.{name} SET TBLPROPERTIES ('long' = '" + "x" * 3000 + "')",
           "DELETE FROM hive.same.{name}"]
ITS_OWN = ("metadata_location", "previous_metadata_location", "uuid", "transient_lastDdlTime", "current-snapshot-id", "current-snapshot-timestamp-ms", "totalSize", "last_modified_time")
SUMMARY = ("spark.app.id", "app-id", "engine-name", "engine-version", "app-name", "iceberg-version", "added-files-size", "removed-files-size", "total-files-size")


def plain(value):
    """A thrift struct as text and lists."""
    if hasattr(value, "__dict__"):
        return {key: plain(part) for key, part in vars(value).items() if part is not None}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def shown(metastore, database, name):
    """The entry without what must differ: times, files, snapshots' numbers, the table's own name."""
    with _HiveClient(metastore.uri) as client:
        entry = plain(client.get_table(database, name))
    for key in ("createTime", "lastAccessTime", "tableName"):
        entry.pop(key)
    parameters = entry["parameters"]
    for key in ITS_OWN:
        if key in parameters:
            parameters[key] = "ITS OWN"
    if "current-snapshot-summary" in parameters:
        parameters["current-snapshot-summary"] = {key: value for key, value in json.loads(parameters["current-snapshot-summary"]).items() if key not in SUMMARY}
    for key in ("current-schema", "default-partition-spec", "default-sort-order"):
        if key in parameters:
            parameters[key] = json.loads(parameters[key])
    return json.dumps(entry, sort_keys=True).replace(f"/{name}", "/NAME")


def same_entries(metastore, nilas, spark):
    """After each change the metastore shows the same of a table of nilas's as of one of Spark's."""
    spark.run("CREATE NAMESPACE hive.same")
    for number, statement in enumerate([DDL, *CHANGES]):
        spark.run(statement.format(name="by_spark"))
        nilas.run(statement.format(name="by_nilas"))
        same(f"the entry after change {number}: {statement[:60]}", [[shown(metastore, "same", "by_spark")]], nilas=[[shown(metastore, "same", "by_nilas")]])
    for engine in (nilas, spark):
        engine.run(f"CREATE VIEW hive.same.view_{engine.name.lower()} COMMENT 'c' TBLPROPERTIES ('k' = 'v', 'gone' = '1') AS SELECT 1 AS a")
        engine.run(f"ALTER VIEW hive.same.view_{engine.name.lower()} UNSET TBLPROPERTIES ('gone')")
    entries = []
    for name in ("view_nilas", "view_spark"):
        entry = json.loads(shown(metastore, "same", name))
        entry["parameters"] = {key: value for key, value in entry["parameters"].items() if key not in ("create_engine_version", "engine_version", "spark.query-column-names")}
        entries.append(json.dumps(entry, sort_keys=True))
    same("the entry of a view", [[entries[1]]], nilas=[[entries[0]]])


def namespaces(metastore, nilas, spark):
    databases = []
    for engine, name in ((nilas, "of_nilas"), (spark, "of_spark")):
        engine.run(f"CREATE NAMESPACE hive.{name} COMMENT 'made here' LOCATION 'file:{metastore.folder}/own/{name}' WITH DBPROPERTIES ('k' = 'v', 'gone' = '1')")
        engine.run(f"ALTER NAMESPACE hive.{name} SET DBPROPERTIES ('k' = 'w', 'more' = 'x')")
        described = [sorted(tuple(row[:2]) for row in other.run(f"DESCRIBE NAMESPACE EXTENDED hive.{name}")) for other in (nilas, spark)]
        same(f"the properties of {name}", [list(row) for row in described[1]], nilas=[list(row) for row in described[0]])
        engine.run(f"CREATE TABLE hive.{name}.t (a int) USING iceberg")
        with _HiveClient(metastore.uri) as client:
            same(f"the location below {name}", [[f"file:{metastore.folder}/own/{name}/t"]], entry=[[client.get_table(name, "t").sd.location]])
            databases.append(json.dumps({key: value for key, value in plain(client.get_database(name)).items() if key != "createTime"}, sort_keys=True).replace(name, "NAME"))
    same("the metastore's databases", [[databases[1]]], nilas=[[databases[0]]])
    same("namespaces", [row[:1] for row in spark.run("SHOW NAMESPACES IN hive")], nilas=[row[:1] for row in nilas.run("SHOW NAMESPACES IN hive")])
    for statement, words in (("CREATE NAMESPACE hive.of_spark", "SCHEMA_ALREADY_EXISTS"), ("DROP NAMESPACE hive.of_spark", "Namespace of_spark is not empty"),
                             ("DROP NAMESPACE hive.nothing", "SCHEMA_NOT_FOUND"), ("CREATE NAMESPACE hive.a.b", "multi part namespace"), ("DESCRIBE NAMESPACE hive.nothing", "SCHEMA_NOT_FOUND"),
                             ("CREATE TABLE hive.nothing.t (a int) USING iceberg", "SCHEMA_NOT_FOUND"), ("CREATE TABLE hive.of_spark.t (a int) USING iceberg", "TABLE_OR_VIEW_ALREADY_EXISTS"),
                             ("SELECT * FROM hive.of_spark.none", "TABLE_OR_VIEW_NOT_FOUND"), ("ALTER TABLE hive.of_spark.t RENAME TO hive.nothing.t", "Namespace does not exist: nothing"),
                             ("ALTER TABLE hive.of_spark.t RENAME TO hive.db.t", "TABLE_OR_VIEW_ALREADY_EXISTS"), ("ALTER TABLE hive.of_spark.none RENAME TO hive.db.none", "TABLE_OR_VIEW_NOT_FOUND")):
        message = nilas.fails(statement)
        same(statement, [[True]], nilas=[[words in message or message]])


def files_below(folder):
    return sum(len(names) for _, _, names in os.walk(folder))


def other_tables(metastore, program, nilas, spark):
    """Drops, and tables of the metastore that are none of Iceberg's."""
    nilas.run("CREATE NAMESPACE hive.gone;\nCREATE TABLE hive.gone.kept AS SELECT 1 AS a;\nCREATE TABLE hive.gone.purged AS SELECT 1 AS a;\nINSERT INTO hive.gone.purged VALUES (2)")
    with _HiveClient(metastore.uri) as client:
        kept = client.get_table("gone", "kept")
        nilas.run("DROP TABLE hive.gone.kept;\nDROP TABLE hive.gone.purged PURGE")
        same("a drop keeps files, a purge does not", [[True, 0]], files=[[files_below(f"{metastore.warehouse}/gone.db/kept") > 2, files_below(f"{metastore.warehouse}/gone.db/purged")]])
        nilas.run(f"CALL hive.system.register_table(table => 'gone.again', metadata_file => '{kept.parameters['metadata_location']}')")
        same("registered by nilas", [["1"]], spark=spark.run("SELECT * FROM hive.gone.again"), nilas=nilas.run("SELECT * FROM hive.gone.again"))
        kept.tableName, kept.parameters = "plain", {"EXTERNAL": "TRUE"}
        client.create_table(kept)
        same("a table of another kind", [["again"]], nilas=nilas.run("SHOW TABLES IN hive.gone"), spark=[row[1:2] for row in spark.run("SHOW TABLES IN hive.gone")])
        same("list-all-tables", [["again"], ["plain"]], nilas=Nilas(program, settings(metastore, **{"list-all-tables": "true"})).run("SHOW TABLES IN hive.gone"))
        for statement, words in (("SELECT * FROM hive.gone.plain", "TABLE_OR_VIEW_NOT_FOUND"), ("DROP TABLE hive.gone.plain", "TABLE_OR_VIEW_NOT_FOUND"),
                                 ("CREATE TABLE hive.gone.plain (a int) USING iceberg", "TABLE_OR_VIEW_ALREADY_EXISTS"), ("ALTER TABLE hive.gone.again RENAME TO hive.gone.plain", "TABLE_OR_VIEW_ALREADY_EXISTS")):
            message = nilas.fails(statement)
            same(statement, [[True]], nilas=[[words in message or message]])
        names = [f"t{number:03}" for number in range(230)]
        for name in names[:3]:
            kept.tableName, kept.parameters = name, {"EXTERNAL": "TRUE", "table_type": "iceberg", "metadata_location": "nowhere"}
            client.create_table(kept)
        same("the metastore's words for Iceberg in any case", [["again"], *[[name] for name in names[:3]]], nilas=nilas.run("SHOW TABLES IN hive.gone"))


def many_writers(program, metastore, spark, table, properties, writers=8, commits=4):
    """Processes of nilas and Spark that commit to one table at once: nothing is lost, nothing is there twice."""
    nilas = Nilas(program, settings(metastore))
    retries = "'commit.retry.num-retries' = '200', 'commit.retry.min-wait-ms' = '10', 'commit.retry.max-wait-ms' = '500', 'commit.retry.total-timeout-ms' = '120000'"
    nilas.run(f"CREATE NAMESPACE IF NOT EXISTS hive.race;\nCREATE TABLE hive.race.{table} (writer int, number int) USING iceberg TBLPROPERTIES ({retries}{properties})")
    begin = time.monotonic()
    processes = [subprocess.Popen(nilas.command("-e", ";\n".join(f"INSERT INTO hive.race.{table} VALUES ({writer}, {number})" for number in range(commits))), env=nilas.environment,
                                  stderr=subprocess.PIPE, text=True) for writer in range(writers)]
    for number in range(commits):
        spark.run(f"INSERT INTO hive.race.{table} VALUES ({writers}, {number})")
    for process in processes:
        _, problems = process.communicate(timeout=300)
        assert process.returncode == 0, problems
    expected = [[str(writer), str(number)] for writer in range(writers + 1) for number in range(commits)]
    same(f"{writers} writers and Spark: {table}", expected, nilas=nilas.run(f"SELECT * FROM hive.race.{table}"), spark=spark.run(f"SELECT * FROM hive.race.{table}"))
    same("a snapshot for each commit", [[str((writers + 1) * commits)]], nilas=nilas.run(f"SELECT count(*) FROM hive.race.{table}.snapshots"))
    with _HiveClient(metastore.uri) as client:
        from hive_metastore.ttypes import ShowLocksRequest
        same("no lock stays", [[0]], locks=[[len(client.show_locks(ShowLocksRequest(dbname="race")).locks or [])]])
    print(f"catalogs: hive: {table}: {(writers + 1) * commits} commits of {writers + 1} writers in {time.monotonic() - begin:.1f} s", flush=True)


def killed(program, metastore, rounds):
    """The metastore is killed while nilas commits: a row is there once when the INSERT succeeded, and not at all when it failed and said so."""
    confs = settings(metastore, **{"hadoop.hive.metastore.client.socket.timeout": "5s", "hadoop.hive.metastore.connect.retries": "1", "hadoop.hive.metastore.client.connect.retry.delay": "100ms",
                                   "hadoop.iceberg.hive.lock-creation-timeout-ms": "500", "hadoop.iceberg.hive.lock-timeout-ms": "2000"})
    nilas = Nilas(program, confs)
    nilas.run("CREATE NAMESPACE hive.killed;\nCREATE TABLE hive.killed.t (number int) USING iceberg TBLPROPERTIES ('engine.hive.lock-enabled' = 'false')")
    outcomes = {}
    for number in range(rounds):
        processes = {}
        for writer in range(3):
            key = number * 100 + writer
            processes[key] = subprocess.Popen(nilas.command("-e", f"INSERT INTO hive.killed.t VALUES ({key});\nINSERT INTO hive.killed.t VALUES ({key + 10})"), env=nilas.environment,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.1 + 0.35 * (number % 10))
        metastore.kill()
        for key, process in processes.items():
            _, problems = process.communicate(timeout=300)
            outcomes[key] = (process.returncode, problems)
        metastore.start()
    found = [row[0] for row in nilas.run("SELECT number FROM hive.killed.t")]
    same("nothing is there twice", [[len(found)]], rows=[[len(set(found))]])
    counts = {"done": 0, "unknown": 0, "failed": 0}
    for key, (code, problems) in outcomes.items():
        there = [str(key) in found, str(key + 10) in found]
        is_unknown = "UNKNOWN" in problems
        assert code == 0 or problems.strip(), key
        same(f"what writer {key} was told: {problems.strip()[:100]}", [[True]], rows=[[there == [True, True] if code == 0 else is_unknown or there != [True, True]]])
        counts["done" if code == 0 else "unknown" if is_unknown else "failed"] += 1
    print(f"catalogs: hive: a metastore killed {rounds} times: {counts}", flush=True)


def lost_calls(program, metastore):
    """Each call of a commit is lost in turn, before and after the metastore has had it: the statement succeeds, and has its effect once."""
    flaky = FlakyMetastore(metastore.port)
    nilas, direct = Nilas(program, {**settings(metastore), "spark.sql.catalog.hive.uri": flaky.uri}), Nilas(program, settings(metastore))
    direct.run("CREATE NAMESPACE hive.lost;\nCREATE TABLE hive.lost.t (number int) USING iceberg")
    number = 0
    for method in ("get_table_req", "lock", "alter_table_with_environment_context", "unlock"):
        for when in ("before", "after"):
            number += 1
            flaky.lose(method, when)
            nilas.run(f"INSERT INTO hive.lost.t VALUES ({number})")
            same(f"{method} is lost {when}", [["1", "1"]], nilas=[[direct.run(f"SELECT count(*) FROM hive.lost.t WHERE number = {number}")[0][0], str(flaky.lost)]])
    same("a snapshot for each", [[str(number)]], nilas=direct.run("SELECT count(*) FROM hive.lost.t.snapshots"))
    for method, statement, query, expected in (
            ("create_table", "CREATE TABLE hive.lost.made (a int) USING iceberg", "SELECT * FROM hive.lost.made", []),
            ("create_database", "CREATE NAMESPACE hive.lost_too", "SHOW TABLES IN hive.lost_too", []),
            ("alter_table_with_environment_context", "ALTER TABLE hive.lost.made RENAME TO hive.lost.moved", "SELECT * FROM hive.lost.moved", []),
            ("drop_table", "DROP TABLE hive.lost.moved", "SHOW TABLES IN hive.lost", [["t"]])):
        flaky.lose(method, "after")
        nilas.run(statement)
        same(f"{statement}, whose answer is lost", expected, nilas=direct.run(query))
        assert flaky.lost == 1, (method, flaky.lost)
    flaky.lose("alter_table_with_environment_context", "after", 100)
    direct.run("CREATE TABLE hive.lost.often (a int) USING iceberg")
    nilas.run("INSERT INTO hive.lost.often VALUES (1)")
    same("every answer to a commit is lost", [["1"]], nilas=direct.run("SELECT * FROM hive.lost.often"))
    flaky.lose("alter_table_with_environment_context", "before", 100)
    message = nilas.fails("INSERT INTO hive.lost.often VALUES (2)")
    same("no commit arrives", [["1"]], nilas=direct.run("SELECT * FROM hive.lost.often"))
    print(f"catalogs: hive: a commit that never arrives: {message.splitlines()[0][:160]}", flush=True)


def settings_of_hive(program, metastore):
    """Addresses, users, and what nilas does not speak."""
    uri = settings(metastore)
    uri["spark.sql.catalog.hive.uri"] = f"thrift://127.0.0.1:1,{metastore.uri}"
    same("the second address", [["default"]], nilas=[row for row in Nilas(program, uri).run("SHOW NAMESPACES IN hive") if row == ["default"]])
    without = {key: value for key, value in settings(metastore).items() if not key.endswith((".uri", ".type"))}
    same("hive.metastore.uris, and hive is the default type", [["default"]],
         nilas=[row for row in Nilas(program, {**without, "spark.hadoop.hive.metastore.uris": metastore.uri}).run("SHOW NAMESPACES IN hive") if row == ["default"]])
    wrong = {"spark.sql.catalog.hive.uri": "thrift://127.0.0.1:1", "spark.hadoop.hive.metastore.connect.retries": "1"}
    for confs, words in (({}, "needs the address of a metastore"), (wrong, "Connection refused"), ({"spark.sql.catalog.hive.uri": "http://h:1"}, "must be thrift://host:port"),
                         ({"spark.hadoop.hive.metastore.sasl.enabled": "true"}, "hive.metastore.sasl.enabled=true is not supported"),
                         ({**wrong, "spark.sql.catalog.hive.clients": "0"}, "from 1 to 1000"), ({**wrong, "spark.hadoop.hive.metastore.client.socket.timeout": "soon"}, "a number with a unit")):
        message = Nilas(program, {**without, **confs}).fails("SHOW NAMESPACES IN hive")
        same(words, [[True]], nilas=[[words in message or message]])
    message = Nilas(program, settings(metastore)).fails("CREATE TABLE hive.db.v (a variant) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    same("a type that Hive has not", [[True]], nilas=[["variant is not supported" in message or message]])


def session_settings(metastore):
    """Spark's own catalog keeps its tables in the metastore."""
    return {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": metastore.uri, "spark.sql.warehouse.dir": metastore.warehouse}


def migrations(nilas, spark, metastore):
    """Tables of Spark's become Iceberg tables over the same files, which Spark reads through its Iceberg catalog."""
    spark.run("CREATE TABLE shelf.managed (a int, b string, p string) USING parquet PARTITIONED BY (p)")
    spark.run("INSERT INTO shelf.managed VALUES (1, 'x', 'one'), (2, 'y', 'two')")
    spark.run(f"CREATE TABLE shelf.outside (a int, b string) USING parquet LOCATION '{metastore.warehouse}/outside' TBLPROPERTIES ('k' = 'v')")
    spark.run("INSERT INTO shelf.outside SELECT /*+ COALESCE(1) */ id, concat('b', id) FROM range(3)")
    rows = [["0", "b0"], ["1", "b1"], ["2", "b2"]]
    same("snapshot", [["1"]], nilas=nilas.run("CALL spark_catalog.system.snapshot('shelf.outside', 'shelf.tried')"))
    nilas.run("INSERT INTO shelf.tried VALUES (9, 'new')")
    same("a snapshot", rows + [["9", "new"]], nilas=nilas.run("SELECT * FROM shelf.tried"), spark=spark.run("SELECT * FROM hive.shelf.tried"))
    same("its source", rows, nilas=nilas.run("SELECT * FROM shelf.outside"), spark=spark.run("SELECT * FROM shelf.outside"))
    same("migrate", [["1"]], nilas=nilas.run("CALL spark_catalog.system.migrate(table => 'shelf.outside', properties => map('more', 'said'))"))
    same("a migrated table", rows, nilas=nilas.run("SELECT * FROM shelf.outside"), spark=spark.run("SELECT * FROM hive.shelf.outside"), kept=spark.run("SELECT * FROM shelf.outside_backup_"))
    same("its properties", [["more", "said"], ["migrated", "true"], ["k", "v"]],
         spark=[spark.run(f"SHOW TBLPROPERTIES hive.shelf.outside ('{key}')")[0] for key in ("more", "migrated", "k")])
    spark.run("INSERT INTO hive.shelf.outside VALUES (7, 'spark')")
    nilas.run("DELETE FROM shelf.outside WHERE a = 0")
    same("a migrated table goes on", [["1", "b1"], ["2", "b2"], ["7", "spark"]], nilas=nilas.run("SELECT * FROM shelf.outside"), spark=spark.run("SELECT * FROM hive.shelf.outside"))
    message = nilas.fails("CALL spark_catalog.system.migrate('shelf.outside')")
    same("it is Iceberg's", [[True]], nilas=[["Cannot use non-v1 table 'shelf.outside' as a source" in message or message]])
    same("migrate a managed table", [["2"]], nilas=nilas.run("CALL spark_catalog.system.migrate(table => 'shelf.managed', drop_backup => true)"))
    same("a managed table that was migrated", [["1", "x", "one"], ["2", "y", "two"]], nilas=nilas.run("SELECT * FROM shelf.managed"), spark=spark.run("SELECT * FROM hive.shelf.managed"))
    same("by partition", [["2"]], nilas=nilas.run("SELECT a FROM shelf.managed WHERE p = 'two'"), spark=spark.run("SELECT a FROM hive.shelf.managed WHERE p = 'two'"))
    same("no backup", [], spark=spark.run("SHOW TABLES IN shelf LIKE 'managed_*'"))
    nilas.run("DROP TABLE shelf.tried;\nDROP TABLE shelf.outside;\nDROP TABLE shelf.managed")
    same("the backup has its files", rows, spark=spark.run("SELECT * FROM shelf.outside_backup_"))


def session_catalog(program, metastore, spark):
    """Tables over plain files that Spark and Hive keep in the metastore are read by name, and left alone."""
    prefix = "spark.sql.catalog.spark_catalog"
    confs = {prefix: "org.apache.iceberg.spark.SparkSessionCatalog", f"{prefix}.type": "hive", f"{prefix}.uri": metastore.uri, f"{prefix}.warehouse": metastore.warehouse}
    nilas = Nilas(program, confs)
    spark.run("CREATE DATABASE spark_catalog.shelf")  # default has the place that the template's metastore had
    spark.run("CREATE TABLE shelf.plain (a int COMMENT 'x', B decimal(10, 2), p string) USING parquet PARTITIONED BY (p) COMMENT 'c' TBLPROPERTIES ('k' = 'v')")
    spark.run("INSERT INTO shelf.plain VALUES (1, 1.5, 'x/y'), (2, 2.5, NULL)")
    spark.run("CREATE TABLE shelf.texts USING csv OPTIONS (header 'true') AS SELECT 1 AS a, 'z' AS b")
    spark.run("CREATE TABLE shelf.of_hive (a int, st struct<b: array<string>>) STORED AS PARQUET")
    spark.run("INSERT INTO shelf.of_hive SELECT 1, named_struct('b', array('q'))")
    spark.run("CREATE TABLE shelf.lines (a int) STORED AS TEXTFILE")
    for query in ("SELECT * FROM shelf.plain", "SELECT a FROM shelf.plain WHERE p = 'x/y'", "SELECT * FROM shelf.texts", "SELECT a, st.b[0] FROM shelf.of_hive",
                  "SHOW PARTITIONS shelf.plain", "SHOW TBLPROPERTIES shelf.plain ('k')", "SHOW COLUMNS IN shelf.of_hive", "DESCRIBE shelf.plain a"):
        same(query, spark.run(query), nilas=nilas.run(query))
    described = [[" ".join(row[:2]).strip() for row in engine.run("DESCRIBE EXTENDED shelf.plain") if row[0].strip() not in ("Created Time", "Owner", "Serde Library", "InputFormat", "OutputFormat")]
                 for engine in (nilas, spark)]
    same("DESCRIBE EXTENDED", [[" ".join(line.split())] for line in described[1]], nilas=[[" ".join(line.split())] for line in described[0]])
    same("SHOW TABLES", [[name] for name in ("lines", "of_hive", "plain", "texts")], nilas=nilas.run("SHOW TABLES IN shelf"))
    nilas.run("CREATE TABLE shelf.ice AS SELECT * FROM shelf.plain;\nINSERT INTO shelf.ice SELECT 3, 3.5, 'n'")
    same("an Iceberg table beside them", [["3"]], nilas=nilas.run("SELECT count(*) FROM shelf.ice"))
    for statement, words in (("INSERT INTO shelf.plain VALUES (1, 2, 'x')", "nilas reads such tables"), ("DROP TABLE shelf.plain", "nilas reads such tables"),
                             ("MSCK REPAIR TABLE shelf.plain", "nilas reads such tables"), ("CREATE TABLE shelf.plain (a int) USING iceberg", "TABLE_OR_VIEW_ALREADY_EXISTS"),
                             ("SELECT * FROM shelf.lines", "nilas does not read hive files")):
        message = nilas.fails(statement)
        same(statement, [[True]], nilas=[[words in message or message]])
    migrations(nilas, spark, metastore)
    message = Nilas(program, {**confs, "spark.sql.catalogImplementation": "hive"}).fails("CREATE TABLE shelf.more (a int) USING parquet")
    same("none are made there", [[True]], nilas=[["cannot be made yet" in message or message]])


def main():
    program, is_long = sys.argv[1], "long" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        metastore = Metastore(folder)
        try:
            nilas, spark = Nilas(program, settings(metastore)), Spark(settings(metastore), session_settings(metastore))
            python = load_catalog("hive", type="hive", uri=metastore.uri, warehouse=metastore.warehouse)
            by_turns(nilas, spark, python)
            views(nilas, spark)
            same_entries(metastore, nilas, spark)
            namespaces(metastore, nilas, spark)
            other_tables(metastore, program, nilas, spark)
            settings_of_hive(program, metastore)
            session_catalog(program, metastore, spark)
            lost_calls(program, metastore)
            many_writers(program, metastore, spark, "locked", "", commits=12 if is_long else 2)
            many_writers(program, metastore, spark, "unlocked", ", 'engine.hive.lock-enabled' = 'false'", commits=12 if is_long else 2)
            if is_long:
                killed(program, metastore, 20)
        finally:
            metastore.stop()
    passed("hive")


if __name__ == "__main__":
    main()
