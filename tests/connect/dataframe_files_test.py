#!/usr/bin/env python3
"""dataframe_files_test.py NILAS - files that DataFrames write and read, samples with replacement, as-of joins, observe(): each line
below against what real Spark 4.0.1 gave (dataframe_files_expected.json; `--record URL` asks it anew)."""
import json
import logging
import os
import shutil
import sys
import tempfile
import warnings

from pyspark.sql import Observation, SparkSession, functions as F

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
CASES = r"""
written(lambda p: df.write.partitionBy("s").parquet(p), "pq")
rows(spark.read.parquet(D + "/pq"))
written(lambda p: df.write.partitionBy("S", "b").csv(p), "csv")
spark.read.schema("id int, s string, b boolean").csv(D + "/csv").columns
written(lambda p: df.write.partitionBy("b").json(p), "js")
written(lambda p: df.write.partitionBy("nope").parquet(p), "nope")
written(lambda p: df.write.partitionBy("id", "s", "b").parquet(p), "all")
written(lambda p: df.write.partitionBy("s", "s").parquet(p), "dup")
written(lambda p: df.write.bucketBy(2, "id").parquet(p), "bucket")
written(lambda p: df.write.bucketBy(2, "id").sortBy("s").parquet(p), "bucketsort")
written(lambda p: df.write.sortBy("id").parquet(p), "sort")
df.write.sortBy("id").saveAsTable("sorted_table")
written(lambda p: df.select("s").write.text(p), "text")
rows(spark.read.text(D + "/text"))
spark.read.text(D + "/text").schema.simpleString()
rows(spark.read.schema("line string").text(D + "/text"))
rows(spark.read.text(one_file("a b\nc\n\nd"), wholetext=True))
rows(spark.read.text(one_file("a|b\nc|d"), lineSep="|"))
written(lambda p: df.write.text(p), "text2")
written(lambda p: df.select("id").write.text(p), "text3")
written(lambda p: df.select("s", "b").write.partitionBy("b").text(p), "text4")
rows(spark.read.text(D + "/text4"))
spark.read.text(D + "/text4").filter("b").count()
written(lambda p: df.select("s").write.option("compression", "gzip").option("lineSep", "|").text(p), "textgz")
rows(spark.read.text(D + "/textgz", lineSep="|"))
spark.read.format("binaryFile").load(D + "/csv/S=a/b=true").select("length", "content").collect()
spark.read.format("binaryFile").load(D + "/js").schema.simpleString()
spark.read.format("binaryFile").load(D + "/js").filter("path like 'file:%' and modificationTime > timestamp'2020-01-01'").count() > 0
df.write.format("binaryFile").save(D + "/binary")
written(lambda p: (df.write.parquet(p), df.write.parquet(p)), "exists")
written(lambda p: (df.limit(1).write.parquet(p), df.write.mode("ignore").parquet(p)), "ignore")
spark.read.parquet(D + "/ignore").count()
written(lambda p: (df.write.parquet(p), df.write.mode("append").parquet(p)), "append")
spark.read.parquet(D + "/append").count()
written(lambda p: (df.write.partitionBy("b").parquet(p), df.filter("b").write.mode("overwrite").partitionBy("b").parquet(p)), "over")
written(lambda p: (df.write.partitionBy("b").parquet(p), df.filter("b").write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy("b").parquet(p)), "dynamic")
written(lambda p: df.write.clusterBy("id").parquet(p), "cluster")
df.select("id").write.parquet(D + "/ms/a=1"), df.select("s", "id").write.parquet(D + "/ms/a=2")
rows(spark.read.option("mergeSchema", "true").parquet(D + "/ms"))
rows(spark.read.parquet(D + "/ms/a=1", D + "/pq/s=a"))
[r.id for r in spark.range(0, 30, 1, 1).sample(True, 0.8, 42).collect()]
[r.id for r in spark.range(0, 100, 1, 1).sample(withReplacement=True, fraction=0.1, seed=7).collect()]
[r.id for r in spark.range(0, 10, 1, 1).sample(withReplacement=True, fraction=2.5, seed=3).collect()]
spark.range(0, 10, 1, 1).sample(withReplacement=True, fraction=0.0, seed=3).collect()
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t"))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", on="k"))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", on=["k"], how="leftouter", direction="forward"))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", direction="forward"))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", direction="nearest"))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", tolerance=F.lit(1)))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", tolerance=F.lit(2), direction="nearest", how="left"))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", allowExactMatches=False))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", allowExactMatches=False, direction="nearest"))
rows(left._joinAsOf(right, leftAsOfColumn="t", rightAsOfColumn="t", direction="x"))
left._joinAsOf(right, leftAsOfColumn=left.t, rightAsOfColumn=right.t).columns
rows(left._joinAsOf(right, leftAsOfColumn=left.t, rightAsOfColumn=right.t, on=(left.k == right.k)))
rows(at("2020-01-01 00:00:05")._joinAsOf(at("2020-01-01 00:00:01"), leftAsOfColumn="t", rightAsOfColumn="t", tolerance=F.expr("interval 10 seconds")))
observed(lambda d: d.count(), F.count(F.lit(1)).alias("count"), F.max(F.col("id")))
observed(lambda d: d.collect(), F.count("s"), (F.max("id") - F.min("id")).alias("span"), F.avg("id"))
observed(lambda d: d.show(), F.count(F.lit(1)).alias("rows"), F.sum("id"))
observed(lambda d: d.toPandas(), F.stddev("id"))
observed(lambda d: d.filter("id > 2").collect(), F.count(F.lit(1)).alias("rows"))
observed(lambda d: d.select("s").collect(), F.sum("id").alias("s"))
observed(lambda d: d.join(df, "s").collect(), F.sum("id").alias("s"))
observed(lambda d: df.join(d, "s").collect(), F.sum("id").alias("s"))
observed(lambda d: d.groupBy("s").count().collect(), F.sum("id").alias("s"))
observed(lambda d: d.filter("false").collect(), F.sum("id").alias("s"))
observed(lambda d: d.write.format("noop").mode("overwrite").save(), F.sum("id").alias("s"))
observed(lambda d: d.write.mode("overwrite").parquet(D + "/observed"), F.count("s").alias("s"))
observed(lambda d: d.collect(), F.countDistinct("id"))
observed(lambda d: d.collect(), F.col("id"))
observed(lambda d: d.collect(), F.lit(3).alias("three"), F.count("id"))
two_observed()
df.withColumn("c", df.id * 2).sameSemantics(df.withColumn("d", df.id * 2)), df.filter("id > 1").sameSemantics(df.filter("1 < id")), df.sameSemantics(df.limit(1))
"""


def prepare(spark, folder):
    df = spark.createDataFrame([(1, "a", True), (2, "b", False), (3, None, True)], "id int, s string, b boolean")

    def rows(frame):
        return sorted(map(str, frame.collect()))

    def written(write, name):
        write(f"{folder}/{name}")
        found = set()
        for root, _, names in os.walk(f"{folder}/{name}"):
            for file in names:
                if not file.startswith("."):
                    found.add(os.path.relpath(os.path.join(root, file.split("-")[0] + os.path.splitext(file)[1]), f"{folder}/{name}"))
        return sorted(found)

    def one_file(text):
        path = os.path.join(folder, f"file{abs(hash(text))}.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def observed(run, *metrics):
        observation = Observation("metrics")
        run(df.observe(observation, *metrics))
        return observation.get

    def two_observed():
        first, second = Observation("a"), Observation("b")
        df.observe(first, F.count("id").alias("c")).filter("id > 2").observe(second, F.count("id").alias("c")).collect()
        return first.get, second.get

    def at(*times):
        return spark.createDataFrame([(time, 1) for time in times], "t string, v int").withColumn("t", F.to_timestamp("t"))

    left = spark.createDataFrame([(1, "a", 1), (5, "a", 2), (10, "b", 3)], "t int, k string, v int")
    right = spark.createDataFrame([(1, "a", 10), (2, "a", 20), (3, "b", 30), (6, "a", 60), (7, "b", 70)], "t int, k string, w int")
    return dict(locals(), D=folder, F=F)


def evaluate(line, names, folder):
    stdout, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
    try:
        return repr(eval(line, names))
    except Exception as error:
        condition = error.getCondition() if hasattr(error, "getCondition") else None
        words = str(error).splitlines()[0].rstrip(" ;")
        return f"{type(error).__name__} {condition} {words}".replace(folder, "FOLDER")
    finally:
        sys.stdout.close()
        sys.stdout = stdout


def run(url):
    spark = SparkSession.builder.remote(url).create()
    folder = tempfile.mkdtemp()
    try:
        spark.sql("USE spark_catalog.default")
        names = prepare(spark, folder)
        return {line: evaluate(line, names, folder) for line in CASES.strip().splitlines()}
    finally:
        spark.stop()
        shutil.rmtree(folder)


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dataframe_files_expected.json")
    if sys.argv[1] == "--record":
        with open(here, "w", encoding="utf-8") as file:
            json.dump(run(sys.argv[2]), file, indent=1)
            file.write("\n")
        return 0
    from server import serving
    with open(here, encoding="utf-8") as file:
        expected = json.load(file)
    with serving(sys.argv[1]) as server:
        found = run(server.url)
    failed = [line for line in found if found[line] != expected.get(line)]
    for line in failed:
        print(f"DIFFERENT {line}\n  Spark: {expected.get(line)}\n  nilas: {found[line]}")
    print(f"dataframe_files: {len(found)} expressions, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
