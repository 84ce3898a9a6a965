#!/usr/bin/env python3
"""dataframe_files_test.py NILAS - files that DataFrames write and read, samples with replacement, as-of joins, observe(): each line
below against what real Spark 4.0.1 gave (dataframe_files_expected.json; `--record URL` asks it anew)."""
import json
import logging
import os
import re
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
xml("<r><p id='1'><a>1</a><b>x</b></p><p><a>2</a></p><p/><p ><a>3</a></p><p></p><pp><a>9</a></pp><!-- <p><a>7</a></p> --><![CDATA[<p><a>8</a></p>]]></r>")
xml("<r><p>1</p></r>", rowTag=None)
xml("<r><p>1</p></r>", rowTag="<p>")
xml("<r><p>1</p></r>", rowTag="")
xml("<r><p>1</p></r>", valueTag="_")
xml("<r><p><a>1</a><p><a>2</a></p></p><p><a>3</a></p></r>")
xml("<r><p><p/><a>1</a></p><p x='1'/><p id='a>b'><a>3</a></p></r>")
xml("<r><p><a>1</a></p><p><a>2</a>")
xml("<r><p><a>1</a></p><p><a>2</b></p><p><a>3</a></p></r>")
xml("<r><p><a>1</a></p><p><a>2</b></p><p><a>3</a></p></r>", mode="DROPMALFORMED")
xml("<r><p><a>1</a></p><p><a>2</b></p><p><a>3</a></p></r>", columnNameOfCorruptRecord="bad")
xml(""), xml("<r></r>")
xml("<r><p a='1'>x</p><p>2</p></r>"), xml("<r><p>1</p><p>2</p></r>")
xml("<r><p><a>1</a><b>1.5</b><c>true</c><d>2020-01-01</d><e>2020-01-01T00:00:00</e><f/></p><p><a>x</a><b>2</b><f><g>1</g></f></p></r>")
xml("<r><p><a>1</a><a>2</a></p><p><a>3</a></p><p><a><b>1</b></a></p></r>")
xml("<p><a>1</a></p>\n\n<p><a>2</a></p>\n<r><p><a>3</a></p></r>\njunk\n", multiLine="false")
xml("<r xmlns:q='u'><q:p><q:a>1</q:a></q:p></r>", rowTag="q:p")
xml("<r xmlns:q='u'><q:p><q:a>1</q:a></q:p></r>", rowTag="q:p", ignoreNamespace="true")
xml("<r><p><A>1</A></p><p><a>2</a><b/></p><p><B>3</B></p></r>"), xml("<r><p X='1'><s><A>1</A></s></p><p x='2'><s><a>2</a></s></p></r>")
xml("<r><P><A>1</A></P></r>"), xml("<r><p><a>1</a><A>2</A></p></r>")
xml("<r><p><a> x </a></p></r>", ignoreSurroundingSpaces="false"), xml("<r><p a='1'>x</p></r>", valueTag="v", attributePrefix="@")
xml("<r><p><d>2020-01-01 10:00:00</d><f>1e3</f><g>99999999999999999999</g><h>1_0</h><i>NaN</i><j>-</j><k>+1</k><l> 5 </l></p></r>")
xml("<r><p><d>1</d></p></r>", inferSchema="false"), xml("<r><p><d>1</d></p><p><d>x</d></p></r>", nullValue="x"), xml("<r><p q='1'><d>1</d></p></r>", excludeAttribute="true")
xml("<r><p><d>&lt;a&gt;&#65;</d></p></r>"), xml("<p><a>1</a></p>")
xml("<r><p id='1'><a>1</a><b>x</b></p><p><a>2</a></p></r>", "a int, _id string, b string")
xml("<r><p><a>1</a></p><p><a>x</a></p><p><a>2</b></p><p><a>3</a></p></r>", "a int, _corrupt_record string")
xml("<r><p><a>1</a></p><p><a>x</a></p><p><a>2</b></p><p><a>3</a></p></r>", "a int", mode="DROPMALFORMED")
xml("<r><p><a>1</a></p></r>", "a int, _corrupt_record int")
xml("<r><p><a>1</a><b>x</b><c>y</c></p></r>", "a int, xs_any string"), xml("<r><p><a>1</a><b q='1'>x<z>1</z></b><c>4</c></p></r>", "a int, xs_any array<string>")
xml("<r><p><a>1</a><s><b>x</b><d>2</d></s></p></r>", "a int, s struct<b:string,w:string>", wildcardColName="w")
xml("<r><p><f/></p><p><f></f></p></r>", "f struct<g:int>"), xml("<r><p><f/></p></r>", "f array<struct<g:int>>"), xml("<r><p><f/></p></r>", "f map<string,int>")
xml("<r><p><d>02/01/2020</d></p></r>", "d date", dateFormat="dd/MM/yyyy")
xml("<r><p><v>1</v></p></r>", "v variant")
xml_text(every)
xml_text(every, rowTag=None)
xml_text(every.select("a"), rootTag="people"), xml_text(every.select("a"), rootTag="people x='1'", declaration=""), xml_text(every.select("h", "a"), nullValue="nul")
xml_text(every.select("a"), declaration="version=\"1.1\""), xml_text(every.select("a", "d"), indent=""), xml_text(every.filter("a > 1").select("a"))
xml_text(every.select("a"), rootTag="<p>")
xml_text(every.select("a"), declaration="<?xml?>")
xml_text(spark.range(0, 2, 1, 1)), xml_text(spark.range(0, 2, 1, 1), indent="")
xml_text(spark.sql("select cast(1.5 as float) a, 1e10D b, 1.10 c, true d, timestamp_ntz'2020-01-01 00:00:00' e, X'4142' f, cast(1 as tinyint) g, array(array(1),array(2)) h, map('a',map('b',1)) i, named_struct('x',null) j").coalesce(1))
xml_text(spark.sql("select 'v' as _VALUE, 1 as _a").coalesce(1)), xml_text(spark.sql("select date'2020-01-02' d").coalesce(1), dateFormat="dd/MM/yyyy")
xml_text(spark.sql("select parse_json('1') x"))
written(lambda p: df.write.partitionBy("b").option("rowTag", "p").option("compression", "gzip").xml(p), "xmlgz")
rows(spark.read.option("rowTag", "p").xml(D + "/xmlgz"))
spark.read.option("rowTag", "p").xml(D + "/xmlgz").filter("b").count()
rows(spark.read.option("rowTag", "p").xml([D + "/xmlgz/b=true", D + "/xmlgz/b=false"]))
spark.sql(f"create table xml_table (a int, b string) using xml options (rowTag 'p') location '{D}/xml_table'"), spark.sql("insert into xml_table values (1,'q'),(2,null)"), rows(spark.table("xml_table")), spark.sql("drop table xml_table")
spark.sql(f"create temporary view xml_view using xml options (rowTag 'p', path '{D}/xml_table')"), rows(spark.table("xml_view"))
spark.readStream.schema("a int").option("rowTag", "p").xml(D + "/xml_table").writeStream.format("memory").queryName("xml_stream").trigger(availableNow=True).option("checkpointLocation", D + "/cp").start().awaitTermination(20), rows(spark.table("xml_stream"))
spark.readStream.text(D + "/text").schema.simpleString()
spark.readStream.option("rowTag", "p").xml(D + "/xml_table").schema
df.write.bucketBy(3, "id").insertInto("x"), df
df.write.bucketBy(3, "id").sortBy("s").insertInto("x"), df
df.write.partitionBy("id").insertInto("x"), df
named(spark.read.json(D + "/js").select("id", I)), named(spark.read.parquet(D + "/pq").filter(I.like("%/s=a/%")).select("id"))
df.coalesce(1).write.partitionBy("b").json(D + "/js1"), named(spark.read.json(D + "/js1").groupBy(I).count()), named(spark.read.json(D + "/js").groupBy("b").count().select("b", I))
spark.read.json(D + "/js").join(spark.read.parquet(D + "/pq"), "id").select(I).collect()
named(spark.read.json(D + "/js").withColumn("f", I).join(spark.read.parquet(D + "/pq").withColumn("g", I), "id").select("id", "f", "g"))
named(spark.read.json(D + "/js").select("id").union(spark.read.parquet(D + "/pq").select("id")).select("id", I))
named(spark.read.json(D + "/js").sort("id").select("id", I)), named(spark.read.json(D + "/js").distinct().select("id", I)), named(spark.range(1).select(I))
named(spark.sql(f"select id, input_file_name() from (select id + 1 as id from json.`{D}/js` where id > 1)")), named(spark.read.json(D + "/js").select(F.explode(F.array("id", "id")), I))
named(spark.read.json(D + "/js1").select(F.expr("input_file_block_start()"), F.expr("input_file_block_length() > 0"), "_metadata.file_size", F.element_at(F.split("_metadata.file_path", "/"), -2)))
parts(spark.range(0, 64, 1, 9)), parts(spark.range(0, 64, 1, 9).repartition(10)), parts(spark.range(0, 64, 1, 9).repartition(7, "id"))
spark.range(0, 10, 1, 3).select("id", F.spark_partition_id(), F.monotonically_increasing_id()).orderBy("id").collect()
spark.range(10, 0, -3, 2).select("id", F.spark_partition_id(), F.monotonically_increasing_id()).orderBy("id").collect()
spark.range(0, 10).repartition(4, "id").select("id", F.spark_partition_id()).orderBy("id").collect()
parts(spark.range(0, 64, 1, 9).coalesce(1)), parts(spark.range(0, 64, 1, 9).coalesce(20))
count_files(lambda p: spark.range(100).repartition(5).write.parquet(p), "five"), spark.read.parquet(D + "/five").count()
count_files(lambda p: spark.range(0, 300000).coalesce(1).write.parquet(p), "one"), spark.read.parquet(D + "/one").count()
count_files(lambda p: spark.range(0, 300000).withColumn("k", F.col("id") % 5).repartition("k").write.partitionBy("k").parquet(p), "by"), spark.read.parquet(D + "/by").count()
count_files(lambda p: spark.range(0, 1000).repartition(4).filter("id > 10").withColumn("x", F.lit(1)).write.json(p), "four"), spark.read.json(D + "/four").count()
count_files(lambda p: spark.range(0, 100000).orderBy(F.desc("id")).coalesce(1).write.csv(p), "sorted"), spark.read.csv(D + "/sorted").first()
df.repartition(3).columns, df.repartition(3).union(df.coalesce(1)).count(), df.repartition(2).toDF("x", "y", "z").columns, df.repartition(2).drop("s").columns
df.repartition(3).join(df.repartition(2), "id").count(), df.repartition(3).groupBy("s").count().count()
df.repartition(3, "nope").count()
spark.sql("create table by_args using parquet as select * from {d}", d=df), spark.sql("insert into by_args select id + :x, s, b from {d}", args={"x": 5}, d=df), spark.sql("with q as (select * from {d}) insert into by_args select * from q", d=df), rows(spark.table("by_args")), spark.sql("drop table by_args")
df.write.bucketBy(4, "id", "s").sortBy("b").saveAsTable("bucketed"), [tuple(r)[:2] for r in spark.sql("describe table extended bucketed").collect() if r[0] in ("Num Buckets", "Bucket Columns", "Sort Columns", "Provider")], rows(spark.table("bucketed")), spark.sql("drop table bucketed")
df.write.partitionBy("id").bucketBy(2, "id").saveAsTable("bucketed2")
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

    def named(frame):
        return sorted(str([re.sub("part-[^/]*", "PART", value).replace(folder, "FOLDER") if isinstance(value, str) else value for value in row]) for row in frame.collect())

    def parts(frame):
        return sorted(row[0] for row in frame.select(F.spark_partition_id()).distinct().collect())

    def count_files(write, name):
        write(f"{folder}/{name}")
        return sorted((os.path.relpath(root, f"{folder}/{name}"), sum(file.startswith("part-") for file in files)) for root, _, files in os.walk(f"{folder}/{name}")
                      if any(file.startswith("part-") for file in files))

    def options(given):
        return {key: value for key, value in {"rowTag": "p", **given}.items() if value is not None}

    def xml(text, schema=None, **given):
        reader = spark.read.options(**options(given))
        read = (reader.schema(schema) if schema else reader).xml(one_file(text))
        return read.schema.simpleString(), [tuple(row) for row in read.collect()]

    def xml_text(frame, **given):
        path = tempfile.mkdtemp(dir=folder) + "/x"
        frame.write.options(**options(given)).xml(path)
        return [open(os.path.join(path, name), encoding="utf-8").read() for name in sorted(os.listdir(path)) if name.endswith(".xml")]

    every = spark.sql("select 1 a, 'x<y' b, array(1,2) c, named_struct('_q', 1, 'r', cast(null as int)) d, map('k', 1.5D) e, date'2020-01-01' f, "
                      "timestamp'2020-01-01 00:00:00' g, cast(null as string) h").coalesce(1)

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
    return dict(locals(), D=folder, F=F, I=F.input_file_name())


def evaluate(line, names, folder):
    stdout, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
    try:
        return repr(eval(line, names))
    except Exception as error:
        condition = error.getCondition() if hasattr(error, "getCondition") else None
        words = re.sub("_pyspark_connect_temp_view_[0-9a-f]*", "VIEW", str(error).splitlines()[0].rstrip(" ;"))
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
