#!/usr/bin/env python3
"""pandas_on_spark_test.py NILAS - pandas-on-Spark by nilas connect, as on real Spark.

    pandas_on_spark_test.py NILAS                     compares with expected.json
    pandas_on_spark_test.py NILAS --record local[2]   real Spark, started here with the same Python, writes expected.json

What differs is named in differences.txt with its reason."""
import json
import logging
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable  # for functions, here and in the server

import pandas_cases  # noqa: E402
from server import serving  # noqa: E402


def read_differences():
    """Lines that differ, and lines that may."""
    with open(os.path.join(HERE, "differences.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return {line for line in lines if not line.startswith("may: ")}, {line[5:] for line in lines if line.startswith("may: ")}


def main():
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        if "--record" in sys.argv:
            pandas_cases.record(sys.argv[sys.argv.index("--record") + 1], folder)
            return 0
        with serving(sys.argv[1]) as server:
            found = pandas_cases.evaluate_all(server.url, folder, server.is_alive)
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    known, possible = read_differences()
    different = {line for line in expected if found.get(line) != expected[line]} - possible
    for line in sorted(different - known):
        print(f"DIFFERENT {line}\n  Spark: {expected[line]}\n  nilas: {found.get(line, 'the server has died')}")
    for line in sorted(known - different):
        print("NO LONGER DIFFERENT: take it out of differences.txt:", line)
    print(f"pandas-on-Spark: {len(expected)} expressions, {len(known)} known differences, {len(possible)} that may differ, {len(different - known)} failed")
    return 1 if different != known else 0


if __name__ == "__main__":
    sys.exit(main())
