"""The article on Iceberg with MinIO and PostgreSQL as `nilas sql` statements: a PostgreSQL of our own, the S3 of `nilas up`, a
CSV of 527 rows partitioned into 527 files. Then Spark reads and appends, and nilas reads that.

    python3 tests/catalogs/article_test.py NILAS
"""
import datetime
import os
import shutil
import subprocess
import sys
import tempfile

from engines import Nilas, Spark, passed, same
from postgres import Postgres, free_port

COLUMNS = ["location", "date", "vaccine", "source_url", "total_vaccinations", "people_vaccinated", "people_fully_vaccinated", "total_boosters"]
FIRST = [["Belgium", "2020-12-28", "Pfizer/BioNTech", "https://epistat.wiv-isp.be/covid/", "340", "340", "0", "0"],
         ["Belgium", "2020-12-29", "Pfizer/BioNTech", "https://epistat.wiv-isp.be/covid/", "380", "379", "11", "0"],
         ["Belgium", "2020-12-30", "Pfizer/BioNTech", "https://epistat.wiv-isp.be/covid/", "911", "909", "21", "0"]]


def write_csv(path):
    rows = list(FIRST)
    day = datetime.date(2020, 12, 30)
    for number in range(1, 525):
        day += datetime.timedelta(days=1)
        rows.append(["Belgium", day.isoformat(), "Moderna, Pfizer/BioNTech", "https://epistat.wiv-isp.be/covid/", str(911 + 1000 * number), str(909 + 900 * number), str(21 + 800 * number), str(number)])
    with open(path, "w", encoding="utf-8") as out:
        for row in [COLUMNS] + rows:
            out.write(",".join(f'"{cell}"' if "," in cell else cell for cell in row) + "\n")
    return rows


class ObjectStore:
    """The S3 of `nilas up` on a free port, with any keys and any region, as the article has them. Its bucket `warehouse` is there."""

    def __init__(self, program, folder):
        self.port = free_port()
        self.environment = {**os.environ, "HOME": folder, "NILAS_DATA": f"{folder}/data"}
        self.process = subprocess.Popen([program, "up", "s3", "--port", f"s3={self.port}", "--no-configure"], env=self.environment, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "Ctrl-C stops it" in line:
                return
        raise RuntimeError("nilas up ended")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def main():
    program = os.path.realpath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix="nilas-article-")
    keys = {"AWS_ACCESS_KEY_ID": "minioadmin", "AWS_SECRET_ACCESS_KEY": "minioadmin", "AWS_REGION": "eu-west-1"}
    os.environ.update(keys)
    postgres, store = Postgres(), ObjectStore(program, folder)
    try:
        postgres.sql("CREATE DATABASE iceberg_db")
        name = "spark.sql.catalog.my_iceberg_catalog"
        settings = {name: "org.apache.iceberg.spark.SparkCatalog", f"{name}.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
                    f"{name}.uri": f"jdbc:postgresql://127.0.0.1:{postgres.port}/iceberg_db", f"{name}.jdbc.user": "postgres", f"{name}.jdbc.password": "postgres",
                    f"{name}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO", f"{name}.s3.endpoint": f"http://127.0.0.1:{store.port}", f"{name}.s3.path-style-access": "true",
                    f"{name}.warehouse": "s3://warehouse"}
        nilas = Nilas(program, settings, keys)
        rows = write_csv(f"{folder}/Belgium.csv")
        table = "my_iceberg_catalog.db.vaccinations"
        nilas.run(f"""CREATE TABLE IF NOT EXISTS {table} (location string, date date, vaccine string, source_url string, total_vaccinations bigint,
                      people_vaccinated bigint, people_fully_vaccinated bigint, total_boosters bigint) USING iceberg PARTITIONED BY (location, date);
                      CREATE TEMPORARY VIEW belgium USING csv OPTIONS (path '{folder}/Belgium.csv', header 'true', inferSchema 'true');
                      INSERT INTO {table} SELECT location, to_date(date), vaccine, source_url, total_vaccinations, people_vaccinated, people_fully_vaccinated, total_boosters FROM belgium""")
        same("527 data files", [["527", "527"]], nilas=nilas.run(f"SELECT count(*), sum(record_count) FROM {table}.files"))
        query = f"SELECT * FROM {table} ORDER BY date LIMIT 3"
        same("the first three", FIRST, nilas=nilas.run(query))
        same("the row in PostgreSQL", [["my_iceberg_catalog|db|vaccinations"]],
             postgres=[[line] for line in postgres.sql("SELECT catalog_name, table_namespace, table_name FROM iceberg_tables", "iceberg_db")])
        spark = Spark({**settings, f"{name}.cache-enabled": "false"})
        same("Spark reads it", FIRST, spark=spark.run(query))
        same("every row", rows, spark=spark.run(f"SELECT * FROM {table}"), nilas=nilas.run(f"SELECT * FROM {table}"))
        spark.run(f"INSERT INTO {table} VALUES ('Spain', DATE'2021-01-01', 'Moderna', 'x', 1, 1, 0, 0)")
        same("Spark appends", [["528"]], nilas=nilas.run(f"SELECT count(*) FROM {table}"), spark=spark.run(f"SELECT count(*) FROM {table}"))
    finally:
        store.stop()
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)
    passed("article")


main()
