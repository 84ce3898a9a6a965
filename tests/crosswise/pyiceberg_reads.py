"""PyIceberg reads the tables that nilas writes: the same rows, by every kind of statement.

    python3 tests/crosswise/pyiceberg_reads.py path/to/nilas
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

from pyiceberg.table import StaticTable

nilas = os.path.abspath(sys.argv[1])
passed = failed = 0


def run(sql, folder):
    result = subprocess.run(
        [nilas, "sql", "-S", "--conf", "spark.sql.session.timeZone=UTC", "-e", sql],
        cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{sql}\n{result.stderr}")
    return result.stdout


def current_metadata(folder, table):
    files = glob.glob(f"{folder}/warehouse/{table}/metadata/v*.metadata.json")
    return max(files, key=lambda name: int(re.search(r"/v(\d+)\.", name).group(1)))


def check(name, folder, table, query):
    """Rows as both see them: nilas prints a checksum of SQL, PyIceberg gives Arrow."""
    global passed, failed
    arrow = StaticTable.from_metadata(current_metadata(folder, table)).scan().to_arrow()
    mine = run(query.format(table=table.replace("/", ".")), folder).strip()
    theirs = "\t".join(str(value) for value in (
        arrow.num_rows,
        sum(value for value in arrow["id"].to_pylist() if value is not None),
        sum(len(value) for value in arrow["s"].to_pylist() if value is not None),
        sum(1 for value in arrow["d"].to_pylist() if value is None)))
    if mine == theirs:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: nilas {mine!r}, PyIceberg {theirs!r}")


QUERY = ("SELECT count(*), coalesce(sum(id), 0), coalesce(sum(length(s)), 0), count(*) - count(d) FROM {table}")
STEPS = [
    ("append", "INSERT INTO {t} SELECT id, concat('row ', id), IF(id % 7 = 0, NULL, CAST(id AS DECIMAL(12, 3))), "
               "timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id % 5 AS int), 0, 0, 0) FROM range(1000)"),
    ("update", "UPDATE {t} SET s = concat(s, '!') WHERE id % 10 = 3"),
    ("delete", "DELETE FROM {t} WHERE id % 11 = 5"),
    ("merge", "MERGE INTO {t} AS t USING (SELECT id, 'merged' AS s FROM range(990, 1010)) AS u ON t.id = u.id "
              "WHEN MATCHED THEN UPDATE SET t.s = u.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, u.s)"),
    ("overwrite", "INSERT OVERWRITE {t} SELECT id, 'new', NULL, NULL FROM range(10)"),
]
PARTITIONS = ["", "PARTITIONED BY (days(ts))", "PARTITIONED BY (bucket(4, id))", "PARTITIONED BY (truncate(5, s))"]
MODES = ["copy-on-write", "merge-on-read"]

for number, (partition, mode) in enumerate((p, m) for p in PARTITIONS for m in MODES):
    with tempfile.TemporaryDirectory() as folder:
        table = f"db.t{number}"
        run(f"CREATE NAMESPACE db; CREATE TABLE {table} (id bigint, s string, d decimal(12, 3), ts timestamp) USING iceberg {partition} "
            f"TBLPROPERTIES ('write.delete.mode'='{mode}', 'write.update.mode'='{mode}', 'write.merge.mode'='{mode}')", folder)
        for step, sql in STEPS:
            run(sql.format(t=table), folder)
            check(f"{partition or 'unpartitioned'}, {mode}, {step}", folder, table.replace(".", "/"), QUERY)

print(f"crosswise: {passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
