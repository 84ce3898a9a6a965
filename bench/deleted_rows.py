"""The same tables less 5 % of their rows, deleted in three ways, and what needs real Spark for that. For suite.py.

Namespaces position (DELETE, format 2), vector (DELETE with deletion vectors, format 3) and equality (a file of keys for
each table, committed through Iceberg's Java library: SPARK_PYTHON and ICEBERG_JAR name it) hold the same rows.
"""
import glob
import json
import os
import pathlib
import subprocess

NAMESPACES = {"position": 2, "vector": 3, "equality": 2}


def gone(keys):
    """The rows that are deleted, in words that every engine understands; keys: a table's primary key."""
    return "(" + " + ".join(f"{key} * {factor}" for key, factor in zip(keys, (1, 7, 3))) + ") % 20 = 13"


def make(nilas_sql, database, folder, plain, all_keys, namespace):
    """nilas_sql(sql) runs statements; database: DuckDB's; plain: the namespace copied; all_keys: table to its primary key."""
    done = folder / f"complete-{namespace}"
    if done.exists():
        return
    nilas_sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    for table, keys in all_keys.items():
        nilas_sql(f"DROP TABLE IF EXISTS {namespace}.{table} PURGE; CREATE TABLE {namespace}.{table} USING iceberg TBLPROPERTIES "
                  f"('format-version' = '{NAMESPACES[namespace]}', 'write.delete.mode' = 'merge-on-read') AS SELECT * FROM {plain}.{table}")
        if namespace != "equality":
            nilas_sql(f"DELETE FROM {namespace}.{table} WHERE {gone(keys)}")
    if namespace == "equality":
        add_equality_deletes(database, folder, all_keys)
    done.touch()


def add_equality_deletes(database, folder, all_keys):
    files = {}
    for table, keys in all_keys.items():
        source = f"read_parquet('{folder}/parquet/{table}.parquet')"
        places = [c[0] for c in database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
        ids = ", ".join(f"{key}: {places.index(key) + 1}" for key in keys)  # as CREATE TABLE AS SELECT numbers them
        path = f"{folder}/warehouse/equality/{table}/data/gone.parquet"
        rows = database.execute(f"COPY (SELECT {', '.join(keys)} FROM {source} WHERE {gone(keys)}) "
                                f"TO '{path}' (FORMAT parquet, FIELD_IDS {{{ids}}})").fetchone()[0]
        if rows:
            files[table] = {"path": path, "rows": rows, "columns": keys}
    spark_side(folder, files, "deletes", "equality")


def spark_side(folder, given, *arguments):
    """Runs spark_side.py on FOLDER/warehouse with `given` as JSON on its input."""
    python = os.environ.get("SPARK_PYTHON", os.path.expanduser("~/.cache/spark-oracle/venv/bin/python"))
    jars = [os.environ["ICEBERG_JAR"]] if "ICEBERG_JAR" in os.environ else glob.glob(
        os.path.expanduser("~/.m2/repository/org/apache/iceberg/iceberg-spark-runtime-4.0_2.13/1.10.0/*.jar"))
    if not os.path.exists(python) or not jars:
        raise SystemExit("SPARK_PYTHON and ICEBERG_JAR do not name Spark and Iceberg")
    subprocess.run([python, str(pathlib.Path(__file__).parent / "spark_side.py"), jars[0], f"{folder}/warehouse", *map(str, arguments)],
                   input=json.dumps(given), text=True, check=True)
