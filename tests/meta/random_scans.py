#!/usr/bin/env python3
"""The same random queries over the same rows in tables of different layout must give the same answers.

    tests/meta/random_scans.py NILAS [--seed N] [--count N]

What pruning of files, row groups and pages, delete files, dictionaries, schema evolution and the optimizer must never
change: each query of random_queries.py is asked of the rows as VALUES and of Iceberg tables that hold them.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from random_queries import Generator, VIEWS  # noqa: E402

A = "i INT, l BIGINT, d DOUBLE, n DECIMAL(4,2), s STRING, dt DATE, ts TIMESTAMP, b BOOLEAN, arr ARRAY<INT>, m MAP<STRING, INT>"
C = "i INT, s STRING, arr ARRAY<INT>, m MAP<STRING, INT>"
MOR = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"


def values(view):
    """The VALUES of a view of VIEWS."""
    text = VIEWS.split(f"TEMPORARY VIEW {view} AS SELECT * FROM VALUES")[1].split(" AS t(")[0]
    return text.replace("map()", "CAST(map() AS MAP<STRING, INT>)").replace("array()", "CAST(array() AS ARRAY<INT>)")


def rows(view):
    """The same, one text a row."""
    out, depth, start = [], 0, 0
    text = values(view)
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "(" and depth == 1:
            start = at
        if sign == ")" and depth == 0:
            out.append(text[start:at + 1])
    return out


def layout(name, a, c, properties, pieces, extra=""):
    """Statements that make tables a and c in the namespace `name`, each filled by `pieces` inserts."""
    out = [f"CREATE NAMESPACE IF NOT EXISTS {name}", f"USE {name}",
           f"CREATE TABLE a ({A}) USING iceberg {a} TBLPROPERTIES ({properties})",
           f"CREATE TABLE c ({C}) USING iceberg {c} TBLPROPERTIES ({properties})"]
    for table in "ac":
        lines = rows(table)
        for piece in range(pieces):
            part = lines[piece::pieces]
            if part:
                out.append(f"INSERT INTO {table} VALUES {', '.join(part)}")
    return out + [statement for statement in extra.split(";") if statement.strip()]


def layouts():
    return {
        "plain": layout("plain", "", "", "'format-version'='2'", 1),
        "files": layout("files", "", "", "'format-version'='1', 'write.parquet.dict-size-bytes'='1'", 9),
        "parts": layout("parts", "PARTITIONED BY (s, truncate(3, i))", "PARTITIONED BY (bucket(2, i))", "'format-version'='2'", 2),
        "times": layout("times", "PARTITIONED BY (years(dt), b)", "PARTITIONED BY (s)", "'format-version'='2', 'write.metadata.metrics.default'='counts'", 3),
        "deleted": layout("deleted", "PARTITIONED BY (b)", "", "'format-version'='2', " + MOR, 3, """
            INSERT INTO a SELECT i, l, d, n, 'gone', dt, ts, b, arr, m FROM a; DELETE FROM a WHERE s = 'gone'; UPDATE a SET l = l WHERE i > 0;
            INSERT INTO c SELECT i, 'gone', arr, m FROM c; DELETE FROM c WHERE s = 'gone'"""),
        "evolved": layout("evolved", "", "", "'format-version'='2'", 2, """
            ALTER TABLE a ADD COLUMN added INT FIRST; ALTER TABLE a DROP COLUMN added; ALTER TABLE a RENAME COLUMN i TO old; ALTER TABLE a RENAME COLUMN old TO i;
            ALTER TABLE a ADD PARTITION FIELD days(ts); INSERT INTO a SELECT * FROM a WHERE i = 1; DELETE FROM a WHERE i = 1;
            INSERT INTO a VALUES (1, 10L, 1.5D, 1.25BD, 'x', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00', true, array(1, NULL, 3), map('k', 1, 'x', NULL)), (1, 3L, 2.5D, 7.50BD, 'x', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00', false, array(1, 2, 3, 4, 5), map('k', 1))"""),
    }


def answer(nilas, folder, setup, query):
    done = subprocess.run([nilas, "sql", "-S", "-e", setup + query], cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        return f"exit code {done.returncode}", False
    if done.returncode:
        return done.stderr.strip(), False
    lines = done.stdout.splitlines()
    return "\n".join(lines if " ORDER BY " in query and " LIMIT " in query else sorted(lines)), True


def compare(nilas, folder, names, query):
    """What differs; None: all answer alike; "": all raise an error. An error where another layout answers is right if it is one of evaluation: rows that were
    skipped cannot raise it."""
    wanted, is_answer = answer(nilas, folder, VIEWS + "\n", query)
    if wanted.startswith("exit code"):
        return f"values: {wanted}"
    for name in names:
        got, is_right = answer(nilas, folder, f"USE {name};\n", query)
        if got.startswith("exit code") or "INTERNAL_ERROR" in got or "NILAS_" in got:
            return f"{name}: {got}"
        if is_answer and is_right and got != wanted:
            return f"{name}: other rows\n--- values\n{wanted}\n--- {name}\n{got}"
    return None if is_answer else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nilas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    arguments = parser.parse_args()
    nilas = os.path.abspath(arguments.nilas)
    generator = Generator(arguments.seed)
    queries = [generator.query() for _ in range(arguments.count)]
    with tempfile.TemporaryDirectory() as folder:
        made = layouts()
        for name, statements in made.items():
            done = subprocess.run([nilas, "sql", "-S", "-e", ";\n".join(statements)], cwd=folder, capture_output=True, text=True, timeout=120)
            if done.returncode:
                sys.exit(f"cannot make the tables of {name}: {done.stderr}")
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda query: compare(nilas, folder, list(made), query), queries))
    faults = [(query, fault) for query, fault in zip(queries, found) if fault]
    for query, fault in faults:
        print(f"{query}\n{fault}\n")
    print(f"random_scans: {arguments.count} queries of seed {arguments.seed}, {len(made)} layouts: {len(faults)} differences, {found.count('')} errors")
    sys.exit(1 if faults else 0)
