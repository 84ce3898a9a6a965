#!/usr/bin/env python3
"""record_streaming.py sc://host:port [CASE …] - runs streaming_cases.py with real Spark and writes streaming_expected.json."""
import json
import os
import shutil
import sys
import tempfile

from pyspark.sql import SparkSession

import streaming_cases
import streaming_iceberg_cases
import streaming_state_cases

CASES = {**streaming_cases.CASES, **streaming_state_cases.CASES, **streaming_iceberg_cases.CASES}

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "streaming_expected.json")


def main():
    spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    with open(PATH, encoding="utf-8") as file:
        expected = json.load(file)
    for name in sys.argv[2:] or CASES:
        folder = tempfile.mkdtemp(prefix="streaming-")
        namespace = f"lake.stream_{name}"
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
        for table in spark.sql(f"SHOW TABLES IN {namespace}").collect():
            spark.sql(f"DROP TABLE {namespace}.{table.tableName}")
        try:
            expected[name] = json.loads(json.dumps(CASES[name](spark, folder, namespace)))
        except Exception as error:  # the case asks for something that Spark does not do either
            expected.pop(name, None)
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        shutil.rmtree(folder)
        print(name, flush=True)
        with open(PATH, "w", encoding="utf-8") as file:
            json.dump(expected, file, indent=1, sort_keys=True, ensure_ascii=False)
            file.write("\n")


main()
