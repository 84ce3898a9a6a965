"""Records tests/sql/**/*.test from tests/sql/**/*.sql with real Spark as the judge.

    python3 tests/record_sql.py [--remote sc://127.0.0.1:15099] FILE.sql ...

Each statement (`;` at a line's end) becomes a record: a query with the rows Spark shows, a statement that succeeds, or
the condition of the error that Spark raises. Catalog `lake` of the server must be an empty hadoop catalog or hold
nothing that the files create.
"""
import argparse
import pathlib
import re

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def statements(text):
    pending = []
    for line in text.splitlines():
        if line.strip().startswith("--") and not pending:
            yield line.strip(), True
            continue
        if line.strip():
            pending.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(pending).rstrip().rstrip(";"), False
            pending = []


def box(frame):
    """The lines of show(truncate=False) without rules and padding."""
    text = frame._show_string(1000000, False, False)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rule = next(line for line in text.splitlines() if line.startswith("+"))
    widths = [len(part) for part in rule.strip("+").split("+")]
    out = []
    for line in lines:
        cells, at = [], 1
        for width in widths:
            cells.append(line[at:at + width].rstrip(" "))
            at += width + 1
        out.append("|" + "|".join(cells) + "|")
    return "\n".join(out)


def record(spark, path):
    out = [f"# Recorded from Spark 4.0.1 with Iceberg 1.10.0 by tests/record_sql.py; source: {path.name}\n"]
    for sql, is_comment in statements(path.read_text(encoding="utf-8")):
        if is_comment:
            out.append("# " + sql.lstrip("- ") + "\n")
            continue
        try:
            frame = spark.sql(sql)
            if frame.columns:
                ordered = re.search(r"order\s+by[^)]*$", sql, re.I | re.S) is not None
                out.append(f"query{'' if ordered else ' rowsort'}\n{sql}\n----\n{box(frame)}\n")
            else:
                out.append(f"statement ok\n{sql}\n")
        except PySparkException as error:
            condition = error.getCondition() or "-"
            out.append(f"error {condition}\n{sql}\n")
    path.with_suffix(".test").write_text("\n".join(out), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--remote", default="sc://127.0.0.1:15099")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    session = SparkSession.builder.remote(arguments.remote).getOrCreate()
    for file in arguments.files:
        record(session, file)
        print("recorded", file.with_suffix(".test"))
