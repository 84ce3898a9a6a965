"""Streams from and into Iceberg tables (see streaming_cases.py)."""
import os
import time

from pyspark.sql import functions as F

from streaming_cases import BATCHES, events, plain, summary


def made(spark, namespace, columns="id BIGINT, s STRING", more=""):
    spark.sql(f"CREATE TABLE {namespace}.t ({columns}) USING iceberg {more}")
    return f"{namespace}.t"


def read(spark, table, folder, name, at_once=True, **options):
    """Each batch's count of rows, all rows, and the failure's first words. Iceberg's Spark obeys limits only without availableNow."""
    path = os.path.join(folder, name)
    query = None
    options = {key.replace("_", "-"): value for key, value in options.items()}
    try:
        df = spark.readStream.format("iceberg").options(**options).load(table)
        query = df.writeStream.format("parquet").option("checkpointLocation", path + "-c").trigger(**({"availableNow": True} if at_once else {"processingTime": "0 seconds"})).start(path)
        if at_once:
            query.awaitTermination(60)
        else:
            query.processAllAvailable()
            query.stop()
        rows = plain(spark.read.schema(df.schema).parquet(path).collect())
        return [[progress.numInputRows for progress in query.recentProgress if progress.numInputRows], rows]
    except Exception as error:
        text = str(error)
        return [type(error).__name__, next((words for words in ("to ignore overwrites, set streaming-skip-overwrite-snapshots=true", "to ignore deletes, set streaming-skip-delete-snapshots=true",
                                                                  "expired", "Cannot find", "not found", "Cannot load current offset", "Invalid", "cannot be cast") if words in text), text[:300])]


def case_iceberg_from_timestamp(spark, folder, namespace):
    table = made(spark, namespace)
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a')")
    time.sleep(1.1)
    between = int(time.time() * 1000)
    time.sleep(0.2)
    spark.sql(f"INSERT INTO {table} VALUES (2, 'b'), (3, 'c')")
    spark.sql(f"INSERT INTO {table} VALUES (4, 'd')")
    found = [read(spark, table, folder, "between", stream_from_timestamp=str(between)), read(spark, table, folder, "old", stream_from_timestamp="1000"),
             read(spark, table, folder, "future", stream_from_timestamp=str(between + 10_000_000))]
    exact = spark.sql(f"SELECT unix_millis(committed_at) FROM {table}.snapshots ORDER BY committed_at").collect()[1][0]
    return found + [read(spark, table, folder, "exact", stream_from_timestamp=str(exact))]


def many(spark, namespace):
    """Three snapshots of two files of two rows."""
    table = made(spark, namespace, more="PARTITIONED BY (s)")
    for i in range(3):
        spark.sql(f"INSERT INTO {table} SELECT id + {10 * i}, if(id % 2 = 0, 'x', 'y') FROM range(4)")
    return table


def case_iceberg_max_files(spark, folder, namespace):
    table = many(spark, namespace)
    return [read(spark, table, folder, "one", False, streaming_max_files_per_micro_batch="1"), read(spark, table, folder, "three", False, streaming_max_files_per_micro_batch="3"), read(spark, table, folder, "all")]


def case_iceberg_max_rows(spark, folder, namespace):
    table = many(spark, namespace)
    return [read(spark, table, folder, f"rows{most}", False, streaming_max_rows_per_micro_batch=str(most)) for most in (1, 2, 3, 5, 100)]


def case_iceberg_deletes(spark, folder, namespace):
    table = made(spark, namespace, more="PARTITIONED BY (s)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"DELETE FROM {table} WHERE s = 'a'")
    spark.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    return [read(spark, table, folder, "plain"), read(spark, table, folder, "skip", streaming_skip_delete_snapshots="true"), read(spark, table, folder, "other", streaming_skip_overwrite_snapshots="true")]


def case_iceberg_row_deletes(spark, folder, namespace):
    table = made(spark, namespace, more="TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')")
    spark.sql(f"INSERT INTO {table} SELECT /*+ REPARTITION(1) */ id, 'x' FROM range(4)")
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    return [read(spark, table, folder, "plain"), read(spark, table, folder, "skip", streaming_skip_delete_snapshots="true"), read(spark, table, folder, "overwrite", streaming_skip_overwrite_snapshots="true")]


def case_iceberg_overwrites(spark, folder, namespace):
    table = made(spark, namespace, more="TBLPROPERTIES ('write.update.mode' = 'copy-on-write')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"UPDATE {table} SET s = 'c' WHERE id = 1")
    spark.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    return [read(spark, table, folder, "plain"), read(spark, table, folder, "skip", streaming_skip_overwrite_snapshots="true")]


def case_iceberg_replaced(spark, folder, namespace):
    """Compaction gives no rows out."""
    table = many(spark, namespace)
    catalog, name = namespace.split(".", 1)
    spark.sql(f"CALL {catalog}.system.rewrite_data_files(table => '{name}.t', options => map('min-input-files', '2'))")
    spark.sql(f"INSERT INTO {table} VALUES (99, 'z')")
    return read(spark, table, folder, "replaced")


def case_iceberg_expired(spark, folder, namespace):
    """The snapshot that a checkpoint stands on is gone."""
    table = many(spark, namespace)
    catalog, name = namespace.split(".", 1)
    found = [read(spark, table, folder, "expired")[0]]
    spark.sql(f"INSERT INTO {table} VALUES (50, 'y')")
    spark.sql(f"INSERT INTO {table} VALUES (51, 'y')")
    time.sleep(1.1)
    spark.sql(f"CALL {catalog}.system.expire_snapshots(table => '{name}.t', older_than => timestamp_millis({int(time.time() * 1000)}), retain_last => 1)")
    return found + [read(spark, table, folder, "expired"), read(spark, table, folder, "anew")[0]]


def case_iceberg_rolled_back(spark, folder, namespace):
    table = many(spark, namespace)
    catalog, name = namespace.split(".", 1)
    ids = [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").collect()]
    spark.sql(f"CALL {catalog}.system.rollback_to_snapshot('{name}.t', {ids[1]})")
    spark.sql(f"INSERT INTO {table} VALUES (77, 'n')")
    return read(spark, table, folder, "rolled")


def case_iceberg_evolved(spark, folder, namespace):
    """Columns come while a stream goes on: a restart sees them, old files have nulls."""
    table = made(spark, namespace)
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a')")
    found = [read(spark, table, folder, "evolved")]
    spark.sql(f"ALTER TABLE {table} ADD COLUMN more INT")
    spark.sql(f"INSERT INTO {table} VALUES (2, 'b', 22)")
    found.append(read(spark, table, folder, "evolved"))
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN s TO text")
    spark.sql(f"INSERT INTO {table} VALUES (3, 'c', 33)")
    found.append(read(spark, table, folder, "anew"))
    return found


def case_iceberg_evolves_while_running(spark, folder, namespace):
    table = made(spark, namespace)
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a')")
    query = spark.readStream.table(table).writeStream.format("memory").queryName("evolves").start()
    query.processAllAvailable()
    spark.sql(f"ALTER TABLE {table} ADD COLUMN more INT")
    spark.sql(f"INSERT INTO {table} VALUES (2, 'b', 22)")
    try:
        query.processAllAvailable()
        found = plain(spark.table("evolves").collect())
    except Exception as error:
        found = type(error).__name__
    active = query.isActive
    query.stop()
    return [found, active]


def case_iceberg_fanout(spark, folder, namespace):
    """Rows of many partitions in any order; the table asks for no order."""
    spark.sql(f"CREATE TABLE {namespace}.f (t TIMESTAMP, k STRING, v INT) USING iceberg PARTITIONED BY (k, bucket(4, v))")
    for fanout in ("true", "false"):
        df = events(spark, folder, BATCHES)
        query = df.writeStream.format("iceberg").outputMode("append").option("fanout-enabled", fanout).option("checkpointLocation", f"{folder}/c-{fanout}").trigger(availableNow=True)
        query.toTable(f"{namespace}.f").awaitTermination(120)
    parts = spark.sql(f"SELECT partition.k, count(*), sum(record_count) FROM {namespace}.f.partitions GROUP BY 1 ORDER BY 1").collect()
    return [plain(spark.table(f"{namespace}.f").collect()), plain(parts), summary(spark, f"{namespace}.f")]


def case_iceberg_by_path_option(spark, folder, namespace):
    spark.sql(f"CREATE TABLE {namespace}.p (k STRING, v INT) USING iceberg")
    df = events(spark, folder, BATCHES[:2]).select("k", "v")
    query = df.writeStream.format("iceberg").outputMode("append").option("path", f"{namespace}.p").option("checkpointLocation", folder + "/c").trigger(availableNow=True).start()
    query.awaitTermination(120)
    return [plain(spark.table(f"{namespace}.p").collect()), summary(spark, f"{namespace}.p")]


def case_iceberg_made_by_query(spark, folder, namespace):
    """toTable makes the table, partitioned as asked."""
    df = events(spark, folder, BATCHES[:2])
    query = df.writeStream.format("iceberg").partitionBy("k").option("checkpointLocation", folder + "/c").trigger(availableNow=True).toTable(f"{namespace}.made")
    query.awaitTermination(120)
    return [plain(spark.table(f"{namespace}.made").collect()), spark.table(f"{namespace}.made").schema.simpleString(),
            plain(spark.sql(f"SELECT partition.k FROM {namespace}.made.partitions").collect())]


def case_iceberg_update_refused(spark, folder, namespace):
    spark.sql(f"CREATE TABLE {namespace}.u (k STRING, n BIGINT) USING iceberg")
    df = events(spark, folder, BATCHES[:2]).groupBy("k").agg(F.count("*").alias("n"))
    try:
        df.writeStream.outputMode("update").option("checkpointLocation", folder + "/c").trigger(availableNow=True).toTable(f"{namespace}.u").awaitTermination(60)
        return "nothing"
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0].split("exception: ")[1].replace(namespace, "NAMESPACE")]


def case_iceberg_epochs(spark, folder, namespace):
    """What the summary says of the query; a batch that is asked for again is not written again."""
    spark.sql(f"CREATE TABLE {namespace}.e (k STRING, v INT) USING iceberg")

    def go(count):
        df = events(spark, folder, BATCHES[:count]).select("k", "v")
        query = df.writeStream.format("iceberg").option("checkpointLocation", folder + "/c").trigger(availableNow=True).toTable(f"{namespace}.e")
        query.awaitTermination(120)
        return str(query.id)

    first = go(2)
    os.remove(folder + "/c/commits/1")
    for name in os.listdir(folder + "/c/commits"):
        if name.startswith(".1"):
            os.remove(folder + "/c/commits/" + name)
    second = go(3)
    rows = spark.sql(f"SELECT summary FROM {namespace}.e.snapshots ORDER BY committed_at").collect()
    return [first == second, [row.summary.get("spark.sql.streaming.queryId") == first for row in rows], summary(spark, f"{namespace}.e"), plain(spark.table(f"{namespace}.e").collect())]


CASES = {name[5:]: case for name, case in sorted(globals().items()) if name.startswith("case_")}
