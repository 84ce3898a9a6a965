#!/usr/bin/env python3
"""Statements that are long, wide or deep are planned in time that grows no faster than n log n (n^2 for the values of
n nested collections, which are that large).

    large.py NILAS [--report]

Each statement below is built for a size; its last row must be as expected, and it must be done within LIMIT seconds: a
debug build under a sanitizer takes a tenth of that, one that looks at every pair of columns, or compiles what stands in
a lambda once more at each level, takes minutes. --report prints the time of half the size and of the size.
"""
import os
import subprocess
import sys
import tempfile
import time

LIMIT = float(os.environ.get("LARGE_LIMIT", "20"))


def listed(form, n, glue=", "):
    return glue.join(form.format(i=i, b=i - 1) for i in range(n))


def nested(before, after, inside, n):
    return "".join(before.format(i=i) for i in range(n)) + inside + after * n


# name: (size, statement of a size, last row of a size or None)
STATEMENTS = {
    "nested array": (600, lambda n: "SELECT size(" + nested("array(", ")", "1", n) + ")", lambda n: "1"),
    "nested map": (600, lambda n: "SELECT size(" + nested("map(1, ", ")", "1", n) + ")", lambda n: "1"),
    "nested struct": (600, lambda n: "SELECT (" + nested("struct(", ")", "1", n) + ") IS NULL", lambda n: "false"),
    "nested CASE": (600, lambda n: "SELECT " + nested("CASE WHEN id = -1 THEN 2 ELSE ", " END", "1", n) + " FROM range(1)", lambda n: "1"),
    "nested coalesce": (600, lambda n: "SELECT " + nested("coalesce(nullif(id, 0), ", ")", "5", n) + " FROM range(1)", lambda n: "5"),
    "nested constants": (400, lambda n: "SELECT length(" + nested("concat('a', ", ")", "'b'", n) + ")", lambda n: str(n + 1)),
    "nested lambdas": (30, lambda n: "SELECT " + nested("exists(array(id), x{i} -> x{i} * x{i} = id / (x{i} + 1) - 9 OR ", ")", "id = 0", n)
                       + " FROM range(1)", lambda n: "true"),
    "columns": (5000, lambda n: "SELECT " + listed("id + {i} AS c{i}", n) + " FROM range(3)", None),
    "aggregates": (5000, lambda n: "SELECT " + listed("sum(id + {i}) AS c{i}", n) + " FROM range(3)", None),
    "filtered aggregates": (5000, lambda n: "SELECT " + listed("count(*) FILTER (WHERE id = {i}) AS c{i}", n) + " FROM range(3)", None),
    "grouping keys": (2000, lambda n: "SELECT " + listed("id + {i}", n) + " FROM range(1) GROUP BY " + listed("id + {i}", n), None),
    "window functions": (2000, lambda n: "SELECT " + listed("sum(id + {i}) OVER (PARTITION BY id)", n) + " FROM range(1)", None),
    "sort keys": (5000, lambda n: "SELECT id FROM range(3) ORDER BY " + listed("id + {i}", n), lambda n: "2"),
    "EXCEPT of columns": (5000, lambda n: "SELECT * EXCEPT (" + listed("c{i}", n) + ") FROM (SELECT " + listed("id + {i} AS c{i}", n) + ", id FROM range(3))",
                          lambda n: "2"),
    "IN of literals": (50000, lambda n: "SELECT id FROM range(3) WHERE id IN (" + listed("{i}", n) + ")", lambda n: "2"),
    "IN of expressions": (10000, lambda n: "SELECT id FROM range(3) WHERE id IN (" + listed("id + {i}", n) + ")", lambda n: "2"),
    "ANDs": (2000, lambda n: "SELECT id FROM range(3) WHERE " + listed("id <> {i} + 1", n, " AND "), lambda n: "0"),
    "ORs of ANDs": (3000, lambda n: "SELECT id FROM range(3) WHERE " + listed("(id = {i} AND id + 1 = {i} + 1)", n, " OR "), lambda n: "2"),
    "CASE branches": (5000, lambda n: "SELECT CASE " + listed("WHEN id = {i} THEN {i}", n, " ") + " END FROM range(3)", lambda n: "2"),
    "UNION ALL": (1000, lambda n: listed("SELECT {i} AS a", n, " UNION ALL "), lambda n: str(n - 1)),
    "inner joins": (500, lambda n: "SELECT count(*) FROM range(1) t" + "".join(f" JOIN range(1) t{i} USING (id)" for i in range(n)), lambda n: "1"),
    "outer joins": (500, lambda n: "SELECT count(*) FROM range(1) t" + "".join(f" LEFT JOIN range(1) t{i} ON t{i}.id = t.id" for i in range(n)), lambda n: "1"),
    "WITH": (1000, lambda n: "WITH c0 AS (SELECT 0 AS a)" + "".join(f", c{i} AS (SELECT a + 1 AS a FROM c{i - 1})" for i in range(1, n))
             + f" SELECT * FROM c{n - 1}", lambda n: str(n - 1)),
    "VALUES": (20000, lambda n: "SELECT count(*) FROM VALUES " + listed("({i}, 'x')", n), lambda n: str(n)),
    "lateral aliases": (300, lambda n: "SELECT id AS c0" + "".join(f", c{i - 1} + 1 AS c{i}" for i in range(1, n)) + " FROM range(1)", None),
    "pivot": (1000, lambda n: "SELECT * FROM (SELECT id, id AS a FROM range(3)) PIVOT (sum(a) FOR id IN (" + listed("{i}", n) + "))", None),
}


def run(nilas, folder, name, size):
    path = os.path.join(folder, "statement.sql")
    with open(path, "w", encoding="utf-8") as out:
        out.write(STATEMENTS[name][1](size) + ";\n")
    start = time.monotonic()
    try:
        done = subprocess.run([nilas, "sql", "-f", path], capture_output=True, text=True, timeout=4 * LIMIT, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        return 4 * LIMIT, "no answer"
    took = time.monotonic() - start
    if done.returncode != 0:
        return took, (done.stdout + done.stderr)[-300:]
    expected = STATEMENTS[name][2]
    last = done.stdout.rstrip("\n").split("\n")[-1]
    if expected and last != expected(size):
        return took, f"the last row is {last[:80]}, not {expected(size)}"
    return took, f"took {took:.1f} s" if took > LIMIT else None


def main():
    nilas = os.path.abspath(sys.argv[1])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (size, _, _) in STATEMENTS.items():
            half = f"{run(nilas, folder, name, size // 2)[0]:.2f} s, " if "--report" in sys.argv else ""
            took, fault = run(nilas, folder, name, size)
            if half:
                print(f"{name}: {half}{took:.2f} s")
            if fault:
                failed += 1
                print(f"{name} ({size}): {fault}", file=sys.stderr)
    print(f"{len(STATEMENTS) - failed} of {len(STATEMENTS)} large statements answered in time")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
