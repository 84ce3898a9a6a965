#!/usr/bin/env python3
"""dataframe_test.py NILAS - DataFrame expressions against `nilas connect`, compared with what real Spark 4.0.1 gave."""
import json
import logging
import os
import sys
import warnings

from pyspark.sql import SparkSession

from dataframe_cases import evaluate, expressions, start
from versions import plain_of_version
from server import Server

CONFS = ["spark.sql.defaultCatalog=spark_catalog", "spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog",
         "spark.sql.catalog.lake.type=hadoop", "spark.sql.catalog.lake.warehouse=lake"]


def main():
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "dataframe_expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    with open(os.path.join(here, "dataframe_differences.txt"), encoding="utf-8") as file:
        known = {line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")}
    server = Server(sys.argv[1], *[word for conf in CONFS for word in ("-c", conf)])
    failed, surprises = [], []
    try:
        spark = SparkSession.builder.remote(server.url).create()
        names = start(spark)
        for line in expressions():
            got = json.loads(json.dumps(evaluate(line, names)))
            if plain_of_version(got) == plain_of_version(expected[line]):
                surprises += [line] if line in known else []
            elif line not in known:
                failed.append(f"{line}\n  Spark: {expected[line]}\n  nilas: {got}")
            if not server.is_alive():
                failed.append(f"{line}\n  the server has died: {server.read_log()[-2000:]}")
                break
        if server.is_alive():
            spark.stop()
    finally:
        server.stop()
    for failure in failed:
        print("DIFFERENT", failure)
    for line in surprises:
        print("NO LONGER DIFFERENT: take it out of dataframe_differences.txt:", line)
    print(f"dataframes: {len(expressions())} expressions, {len(known)} known differences, {len(failed)} failed")
    return 1 if failed or surprises else 0


if __name__ == "__main__":
    sys.exit(main())
