#!/usr/bin/env python3
"""project_test.py NILAS PYTHON - a project of dbt-spark's session method by `nilas submit`, as on real Spark.

    project_test.py NILAS PYTHON                        runs the project and compares with expected.txt
    project_test.py NILAS PYTHON --record sc://…        real Spark on a REST catalog of `nilas up` writes expected.txt

PYTHON has dbt-spark and pyspark with its Connect client. The catalog has views, which a hadoop catalog has not."""
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "expected.txt")
NILAS, PYTHON = (os.path.abspath(path) for path in sys.argv[1:3])


def environment(folder, confs):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON", "VIRTUAL_ENV", "DBT_"))}
    return {**kept, "TZ": "UTC", "PYSPARK_PYTHON": PYTHON, "DBT_PROJECT_DIR": os.path.join(folder, "project"),
            "DBT_PROFILES_DIR": os.path.join(folder, "project"), "DBT_TARGET_PATH": os.path.join(folder, "target"), "DBT_LOG_PATH": os.path.join(folder, "logs"),
            "DBT_SCHEMA": "shop", "DBT_CONFS": json.dumps(confs), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}


def by_nilas(folder):
    confs = {"spark.sql.session.timeZone": "UTC"}
    catalog = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".uri": f"jdbc:sqlite:{folder}/catalog.db", ".jdbc.schema-version": "V1",
               ".warehouse": f"{folder}/warehouse"}
    arguments = [f"--conf=spark.sql.catalog.lakehouse{key}={value}" for key, value in catalog.items()]
    command = [NILAS, "submit", "--conf=spark.sql.defaultCatalog=lakehouse", *arguments, os.path.join(HERE, "driver.py")]
    return subprocess.run(command, env=environment(folder, confs), cwd=folder, capture_output=True, text=True, timeout=900)


def by_spark(folder, remote):
    up = [NILAS, "up", "rest", "--detach", "--data", os.path.join(folder, "data"), "--no-configure", "--no-maintenance", "--port", "rest=18181", "--port", "s3=19000",
          "--warehouse", f"plain=file:{folder}/warehouse"]
    subprocess.run(up, check=True)
    confs = {"spark.sql.session.timeZone": "UTC", "spark.sql.catalog.dbtrest": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.dbtrest.type": "rest",
             "spark.sql.catalog.dbtrest.uri": "http://127.0.0.1:18181", "spark.sql.catalog.dbtrest.warehouse": "plain", "spark.sql.catalog.dbtrest.default-namespace": "default", "spark.sql.defaultCatalog": "dbtrest",
             "spark.sql.connect.serverStacktrace.enabled": "false", "spark.sql.pyspark.jvmStacktrace.enabled": "false"}
    try:
        return subprocess.run([PYTHON, os.path.join(HERE, "driver.py")], env={**environment(folder, confs), "SPARK_REMOTE": remote}, cwd=folder, capture_output=True,
                              text=True, timeout=1800)
    finally:
        subprocess.run([NILAS, "down", "--data", os.path.join(folder, "data")], check=False)


def main():
    folder = tempfile.mkdtemp(prefix="nilas-dbt-")
    shutil.copytree(os.path.join(HERE, "project"), os.path.join(folder, "project"))
    try:
        is_record = "--record" in sys.argv
        run = by_spark(folder, sys.argv[sys.argv.index("--record") + 1]) if is_record else by_nilas(folder)
    finally:
        if "--keep" not in sys.argv:
            shutil.rmtree(folder, ignore_errors=True)
    if run.returncode != 0:
        print(run.stdout, run.stderr, sep="\n")
        return 1
    if is_record:
        with open(EXPECTED, "w", encoding="utf-8") as file:
            file.write(run.stdout)
        return 0
    with open(EXPECTED, encoding="utf-8") as file:
        expected = file.read()
    difference = list(difflib.unified_diff(expected.splitlines(), run.stdout.splitlines(), "Spark", "nilas", n=1, lineterm=""))
    print("\n".join(difference) if difference else f"dbt: {run.stdout.count('====')} commands, as on Spark")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
