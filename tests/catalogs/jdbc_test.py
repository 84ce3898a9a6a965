"""The JDBC catalog on PostgreSQL and SQLite: nilas, Spark and PyIceberg write the same tables by turns.

    python3 tests/catalogs/jdbc_test.py NILAS
"""
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pyarrow
from pyiceberg.catalog.sql import SqlCatalog

from engines import Nilas, Spark, passed, same
from postgres import Postgres

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from proxy import Plan, Proxy # noqa: E402


def confs(name, uri, warehouse, **more):
    prefix = f"spark.sql.catalog.{name}"
    settings = {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", f"{prefix}.uri": uri,
                f"{prefix}.warehouse": warehouse, f"{prefix}.cache-enabled": "false"}
    settings.update({f"{prefix}.{key}": value for key, value in more.items()})
    return settings


def rows_of(table):
    """What PyIceberg reads, as texts."""
    return [[str(value) if value is not None else "NULL" for value in row.values()] for row in table.scan().to_arrow().to_pylist()]


def by_turns(name, nilas, spark, python):
    """Each writes what the others read next."""
    query = f"SELECT id, name FROM {name}.db.t"
    nilas.run(f"CREATE NAMESPACE {name}.db;\nCREATE TABLE {name}.db.t (id bigint, name string) USING iceberg PARTITIONED BY (bucket(4, id));\n"
              f"INSERT INTO {name}.db.t VALUES (1, 'nilas'), (2, 'nilas')")
    expected = [["1", "nilas"], ["2", "nilas"]]
    same("nilas creates", expected, spark=spark.run(query), python=rows_of(python.load_table("db.t")), nilas=nilas.run(query))
    spark.run(f"INSERT INTO {name}.db.t VALUES (3, 'spark')")
    expected.append(["3", "spark"])
    same("Spark appends", expected, spark=spark.run(query), python=rows_of(python.load_table("db.t")), nilas=nilas.run(query))
    python.load_table("db.t").append(pyarrow.table({"id": pyarrow.array([4], pyarrow.int64()), "name": ["python"]}))
    expected.append(["4", "python"])
    same("PyIceberg appends", expected, spark=spark.run(query), python=rows_of(python.load_table("db.t")), nilas=nilas.run(query))
    nilas.run(f"MERGE INTO {name}.db.t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'merged';\nDELETE FROM {name}.db.t WHERE id = 1")
    expected = [["2", "nilas"], ["3", "merged"], ["4", "python"]]
    same("nilas merges and deletes", expected, spark=spark.run(query), python=rows_of(python.load_table("db.t")), nilas=nilas.run(query))
    spark.run(f"ALTER TABLE {name}.db.t RENAME TO db.u")
    query = f"SELECT id, name FROM {name}.db.u"
    same("Spark renames", expected, spark=spark.run(query), python=rows_of(python.load_table("db.u")), nilas=nilas.run(query))
    nilas.run(f"ALTER TABLE {name}.db.u RENAME TO {name}.db.t")
    same("nilas renames", [["t"]], python=[[found[1]] for found in python.list_tables("db")], nilas=nilas.run(f"SHOW TABLES IN {name}.db"),
         spark=[[row[1]] for row in spark.run(f"SHOW TABLES IN {name}.db")])


def namespaces(name, nilas, spark):
    """Properties and nesting, written by one and read by the other."""
    spark.run(f"CREATE NAMESPACE {name}.by_spark COMMENT 'made by Spark' WITH DBPROPERTIES ('k' = 'v')")
    nilas.run(f"CREATE NAMESPACE {name}.by_nilas COMMENT 'made by nilas' WITH DBPROPERTIES ('k' = 'v')")
    for scope in ("by_spark", "by_nilas"):
        described = f"DESCRIBE NAMESPACE EXTENDED {name}.{scope}"
        same(f"properties of {scope}", [row for row in spark.run(described) if row[0] != "Catalog Name"],
             nilas=[row for row in nilas.run(described) if row[0] != "Catalog Name"])
    nilas.run(f"ALTER NAMESPACE {name}.by_spark SET PROPERTIES ('k' = 'w', 'n' = '1')")
    same("changed properties", spark.run(f"DESCRIBE NAMESPACE EXTENDED {name}.by_spark"), nilas=nilas.run(f"DESCRIBE NAMESPACE EXTENDED {name}.by_spark"))
    nilas.run(f"CREATE NAMESPACE {name}.a.b.c")
    for scope in ("", ".a", ".a.b"):
        shown = f"SHOW NAMESPACES IN {name}{scope}"
        same(shown, spark.run(shown), nilas=nilas.run(shown))
    for statement in (f"DROP NAMESPACE {name}.db", f"CREATE NAMESPACE {name}.a.b.c", f"SHOW TABLES IN {name}.absent", f"ALTER TABLE {name}.db.t RENAME TO absent.t"):
        error = nilas.fails(statement)
        try:
            spark.run(statement)
        except Exception as fault:  # pylint: disable=broad-exception-caught
            words = spark_words(fault)
            same(statement, [[words]], nilas=[[words if words in error else error]])
        else:
            raise AssertionError(f"Spark takes {statement}")


def spark_words(fault):
    """The message alone: of an Iceberg exception, or of a condition."""
    lines = str(fault).splitlines()
    for line in lines:
        if "exceptions." in line and "Exception: " in line:
            return line.split("Exception: ", 1)[1].strip()
    return lines[0].split("] ", 1)[-1].strip()


def views(name, nilas, spark):
    nilas.run(f"CREATE VIEW {name}.db.by_nilas (ident, label) COMMENT 'of nilas' AS SELECT id, name FROM {name}.db.t WHERE id > 2")
    spark.run(f"CREATE VIEW {name}.db.by_spark AS SELECT id, name FROM {name}.db.t WHERE id < 4")
    for view in ("by_nilas", "by_spark"):
        for statement in (f"SELECT * FROM {name}.db.{view}", f"DESCRIBE EXTENDED {name}.db.{view}", f"SHOW CREATE TABLE {name}.db.{view}", f"SHOW TBLPROPERTIES {name}.db.{view}"):
            expected = [[line] for row in spark.run(statement) for line in "\t".join(row).split("\n")]
            same(statement, expected, nilas=[["\t".join(cell.strip() for cell in row) if "DESCRIBE" in statement else "\t".join(row)] for row in nilas.run(statement)])
    nilas.run(f"CREATE OR REPLACE VIEW {name}.db.by_spark AS SELECT count(*) AS n FROM {name}.db.t")
    same("nilas replaces Spark's view", [["3"]], spark=spark.run(f"SELECT * FROM {name}.db.by_spark"))
    spark.run(f"CREATE OR REPLACE VIEW {name}.db.by_nilas AS SELECT max(id) AS m FROM {name}.db.t")
    same("Spark replaces nilas's view", [["4"]], nilas=nilas.run(f"SELECT * FROM {name}.db.by_nilas"))
    spark.run(f"ALTER VIEW {name}.db.by_nilas RENAME TO {name}.db.other")
    same("views", spark.run(f"SHOW VIEWS IN {name}.db"), nilas=[["db", row[0], "false"] if len(row) == 1 else row for row in nilas.run(f"SHOW VIEWS IN {name}.db")])
    nilas.run(f"DROP VIEW {name}.db.other;\nDROP VIEW {name}.db.by_spark")


def purge(name, nilas, spark, warehouse):
    nilas.run(f"CREATE TABLE {name}.db.kept USING iceberg AS SELECT 1 AS a;\nDROP TABLE {name}.db.kept;\n"
              f"CREATE TABLE {name}.db.gone USING iceberg AS SELECT 1 AS a;\nINSERT INTO {name}.db.gone VALUES (2);\nDELETE FROM {name}.db.gone WHERE a = 1;\nDROP TABLE {name}.db.gone PURGE")
    files = {table: [file for _, _, found in os.walk(f"{warehouse}/db/{table}") for file in found] for table in ("kept", "gone")}
    same("a plain drop keeps the files, purging removes them", [[True, False]], files=[[bool(files["kept"]), bool(files["gone"])]])
    metadata = max(file for file in files["kept"] if file.endswith(".metadata.json"))
    nilas.run(f"CALL {name}.system.register_table(table => 'db.kept', metadata_file => '{warehouse}/db/kept/metadata/{metadata}')")
    same("registered", [["1"]], spark=spark.run(f"SELECT * FROM {name}.db.kept"))
    nilas.run(f"DROP TABLE {name}.db.kept PURGE")


def race(name, nilas, writer_count=8, commit_count=50, keeps_snapshots=True):
    """Every acknowledged row is there once."""
    nilas.run(f"CREATE TABLE {name}.db.race (writer int, number int) USING iceberg TBLPROPERTIES ('commit.retry.num-retries' = '100', "
              "'commit.retry.min-wait-ms' = '5', 'commit.retry.max-wait-ms' = '200')")
    done = {}

    def write(writer):
        text = ";\n".join(f"INSERT INTO {name}.db.race VALUES ({writer}, {number});\nSELECT 'ack'" for number in range(commit_count))
        done[writer] = subprocess.run(nilas.command("-e", text), capture_output=True, text=True, env=nilas.environment, check=False)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writer_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in done.values():
        if result.returncode != 0:
            raise AssertionError(result.stderr)
    rows = nilas.run(f"SELECT writer, number FROM {name}.db.race")
    same(f"{writer_count} x {commit_count} commits", [[str(writer), str(number)] for writer in range(writer_count) for number in range(commit_count)], nilas=rows)
    if not keeps_snapshots:
        return
    same("one snapshot for each", [[str(writer_count * commit_count)]], nilas=nilas.run(f"SELECT count(*) FROM {name}.db.race.snapshots"))


def check(name, program, uri, python_uri, warehouse, **more):
    settings = confs(name, uri, warehouse, **more)
    nilas, spark = Nilas(program, settings), Spark(settings)
    python = SqlCatalog(name, uri=python_uri, warehouse=warehouse)
    by_turns(name, nilas, spark, python)
    namespaces(name, nilas, spark)
    views(name, nilas, spark)
    purge(name, nilas, spark, warehouse)
    race(name, nilas)
    same("Spark reads what the race wrote", [["400"]], spark=spark.run(f"SELECT count(*) FROM {name}.db.race"))


def on_sqlite(program, database, warehouse):
    """Spark's driver keeps a read lock once it has read, which stops all others: it comes last."""
    settings = confs("lite", f"jdbc:sqlite:{database}", warehouse, **{"jdbc.schema-version": "V1"})
    nilas, python = Nilas(program, settings), SqlCatalog("lite", uri=f"sqlite:///{database}", warehouse=warehouse)
    query = "SELECT id, name FROM lite.db.t"
    nilas.run("CREATE NAMESPACE lite.db;\nCREATE TABLE lite.db.t (id bigint, name string) USING iceberg;\nINSERT INTO lite.db.t VALUES (1, 'nilas')")
    python.load_table("db.t").append(pyarrow.table({"id": pyarrow.array([2], pyarrow.int64()), "name": ["python"]}))
    same("SQLite: PyIceberg appends", [["1", "nilas"], ["2", "python"]], nilas=nilas.run(query), python=rows_of(python.load_table("db.t")))
    race("lite", nilas)
    nilas.run("CREATE VIEW lite.db.v AS SELECT name FROM lite.db.t WHERE id = 2")
    spark = Spark(settings)
    spark.run("INSERT INTO lite.db.t VALUES (3, 'spark')")
    expected = [["1", "nilas"], ["2", "python"], ["3", "spark"]]
    same("SQLite: Spark appends", expected, nilas=nilas.run(query), spark=spark.run(query))
    same("SQLite: Spark reads the view", [["python"]], spark=spark.run("SELECT * FROM lite.db.v"))
    same("SQLite: Spark counts the race", [["400"]], spark=spark.run("SELECT count(*) FROM lite.db.race"))


def version_0(program, database, warehouse):
    """An old database, made by Spark without jdbc.schema-version: no views, and no column of types is added."""
    settings = confs("old", f"jdbc:sqlite:{database}", warehouse)
    nilas, spark = Nilas(program, settings), Spark(settings)
    spark.run("CREATE NAMESPACE old.db;\nCREATE TABLE old.db.t (id int) USING iceberg;\nINSERT INTO old.db.t VALUES (1)")
    nilas.run("INSERT INTO old.db.t VALUES (2)")
    same("schema V0", [["1"], ["2"]], spark=spark.run("SELECT id FROM old.db.t"), nilas=nilas.run("SELECT id FROM old.db.t"))
    same("no views in V0", [[True]], nilas=[["jdbc.schema-version=V1" in nilas.fails("CREATE VIEW old.db.v AS SELECT 1 AS a")]])
    upgraded = Nilas(program, confs("old", f"jdbc:sqlite:{database}", warehouse, **{"jdbc.schema-version": "V1"}))
    upgraded.run("CREATE VIEW old.db.v AS SELECT id + 1 AS a FROM old.db.t")
    same("V0 becomes V1", [["2"], ["3"]], nilas=nilas.run("SELECT a FROM old.db.v"))


def serializable(name, nilas, postgres):
    """Where every transaction is serializable, PostgreSQL rolls writers back that met: they try again, and nobody sees it."""
    postgres.sql("ALTER DATABASE iceberg_db SET default_transaction_isolation = 'serializable'")
    before = int(postgres.sql("SELECT xact_rollback FROM pg_stat_database WHERE datname = 'iceberg_db'")[0])
    nilas.run(f"DROP TABLE {name}.db.race")
    race(name, nilas, writer_count=6, commit_count=15)
    time.sleep(1) # statistics come late
    after = int(postgres.sql("SELECT xact_rollback FROM pg_stat_database WHERE datname = 'iceberg_db'")[0])
    same("there were such rollbacks", [[True]], nilas=[[after > before]])
    postgres.sql("ALTER DATABASE iceberg_db RESET default_transaction_isolation")


def silent_database(program, postgres, warehouse, settings):
    """A database behind a network that falls silent: an error in time that names it, and a commit that was done is found."""
    plan = Plan()
    proxy = Proxy(postgres.port, plan, is_http=False)
    name = "slow"
    nilas = Nilas(program, confs(name, f"jdbc:postgresql://127.0.0.1:{proxy.port}/iceberg_db", warehouse, clients="1", **settings, **{"jdbc.socketTimeout": "2"}))
    direct = Nilas(program, confs(name, f"jdbc:postgresql://127.0.0.1:{postgres.port}/iceberg_db", warehouse, **settings))
    direct.run(f"CREATE NAMESPACE {name}.db;\nCREATE TABLE {name}.db.t (a int) USING iceberg TBLPROPERTIES ('commit.status-check.min-wait-ms' = '10')")
    expected = []
    plan.disarm()
    nilas.run(f"INSERT INTO {name}.db.t VALUES (0)")
    expected.append(["0"])
    update = next(i for i, what in enumerate(plan.seen) if "UPDATE iceberg_tables" in what) + 1
    for number, fault in enumerate(("lost", "silent", "refuse"), 1): # the answer to the UPDATE, or all of it, is lost
        plan.arm(update, fault)
        nilas.run(f"INSERT INTO {name}.db.t VALUES ({number})")
        same(f"the fault came: {fault}", [[True]], nilas=[[plan.has_struck]])
        expected.append([str(number)])
        same(f"once, whatever became of the answer: {fault}", expected, nilas=direct.run(f"SELECT a FROM {name}.db.t"))
    plan.arm(1, "silent")
    start = time.monotonic()
    done = subprocess.run(nilas.command("-e", f"SHOW TABLES IN {name}.db"), capture_output=True, text=True, check=False, timeout=60)
    same("a connection that does not come about is given up or tried anew", [[True, True]],
         nilas=[[time.monotonic() - start < 40, done.returncode == 0 or f"127.0.0.1:{proxy.port}" in done.stderr]])
    proxy.stop()
    start = time.monotonic()
    error = nilas.fails(f"SHOW TABLES IN {name}.db")
    same("nobody there", [[True, True]], nilas=[[f"127.0.0.1:{proxy.port}" in error, time.monotonic() - start < 10]])


def main():
    program = sys.argv[1]
    folder = tempfile.mkdtemp(prefix="nilas-jdbc-")
    postgres = Postgres()
    try:
        postgres.sql("CREATE DATABASE iceberg_db")
        more = {"jdbc.user": "postgres", "jdbc.password": "postgres", "jdbc.schema-version": "V1"}
        check("pg", program, f"jdbc:postgresql://127.0.0.1:{postgres.port}/iceberg_db",
              f"postgresql+psycopg2://postgres:postgres@127.0.0.1:{postgres.port}/iceberg_db", f"{folder}/pg", **more)
        wrong = Nilas(program, confs("pg", f"jdbc:postgresql://127.0.0.1:{postgres.port}/iceberg_db", folder, **{"jdbc.user": "postgres", "jdbc.password": "secret-word"}))
        error = wrong.fails("SHOW TABLES IN pg.db")
        settings = {"jdbc.user": "postgres", "jdbc.password": "postgres"}
        serializable("pg", Nilas(program, confs("pg", f"jdbc:postgresql://127.0.0.1:{postgres.port}/iceberg_db", f"{folder}/pg", **settings)), postgres)
        silent_database(program, postgres, f"{folder}/slow", settings)
        same("a wrong password is refused and not shown", [[True, False]], nilas=[["password authentication failed" in error, "secret-word" in error]])
        on_sqlite(program, f"{folder}/lite.db", f"{folder}/lite")
        version_0(program, f"{folder}/old.db", f"{folder}/old")
    finally:
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)
    passed("jdbc")


if __name__ == "__main__":
    main()
