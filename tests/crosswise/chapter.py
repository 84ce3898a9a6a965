"""The steps of the chapter by nilas, by Spark, and by both in turn; after each step every engine reads the same rows.

    python3 tests/crosswise/chapter.py path/to/nilas [--full]

After each step nilas, Spark, PyIceberg and DuckDB read the table, and nilas and Spark read its metadata tables: all of
them after the last step of each run, some after the others. With --full it is all of them after each, and more runs.
Then the tables of formats.py, whose files are not Parquet.
"""
import argparse
import sys
import tempfile

import formats
import peers

STEPS = [
    ("create", """
        CREATE TABLE {t} (order_id bigint, customer string, total decimal(10, 2), placed_at timestamp)
        USING iceberg PARTITIONED BY (days(placed_at)) {properties}"""),
    ("insert", """
        INSERT INTO {t}
        SELECT id, concat('customer-', id % 50), CAST((id % 97) * 1.25 AS decimal(10, 2)),
            timestamp'2026-10-01 00:00:00' + make_interval(0, 0, 0, CAST(id DIV 1000 AS int), 0, 0, CAST(id % 1000 * 60 AS int))
        FROM range(7000)"""),
    ("merge", """
        MERGE INTO {t} AS o
        USING (SELECT id AS order_id, concat('customer-', id % 50) AS customer, CAST(id % 97 * 1.25 + 5 AS decimal(10, 2)) AS total,
            timestamp'2026-10-07 12:00:00' AS placed_at FROM range(6900, 7050)) AS u
        ON o.order_id = u.order_id
        WHEN MATCHED THEN UPDATE SET o.total = u.total
        WHEN NOT MATCHED THEN INSERT *"""),
    ("delete", "DELETE FROM {t} WHERE placed_at < timestamp'2026-10-02 00:00:00'"),
    ("update", "UPDATE {t} SET customer = concat(customer, '!') WHERE order_id % 1000 = 7"),
    ("delete rows", "DELETE FROM {t} WHERE order_id % 100 = 13 AND placed_at < timestamp'2026-10-04 00:00:00'"),
    ("add column", "ALTER TABLE {t} ADD COLUMN channel string"),
    ("insert more", "INSERT INTO {t} VALUES (9001, 'customer-1', 20.00, timestamp'2026-10-07 18:00:00', 'web')"),
    ("add field", "ALTER TABLE {t} ADD PARTITION FIELD bucket(3, order_id)"),
    ("insert into both", "INSERT INTO {t} SELECT 9100 + id, 'late', id, timestamp'2026-10-08 00:00:00', 'shop' FROM range(0, 20, 1, 1)"),
    ("tag", "ALTER TABLE {t} CREATE TAG before RETAIN 7 DAYS"),
    ("compact", "CALL lake.system.rewrite_data_files(table => '{short}', options => map('min-input-files', '2'))"),
    ("manifests", "CALL lake.system.rewrite_manifests('{short}')"),
    ("drop tag", "ALTER TABLE {t} DROP TAG before"),
    ("expire", "CALL lake.system.expire_snapshots(table => '{short}', older_than => current_timestamp(), retain_last => 1)"),
]
QUICK_TABLES = "snapshots files partitions manifests entries".split()
MERGE_ON_READ = """TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')"""


class Run:
    """One table, whose steps are done by the engines of `turn`, one after the other."""

    def __init__(self, score, duck, nilas, spark, name, turn, properties, is_full):
        self.score, self.duck, self.nilas, self.spark = score, duck, nilas, spark
        self.name, self.turn, self.is_full = name, turn, is_full
        self.short = f"sales.{name.replace(' ', '_')}"
        self.table = f"lake.{self.short}"
        self.properties = properties

    def steps(self):
        for number, (step, sql) in enumerate(STEPS):
            engine = self.turn[number % len(self.turn)]
            label = f"{self.name}: {step} by {engine.name}"
            try:
                engine.run(sql.format(t=self.table, short=self.short, properties=self.properties))
            except peers.SqlError as error:
                self.score.fail(label, error)
                return
            is_last = number == len(STEPS) - 1
            self.compare_rows(label)
            self.compare_metadata(label, peers.TABLES if is_last or self.is_full else QUICK_TABLES)

    def compare_rows(self, label):
        query = f"SELECT * FROM {self.table}"
        rows = peers.as_values(self.spark.rows(query))
        readers = [("PyIceberg", lambda: peers.pyiceberg_rows(self.spark.warehouse, self.short)),
                   ("DuckDB", lambda: self.duck.rows(self.spark.warehouse, self.short))]
        if rows or ": create" not in label:  # DuckDB cannot scan a table that never had a snapshot
            for name, read in readers:
                try:
                    self.score.check(f"{label}, rows", "Spark", rows, name, peers.as_values(read()))
                except Exception as error:
                    self.score.fail(f"{label}, rows by {name}", error)
        self.compare(f"{label}, rows", query)

    def compare(self, label, query):
        try:
            self.score.check(label, "nilas", sorted(self.nilas.run(query)), "Spark", sorted(self.spark.run(query)))
        except peers.SqlError as error:
            self.score.fail(label, error)

    def compare_metadata(self, label, tables):
        queries = [f"SELECT * FROM {self.table}.{table}" for table in tables]
        try:
            for table, mine, theirs in zip(tables, self.nilas.run_each(queries), self.spark.run_each(queries)):
                self.score.check(f"{label}, {table}", "nilas", sorted(mine), "Spark", sorted(theirs))
        except peers.SqlError as error:
            self.score.fail(label, error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nilas")
    parser.add_argument("--full", action="store_true", help="every engine and order of turns in both modes, every metadata table after each step")
    arguments = parser.parse_args()
    score = peers.Score()
    with tempfile.TemporaryDirectory() as warehouse:
        nilas, spark, duck = peers.Nilas(arguments.nilas, warehouse), peers.Spark(warehouse), peers.Duck()
        nilas.run("CREATE NAMESPACE lake.sales")
        runs = [("nilas", [nilas], ""), ("in turn mor", [spark, nilas], MERGE_ON_READ)]
        if arguments.full:
            runs += [("spark", [spark], ""), ("in turn", [nilas, spark], ""), ("nilas mor", [nilas], MERGE_ON_READ), ("spark mor", [spark], MERGE_ON_READ), ("other turn", [spark, nilas], ""),
                     ("other turn mor", [nilas, spark], MERGE_ON_READ)]
        for name, turn, properties in runs:
            Run(score, duck, nilas, spark, name, turn, properties, arguments.full).steps()
        formats.run(score, nilas, spark, arguments.full)
    return score.finish("the chapter crosswise")


if __name__ == "__main__":
    sys.exit(main())
