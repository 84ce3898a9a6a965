#!/usr/bin/env python3
"""dataframe_cache_test.py NILAS [TEST …] - what cache(), persist(), CACHE TABLE, checkpoint() and observe() keep and tell. A
DataFrame with uuid() gives other rows each time it is computed: equal rows were kept. Expected values are Spark 4.0.1's."""
import logging
import sys
import warnings

from pyspark import StorageLevel
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import functions as F

from server import connected, serving

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
CONFS = ["spark.nilas.memory=96m", "spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type=hadoop",
         "spark.sql.catalog.lake.warehouse=lake", "spark.sql.defaultCatalog=lake"]


def check(found, expected):
    if found != expected:
        raise AssertionError(f"\n  nilas {found!r}\n  spark {expected!r}")


def fails(run, kind, words):
    try:
        run()
    except kind as error:
        if words not in str(error):
            raise AssertionError(f"{words!r} is not in {error}") from error
        return
    raise AssertionError(f"did not fail with {words}")


def tagged(spark, rows=5):
    return spark.range(rows).withColumn("u", F.expr("uuid()"))


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def new_table(spark, name, values):
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} (a INT) USING iceberg")
    spark.sql(f"INSERT INTO {name} VALUES {values}")


def test_rows_are_kept_until_unpersist(spark, _):
    frame = tagged(spark)
    assert rows(frame) != rows(frame)
    check(str(frame.storageLevel), "Serialized 1x Replicated")
    frame.cache()
    check(str(frame.storageLevel), "Disk Memory Deserialized 1x Replicated")
    first = rows(frame)
    check(rows(frame), first)
    frame.unpersist()
    check(str(frame.storageLevel), "Serialized 1x Replicated")
    assert rows(frame) != first


def test_every_plan_that_contains_it_uses_the_rows(spark, _):
    frame = tagged(spark).cache()
    first = rows(frame)
    check(rows(frame.filter("id >= 0").select("id", "u")), first)
    check(frame.alias("x").join(frame.alias("y"), F.expr("x.u = y.u")).count(), 5)
    check(rows(frame.union(frame).distinct()), first)
    frame.createOrReplaceTempView("kept")
    check(rows(spark.sql("SELECT k.* FROM kept AS k")), first)
    check(rows(spark.sql("WITH c AS (SELECT * FROM kept) SELECT * FROM c WHERE u IN (SELECT u FROM kept)")), first)
    check(spark.catalog.isCached("kept"), True)
    other = tagged(spark, 6)
    assert rows(other)[:5] != first
    spark.catalog.clearCache()
    check(spark.catalog.isCached("kept"), False)
    assert rows(frame) != first


def test_a_kept_plan_is_made_from_another_kept_one(spark, _):
    below = tagged(spark).cache()
    above = below.withColumn("v", F.expr("uuid()")).cache()
    first = rows(above)
    check([row[:2] for row in first], rows(below))
    below.unpersist()
    check(rows(above), first)


def test_levels(spark, _):
    for level in (StorageLevel.MEMORY_ONLY, StorageLevel.DISK_ONLY, StorageLevel.MEMORY_AND_DISK, StorageLevel.OFF_HEAP):
        frame = tagged(spark, 10 + level.useDisk * 2 + level.useMemory).withColumn("level", F.lit(str(level))).persist(level)
        first = rows(frame)
        check(rows(frame), first)
        check(frame.storageLevel, level)
        frame.persist(StorageLevel.DISK_ONLY_2)  # it stays as it is
        check(frame.storageLevel, level)


def test_more_than_the_memory_goes_to_disk(spark, _):
    """96 MiB for the server; the rows take more."""
    def wide(level):
        return spark.range(0, 1500000).select("id", F.rand().alias("r"), F.expr("repeat('text ', 8)").alias("s")).persist(level)
    found = []
    frame = wide(StorageLevel.MEMORY_AND_DISK)
    for _ in range(2):
        found.append(frame.agg(F.max("r"), F.min("r"), F.count("*")).collect()[0])
    check(found[1], found[0])
    check(found[0][2], 1500000)
    frame.unpersist()
    alone = wide(StorageLevel.MEMORY_ONLY)  # what does not fit is computed anew
    check(alone.count(), 1500000)
    check(alone.count(), 1500000)
    alone.unpersist()


def test_writes_of_the_session_make_rows_anew(spark, _):
    new_table(spark, "lake.db.t", "(1), (2)")
    frame = spark.table("lake.db.t").withColumn("u", F.expr("uuid()")).cache()
    first = rows(frame)
    check(rows(frame), first)
    spark.sql("SELECT 1").collect()
    check(rows(frame), first)
    spark.sql("INSERT INTO lake.db.t VALUES (3)")
    second = rows(frame)
    check([row[0] for row in second], [1, 2, 3])
    check(rows(frame), second)
    spark.sql("DELETE FROM lake.db.t WHERE a = 1")
    check([row[0] for row in rows(frame)], [2, 3])
    spark.table("lake.db.t").withColumn("a", F.col("a") + 10).writeTo("lake.db.t").overwritePartitions()
    check([row[0] for row in rows(frame)], [12, 13])
    check(str(frame.storageLevel), "Disk Memory Deserialized 1x Replicated")


def test_writes_of_others_are_seen_after_refresh(spark, other):
    new_table(spark, "lake.db.t2", "(1)")
    spark.sql("CACHE TABLE lake.db.t2")
    other.sql("INSERT INTO lake.db.t2 VALUES (2)")
    check(rows(spark.table("lake.db.t2")), [(1,)])
    check(rows(other.table("lake.db.t2")), [(1,), (2,)])
    spark.sql("REFRESH TABLE lake.db.t2")
    check(rows(spark.table("lake.db.t2")), [(1,), (2,)])
    other.sql("INSERT INTO lake.db.t2 VALUES (3)")
    check(rows(spark.table("lake.db.t2")), [(1,), (2,)])
    spark.catalog.refreshTable("lake.db.t2")
    check(rows(spark.table("lake.db.t2")), [(1,), (2,), (3,)])


def test_row_level_commands_do_not_take_kept_positions(spark, _):
    new_table(spark, "lake.db.t3", "(1), (2), (3)")
    spark.sql("CACHE TABLE lake.db.t3")
    check(spark.sql("SELECT a FROM lake.db.t3 WHERE _file IS NOT NULL ORDER BY a").count(), 3)
    spark.sql("DELETE FROM lake.db.t3 WHERE a = 2")
    spark.sql("UPDATE lake.db.t3 SET a = 30 WHERE a = 3")
    spark.sql("MERGE INTO lake.db.t3 AS t USING lake.db.t3 AS s ON t.a = s.a WHEN MATCHED AND t.a = 1 THEN UPDATE SET a = 10")
    check(rows(spark.table("lake.db.t3")), [(10,), (30,)])
    check(spark.catalog.isCached("lake.db.t3"), True)


def test_statements(spark, _):
    new_table(spark, "lake.db.t4", "(1)")
    fails(lambda: spark.sql("CACHE TABLE lake.db.t4 OPTIONS('storageLevel' 'NONSENSE')"), IllegalArgumentException, "Invalid StorageLevel: NONSENSE")
    spark.sql("CACHE TABLE lake.db.t4 OPTIONS('storageLevel' 'DISK_ONLY')")
    check(str(spark.table("lake.db.t4").storageLevel), "Disk Serialized 1x Replicated")
    above = spark.table("lake.db.t4").withColumn("b", F.lit(1)).cache()
    spark.sql("UNCACHE TABLE lake.db.t4")  # and what is made of it
    check(above.storageLevel.useMemory, False)
    spark.sql("UNCACHE TABLE lake.db.t4")
    spark.sql("UNCACHE TABLE IF EXISTS lake.db.nosuch")
    fails(lambda: spark.sql("UNCACHE TABLE lake.db.nosuch"), AnalysisException, "TABLE_OR_VIEW_NOT_FOUND")
    fails(lambda: spark.catalog.isCached("lake.db.nosuch"), AnalysisException, "TABLE_OR_VIEW_NOT_FOUND")
    spark.sql("CACHE LAZY TABLE cv OPTIONS('storageLevel' 'MEMORY_ONLY') AS SELECT uuid() AS u")
    check(rows(spark.table("cv")), rows(spark.table("cv")))
    fails(lambda: spark.sql("CACHE TABLE cv AS SELECT 2"), AnalysisException, "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS")
    spark.catalog.uncacheTable("cv")
    assert rows(spark.table("cv")) != rows(spark.table("cv"))
    spark.catalog.cacheTable("cv", StorageLevel.MEMORY_ONLY)
    check(spark.catalog.isCached("cv"), True)
    spark.sql("DROP VIEW cv")
    spark.sql("DROP TABLE lake.db.t4")


def test_checkpoints_cut_the_plan(spark, _):
    frame = tagged(spark)
    for kept in (frame.localCheckpoint(), frame.localCheckpoint(eager=False), frame.localCheckpoint(True, StorageLevel.DISK_ONLY)):
        first = rows(kept)
        check(rows(kept), first)
        check(rows(kept.filter("id < 100")), first)
        check(kept.columns, ["id", "u"])
        assert rows(frame) != first
    new_table(spark, "lake.db.t5", "(1)")
    kept = spark.table("lake.db.t5").localCheckpoint()
    spark.sql("DROP TABLE lake.db.t5")
    check(rows(kept), [(1,)])


def main():
    wanted = set(sys.argv[2:])
    tests = [(name, run) for name, run in globals().items() if name.startswith("test_") and (not wanted or name in wanted)]
    failed = 0
    with serving(sys.argv[1], *[word for conf in CONFS for word in ("-c", conf)]) as server:
        for name, run in tests:
            spark, other = connected(server.url), connected(server.url)
            try:
                run(spark, other)
            except Exception as error:  # the next test is run, whatever it is
                failed += 1
                print(f"FAILED {name}: {type(error).__name__}: {error}")
            spark.stop()
            other.stop()
    print(f"dataframe_cache: {len(tests)} tests, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
