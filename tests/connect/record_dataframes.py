#!/usr/bin/env python3
"""record_dataframes.py URL - evaluates the DataFrame expressions with a real Spark Connect server (4.0.1), whose catalog `lake`
is Iceberg's, and writes dataframe_expected.json."""
import json
import os
import sys

from pyspark.sql import SparkSession

from dataframe_cases import evaluate, expressions, start

spark = SparkSession.builder.remote(sys.argv[1]).create()
names = start(spark)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "dataframe_expected.json"), "w", encoding="utf-8") as file:
    json.dump({line: evaluate(line, names) for line in expressions()}, file, indent=1, ensure_ascii=False)
    file.write("\n")
spark.stop()
