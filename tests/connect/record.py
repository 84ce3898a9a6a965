#!/usr/bin/env python3
"""record.py URL [CASE …] - runs the cases (all; or those, and keeps what the others have said) against a real Spark Connect server
(4.0.1) and writes expected.json."""
import json
import os
import sys

from pyspark.sql import SparkSession

from cases import CASES, plain

spark = SparkSession.builder.remote(sys.argv[1]).create()
spark.conf.set("spark.sql.session.timeZone", "UTC")
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.json")
expected = {}
if sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
for name in sys.argv[2:] or sorted(CASES):
    try:
        expected[name] = plain(CASES[name](spark))
    except Exception as error:  # what the client itself refuses is part of the record
        expected[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
with open(path, "w", encoding="utf-8") as file:
    json.dump(expected, file, indent=1, ensure_ascii=False, sort_keys=True)
    file.write("\n")
spark.stop()
