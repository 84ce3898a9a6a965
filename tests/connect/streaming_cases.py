"""Streaming queries, one function per case: what a program gets. Each has a folder of its own and a namespace of Iceberg."""
import json
import os

from pyspark.sql import functions as F

SCHEMA = "t timestamp, k string, v int"
SECOND = "2026-01-01T00:00:%02d"


def put(folder, number, rows):
    """A file whose age says when it came."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{number:03d}.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
    os.utime(path + ".new", (1_767_225_600 + number * 10,) * 2)
    os.rename(path + ".new", path)


def events(spark, folder, batches, schema=SCHEMA, name="in"):
    """A stream of files, one a batch; rows are (second, key, value)."""
    path = os.path.join(folder, name)
    columns = [part.split()[0] for part in schema.split(", ")]
    for number, rows in enumerate(batches):
        put(path, number, [dict(zip(columns, (SECOND % row[0], *row[1:]))) for row in rows])
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(path)


BATCHES = [
    [(1, "a", 1), (2, "b", 2), (3, "a", 3)],
    [(11, "a", 4), (12, "c", 5)],
    [(4, "a", 6), (21, "b", 7)],
    [(2, "late", 8), (35, "a", 9)],
    [(13, "late", 10), (50, "d", 11)],
]


def plain(rows):
    return sorted(json.dumps([str(value) for value in row]) for row in rows)


def run(df, folder, name, mode="append"):
    """The query's rows in memory, and what its progress says of each batch that has run."""
    query = (df.writeStream.format("memory").queryName(name).outputMode(mode)
             .option("checkpointLocation", os.path.join(folder, "checkpoint-" + name)).trigger(availableNow=True).start())
    query.awaitTermination(240)
    batches = []
    for progress in query.recentProgress:
        operators = [[o.operatorName, o.numRowsTotal, o.numRowsUpdated, o.numRowsRemoved, o.numRowsDroppedByWatermark] for o in progress.stateOperators]
        batches.append([progress.batchId, progress.numInputRows, progress.eventTime.get("watermark"), operators])
    return {"rows": plain(df.sparkSession.table(name).collect()), "batches": batches, "is_active": query.isActive}


def case_without_state(spark, folder, _):
    return run(events(spark, folder, BATCHES).where("v > 1").select("k", (F.col("v") * 2).alias("w")), folder, "without_state")


def case_complete(spark, folder, _):
    return run(events(spark, folder, BATCHES).groupBy("k").agg(F.sum("v"), F.count("*"), F.avg("v"), F.min("v"), F.collect_list("v")), folder, "complete_mode", "complete")


def case_complete_sorted(spark, folder, _):
    return run(events(spark, folder, BATCHES).groupBy("k").count().orderBy(F.desc("count"), F.desc("k")).limit(2), folder, "complete_sorted", "complete")


def case_update(spark, folder, _):
    return run(events(spark, folder, BATCHES).groupBy("k").agg(F.sum("v"), F.max("v"), F.stddev("v")), folder, "update_mode", "update")


def case_window_append(spark, folder, _):
    df = events(spark, folder, BATCHES).withWatermark("t", "5 seconds")
    return run(df.groupBy(F.window("t", "10 seconds"), "k").agg(F.sum("v").alias("s")), folder, "window_append")


def case_window_update(spark, folder, _):
    df = events(spark, folder, BATCHES).withWatermark("t", "5 seconds")
    return run(df.groupBy(F.window("t", "10 seconds", "5 seconds")).count(), folder, "window_update", "update")


def case_time_append(spark, folder, _):
    return run(events(spark, folder, BATCHES).withWatermark("t", "5 seconds").groupBy("t").count(), folder, "time_append")


def case_deduplicate(spark, folder, _):
    return run(events(spark, folder, BATCHES).dropDuplicates(["k"]), folder, "deduplicate")["rows"]


def case_deduplicate_watermark(spark, folder, _):
    df = events(spark, folder, [*BATCHES, [(50, "d", 11), (51, "e", 1)]]).withWatermark("t", "5 seconds")
    return run(df.dropDuplicates(["t", "k"]), folder, "deduplicate_watermark")


def case_deduplicate_within(spark, folder, _):
    df = events(spark, folder, BATCHES).withWatermark("t", "5 seconds")
    return run(df.dropDuplicatesWithinWatermark(["k"]), folder, "deduplicate_within")["rows"]


def case_distinct(spark, folder, _):
    return run(events(spark, folder, BATCHES).select("k").distinct(), folder, "distinct_rows")["rows"]


def case_join_static(spark, folder, _):
    names = spark.createDataFrame([("a", "A"), ("b", "B")], "k string, n string")
    return run(events(spark, folder, BATCHES).join(names, "k", "left"), folder, "join_static")["rows"]


OTHERS = [
    [(3, "a", 10), (4, "z", 20)],
    [(14, "c", 30)],
    [(40, "q", 40)],
    [(52, "d", 50)],
]


def two(spark, folder):
    left = events(spark, folder, BATCHES).withWatermark("t", "5 seconds")
    right = events(spark, folder, OTHERS, "u timestamp, j string, w int", "in2").withWatermark("u", "5 seconds")
    return left, right


def case_join_inner(spark, folder, _):
    left, right = two(spark, folder)
    return run(left.join(right, F.expr("k = j")), folder, "join_inner")["rows"]


NEAR = "k = j and u >= t - interval 5 seconds and u <= t + interval 5 seconds"


def case_join_left(spark, folder, _):
    left, right = two(spark, folder)
    return run(left.join(right, F.expr(NEAR), "left_outer"), folder, "join_left")["rows"]


def case_join_full(spark, folder, _):
    left, right = two(spark, folder)
    return run(left.join(right, F.expr(NEAR), "full_outer"), folder, "join_full")["rows"]


def case_union(spark, folder, _):
    left, right = two(spark, folder)
    return run(left.select("k").union(right.select("j")), folder, "union_rows")["rows"]


def case_rate_micro_batch(spark, folder, _):
    df = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).option("startTimestamp", 1000).load()
    return run(df, folder, "rate_micro")


def case_schemas(spark, folder, namespace):
    spark.sql(f"CREATE TABLE {namespace}.s (id BIGINT, d DATE) USING iceberg")
    found = {"rate": spark.readStream.format("rate").load(), "iceberg": spark.readStream.table(f"{namespace}.s"), "path": spark.readStream.format("iceberg").load(f"{namespace}.s")}
    return {name: [df.schema.simpleString(), df.isStreaming] for name, df in found.items()}


def summary(spark, table):
    rows = spark.sql(f"SELECT operation, summary FROM {table}.snapshots ORDER BY committed_at").collect()
    return [[row.operation, row.summary.get("spark.sql.streaming.epochId"), row.summary.get("added-records")] for row in rows]


def case_iceberg(spark, folder, namespace):
    """Append snapshots in, exactly-once commits out, twice with one checkpoint."""
    spark.sql(f"CREATE TABLE {namespace}.src (id BIGINT, s STRING) USING iceberg")
    checkpoint = os.path.join(folder, "checkpoint")
    found = []
    for first in (0, 10):
        for i in range(3):
            spark.sql(f"INSERT INTO {namespace}.src VALUES ({first + 2 * i}, 'a'), ({first + 2 * i + 1}, 'b')")
        df = spark.readStream.format("iceberg").load(f"{namespace}.src").where("id % 3 <> 0")
        query = df.writeStream.format("iceberg").option("checkpointLocation", checkpoint).trigger(availableNow=True).toTable(f"{namespace}.dst")
        query.awaitTermination(120)
        found.append([plain(spark.table(f"{namespace}.dst").collect()), summary(spark, f"{namespace}.dst")])
    return found


def case_iceberg_complete(spark, folder, namespace):
    spark.sql(f"CREATE TABLE {namespace}.counts (k STRING, n BIGINT) USING iceberg")
    df = events(spark, folder, BATCHES[:2]).groupBy("k").agg(F.count("*").alias("n"))
    query = df.writeStream.outputMode("complete").option("checkpointLocation", os.path.join(folder, "checkpoint")).trigger(availableNow=True).toTable(f"{namespace}.counts")
    query.awaitTermination(120)
    return [plain(spark.table(f"{namespace}.counts").collect()), [row[:2] for row in summary(spark, f"{namespace}.counts")]]


def case_iceberg_refused(spark, folder, namespace):
    spark.sql(f"CREATE TABLE {namespace}.gone (id BIGINT) USING iceberg")
    spark.sql(f"INSERT INTO {namespace}.gone VALUES (1)")
    spark.sql(f"INSERT OVERWRITE {namespace}.gone VALUES (2)")
    found = []
    for options in ({}, {"streaming-skip-overwrite-snapshots": "true"}):
        df = spark.readStream.format("iceberg").options(**options).load(f"{namespace}.gone")
        query = df.writeStream.format("noop").trigger(availableNow=True).start()
        try:
            query.awaitTermination(120)
            found.append([progress.numInputRows for progress in query.recentProgress])
        except Exception as error:  # its snapshot's id differs
            found.append([type(error).__name__, "to ignore overwrites, set streaming-skip-overwrite-snapshots=true" in str(error), query.isActive])
    return found


def first_line(call):
    try:
        call()
        return "nothing"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0].rstrip(';')}"


def case_refused(spark, folder, _):
    rate = spark.readStream.format("rate").load()
    other = rate.withColumnRenamed("timestamp", "t2")

    def memory(df, mode="append"):
        return lambda: df.writeStream.format("memory").queryName("refused").outputMode(mode).start()

    return {
        "collect": first_line(rate.collect),
        "not a stream": first_line(memory(spark.range(3))),
        "no name": first_line(lambda: rate.writeStream.format("memory").start()),
        "no checkpoint": first_line(lambda: rate.writeStream.format("parquet").option("path", folder + "/out").start()),
        "complete": first_line(memory(rate, "complete")),
        "append": first_line(memory(rate.groupBy("value").count())),
        "mode": first_line(memory(rate, "bad")),
        "sort": first_line(memory(rate.orderBy("value"))),
        "limit": first_line(memory(rate.limit(3), "update")),
        "schema": first_line(lambda: spark.readStream.csv(folder).schema),
        "distinct": first_line(memory(rate.groupBy("value").agg(F.countDistinct("timestamp")), "complete")),
        "twice": first_line(memory(rate.groupBy("value").count().groupBy("count").count(), "complete")),
        "full": first_line(memory(rate.join(other, "value", "full"))),
        "update": first_line(memory(rate.join(other, "value"), "update")),
        "within": first_line(memory(rate.dropDuplicatesWithinWatermark(["value"]))),
    }


def case_manager(spark, folder, _):
    df = events(spark, folder, BATCHES[:2])
    query = df.writeStream.format("memory").queryName("managed").start()
    query.processAllAvailable()
    found = {
        "rows": plain(spark.table("managed").collect()),
        "active": [active.name for active in spark.streams.active],
        "get": spark.streams.get(query.id).runId == query.runId,
        "awaited": query.awaitTermination(1),
        "name twice": first_line(lambda: df.writeStream.format("memory").queryName("managed").start()),
        "exception": query.exception(),
    }
    put(os.path.join(folder, "in"), 9, [{"t": SECOND % 1, "k": "later", "v": 0}])
    query.processAllAvailable()
    found["more"] = plain(spark.table("managed").collect())
    query.stop()
    found["status"] = query.status
    found["after"] = [query.isActive, len(spark.streams.active), spark.streams.get(query.id), spark.streams.awaitAnyTermination(5)]
    spark.streams.resetTerminated()
    found["reset"] = spark.streams.awaitAnyTermination(1)
    return found


CASES = {name[5:]: case for name, case in sorted(globals().items()) if name.startswith("case_")}
