#!/usr/bin/env python3
"""record.py URL - runs the cases against a real Spark Connect server (4.0.1) and writes expected.json."""
import json
import os
import sys

from pyspark.sql import SparkSession

from cases import CASES, plain

spark = SparkSession.builder.remote(sys.argv[1]).create()
spark.conf.set("spark.sql.session.timeZone", "UTC")
expected = {}
for name in sorted(CASES):
    try:
        expected[name] = plain(CASES[name](spark))
    except Exception as error:  # what the client itself refuses is part of the record
        expected[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.json"), "w", encoding="utf-8") as file:
    json.dump(expected, file, indent=1, ensure_ascii=False, sort_keys=True)
    file.write("\n")
spark.stop()
