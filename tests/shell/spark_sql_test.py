#!/usr/bin/env python3
"""Runs the cases of spark_sql_cases.py with `nilas sql` and compares with what real spark-sql did (spark_sql.json).

    tests/shell/spark_sql_test.py NILAS [NAME ...]

Standard output and exit status are compared byte for byte. Of standard error: the lines that tell of time and rows, and
the first line of an error. A case that differs on purpose says so in the case (`differs`), with its own expectation.
"""
import difflib
import json
import os
import sys
import tempfile

import spark_sql_cases
from spark_sql_runner import RECORDS, clean_folder, prepare, run, seen


def told(lines):
    """What must agree of standard error: conditions and timings, not Spark's plans and stack traces."""
    kept = []
    for line in lines:
        if line.startswith("[") and "]" in line:
            kept.append(line[:line.index("]") + 1])
        elif line.startswith("Time taken"):
            kept.append(line)
    return kept


def expected_of(case, record):
    expected = {"exit": record["exit"], "stdout": record["stdout"], "stderr": told(record["stderr"])}
    return expected | case.get("differs", {})


def main():
    nilas, names = os.path.realpath(sys.argv[1]), sys.argv[2:]
    records = json.load(open(RECORDS))
    failures = 0
    count = 0
    with tempfile.TemporaryDirectory(prefix="shell-") as folder:
        folder = os.path.realpath(folder)
        for case in spark_sql_cases.CASES:
            name = case["name"]
            if names and name not in names:
                continue
            if name not in records:
                print(f"{name}: not recorded")
                continue
            count += 1
            clean_folder(folder)
            arguments, environment = prepare(case, folder)
            done = run([nilas, "sql", *arguments], folder, environment, case, 60)
            got = seen(done, folder)
            errors, got["stderr"] = got["stderr"], told(got["stderr"])
            expected = expected_of(case, records[name])
            if got == expected:
                continue
            failures += 1
            print(f"\n{name}: {' '.join(case['args'])!r}")
            for key in ("exit", "stderr"):
                if got[key] != expected[key]:
                    print(f"  {key}: expected {expected[key]!r}, got {got[key]!r}")
            if got["stdout"] != expected["stdout"]:
                print("\n".join("  " + repr(line) for line in difflib.unified_diff(expected["stdout"].splitlines(), got["stdout"].splitlines(), "spark-sql", "nilas", n=1, lineterm="")))
            for line in errors:
                print("  stderr: " + line)
    print(f"{count - failures} of {count} command lines behave as spark-sql")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
