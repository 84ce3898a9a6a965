#!/usr/bin/env python3
"""`nilas health TABLE`: the facts are those of the metadata tables, and what it says to run is run until nothing is left.

    tests/shell/health_test.py NILAS
"""
import os
import re
import subprocess
import sys
import tempfile

NILAS = os.path.realpath(sys.argv[1])
failures = 0


def nilas(*arguments):
    return subprocess.run([NILAS, *arguments], capture_output=True, text=True, timeout=300)


def sql(text):
    done = nilas("sql", "-S", "-e", text)
    if done.returncode:
        raise RuntimeError(f"{text}: {done.stderr}")
    return done.stdout.strip()


def equal(actual, expected, what):
    global failures
    if actual != expected:
        failures += 1
        print(f"{what}\n    is        {actual!r}\n    should be {expected!r}")


def health(table, *options):
    done = nilas("health", table, *options)
    equal(done.returncode, 0, done.stderr)
    text = done.stdout
    advice = re.findall(r"^  ((?:CALL|ALTER) .*)$", text, re.M)
    return text, advice


def first_number(text, word):
    return int(re.search(rf"^{word} +(\d+)", text, re.M).group(1))


def run(version):
    table = f"local.sales.orders{version}"
    sql(f"CREATE NAMESPACE IF NOT EXISTS local.sales; CREATE TABLE {table} (id BIGINT, d DATE) USING iceberg PARTITIONED BY (d) TBLPROPERTIES ('format-version'='{version}', "
        "'write.delete.mode'='merge-on-read', 'history.expire.max-snapshot-age-ms'='1')")
    text, advice = health(table)
    equal((first_number(text, "Data files"), advice), (0, []), "an empty table needs nothing")
    sql("".join(f"INSERT INTO {table} SELECT id, DATE '2026-01-01' + INTERVAL {i % 2} DAY FROM range({i * 100}, {i * 100 + 100});" for i in range(18)))
    sql(f"DELETE FROM {table} WHERE id % 4 = 0")
    text, advice = health(table)
    equal(first_number(text, "Data files"), int(sql(f"SELECT count(*) FROM {table}.data_files")), "data files")
    equal(first_number(text, "Deletes"), int(sql(f"SELECT sum(record_count) FROM {table}.delete_files")), "deletes")
    equal(first_number(text, "Manifests"), int(sql(f"SELECT count(*) FROM {table}.manifests WHERE content = 0")), "manifests")
    equal(first_number(text, "Snapshots"), int(sql(f"SELECT count(*) FROM {table}.snapshots")), "snapshots")
    equal("in 2 partitions" in text, True, text)
    equal(any("rewrite_data_files" in line for line in advice) and any("expire_snapshots" in line for line in advice), True, advice)
    rows = sql(f"SELECT count(*), sum(id) FROM {table}")
    for _ in range(8):
        text, advice = health(table)
        if not advice:
            break
        sql(advice[0])
    equal(advice, [], f"what is advised helps\n{text}")
    equal(sql(f"SELECT count(*), sum(id) FROM {table}"), rows, "rows stay")
    equal(first_number(text, "Deletes"), 0, "the deletes are gone")


os.chdir(tempfile.mkdtemp(prefix="nilas-health-"))
for format_version in (2, 3):
    run(format_version)
options = ("--conf", "spark.sql.shuffle.partitions=2")
for place in (("local.sales.orders2", *options), (*options, "local.sales.orders2")):
    equal(nilas("health", *place).stdout.startswith("local.sales.orders2\n"), True, f"the table before or behind the options: {place}")
equal(nilas("health", *options).returncode, 2, "options, and no table")
equal(nilas("health").returncode, 2, "without a table")
equal(nilas("health", "local.sales.none").returncode, 1, "a table that is not there")
equal("Usage: nilas health" in nilas("health", "--help").stdout, True, "help")
print(f"health: {failures} failures")
sys.exit(1 if failures else 0)
