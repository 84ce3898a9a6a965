#!/usr/bin/env python3
"""streaming_test.py NILAS [CASE …] - streaming queries against nilas connect: what Spark gives (streaming_cases.py), and what a
server that is killed, asked and left leaves behind."""
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time

from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQueryListener

from server import Server, connected, serving
import streaming_cases
import streaming_iceberg_cases
import streaming_state_cases
from streaming_cases import events, BATCHES, plain, put, SECOND

CASES = {**streaming_cases.CASES, **streaming_state_cases.CASES, **streaming_iceberg_cases.CASES}
logging.disable(logging.CRITICAL)
HERE = os.path.dirname(os.path.abspath(__file__))
CATALOG = ("spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type=hadoop")


def flags(warehouse):
    return [part for conf in (*CATALOG, f"spark.sql.catalog.lake.warehouse={warehouse}", "spark.sql.session.timeZone=UTC") for part in ("--conf", conf)]


# ---- cases with answers of real Spark ----

def run_cases(spark, folder, wanted):
    with open(os.path.join(HERE, "streaming_expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    problems = []
    for name, case in CASES.items():
        if name not in expected or (wanted and name not in wanted):
            continue
        mine = os.path.join(folder, name)
        os.makedirs(mine)
        spark.sql(f"CREATE NAMESPACE lake.{name}")
        try:
            found = json.loads(json.dumps(case(spark, mine, f"lake.{name}")))
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found != expected.get(name):
            problems.append(f"{name}\n  nilas {json.dumps(found)}\n  spark {json.dumps(expected.get(name))}")
    return problems


# ---- what only nilas can be asked ----

def a_function_gets_every_batch_once(spark, folder):
    out = os.path.join(folder, "seen")

    def see(df, number):
        import json as j
        rows = [list(map(str, row)) for row in df.collect()]
        with open(out, "a", encoding="utf-8") as file:
            file.write(j.dumps([number, df.count(), sorted(rows)]) + "\n")
        df.createOrReplaceTempView("of_batch")
        assert df.sparkSession.sql("SELECT count(*) FROM of_batch").collect()[0][0] == len(rows)

    query = events(spark, folder, BATCHES[:3]).select("k", "v").writeStream.foreachBatch(see).option("checkpointLocation", folder + "/c").trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    with open(out, encoding="utf-8") as file:
        seen = [json.loads(line) for line in file]
    assert [entry[:2] for entry in seen] == [[0, 3], [1, 2], [2, 2]], seen
    assert seen[0][2] == [["a", "1"], ["a", "3"], ["b", "2"]], seen


def a_function_may_keep_a_table(spark, folder):
    spark.sql("CREATE TABLE lake.only.kept (k STRING, v BIGINT) USING iceberg")

    def upsert(df, _):
        df.groupBy("k").agg(F.sum("v").alias("v")).createOrReplaceTempView("news")
        df.sparkSession.sql("MERGE INTO lake.only.kept t USING news n ON t.k = n.k WHEN MATCHED THEN UPDATE SET v = t.v + n.v WHEN NOT MATCHED THEN INSERT *")

    query = events(spark, folder, BATCHES[:3]).writeStream.foreachBatch(upsert).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert plain(spark.table("lake.only.kept").collect()) == plain([("a", 14), ("b", 9), ("c", 5)]), spark.table("lake.only.kept").collect()


def an_exception_of_a_function_ends_the_query(spark, folder):
    def fail(df, number):
        raise ValueError("not today")

    query = events(spark, folder, BATCHES[:1]).writeStream.foreachBatch(fail).start()
    try:
        query.awaitTermination(60)
        raise AssertionError("it goes on")
    except Exception as error:
        assert type(error).__name__ == "StreamingQueryException" and "not today" in str(error), error
    assert not query.isActive and "not today" in str(query.exception())


def rows_reach_foreach(spark, folder):
    out = os.path.join(folder, "rows")

    class Writer:
        def open(self, partition, epoch):
            self.file = open(out, "a", encoding="utf-8")
            return True

        def process(self, row):
            self.file.write(f"{row.k}{row.v}\n")

        def close(self, error):
            self.file.close()

    query = events(spark, folder, BATCHES[:2]).writeStream.foreach(Writer()).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    with open(out, encoding="utf-8") as file:
        assert sorted(file.read().split()) == ["a1", "a3", "a4", "b2", "c5"]


def listeners_hear_of_everything(spark, folder):
    heard = []

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event):
            heard.append(("started", event.name))

        def onQueryProgress(self, event):
            heard.append(("progress", event.progress.batchId, event.progress.numInputRows))

        def onQueryIdle(self, event):
            pass

        def onQueryTerminated(self, event):
            heard.append(("terminated", event.exception))

    listener = Listener()
    spark.streams.addListener(listener)
    query = events(spark, folder, BATCHES[:2]).writeStream.format("memory").queryName("heard").trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    deadline = time.monotonic() + 20 # PySpark's removeListener waits for ever when an event is still on its way
    while heard[-1][0] != "terminated" and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    spark.streams.removeListener(listener)
    assert heard == [("started", "heard"), ("progress", 0, 3), ("progress", 1, 2), ("terminated", None)], heard


def files_count_once(spark, folder):
    out = os.path.join(folder, "out")
    for more in range(2):
        df = events(spark, folder, BATCHES[: 2 + more])
        query = df.writeStream.format("parquet").option("checkpointLocation", folder + "/c").trigger(availableNow=True).start(out)
        assert query.awaitTermination(60)
    assert spark.read.parquet(out).count() == 7
    assert sorted(os.listdir(os.path.join(out, "_spark_metadata"))) == ["0", "1", "2"]
    again = spark.readStream.schema("t timestamp, k string, v int").parquet(out).writeStream.format("memory").queryName("again").trigger(availableNow=True).start()
    assert again.awaitTermination(60) and spark.table("again").count() == 7


def a_query_waits_for_its_interval(spark, _):
    query = spark.readStream.format("rate").option("rowsPerSecond", 3).load().writeStream.format("memory").queryName("ticks").trigger(processingTime="1 second").start()
    assert query.awaitTermination(3) is False
    query.stop()
    counts = [progress.numInputRows for progress in query.recentProgress]
    assert 1 <= len(counts) <= 5 and set(counts) <= {0, 3, 6}, counts
    assert spark.table("ticks").count() in (6, 9, 12)


def another_run_takes_the_checkpoint(spark, folder):
    df = events(spark, folder, BATCHES[:1])
    first = df.writeStream.format("noop").option("checkpointLocation", folder + "/c").start()
    first.processAllAvailable()
    second = df.writeStream.format("noop").option("checkpointLocation", folder + "/c").start()
    assert not first.isActive and second.isActive and first.id == second.id and first.runId != second.runId
    second.stop()


def damaged_state_is_refused(spark, folder):
    df = events(spark, folder, BATCHES[:2]).groupBy("k").count()

    def run():
        query = df.writeStream.format("noop").outputMode("update").option("checkpointLocation", folder + "/c").trigger(availableNow=True).start()
        query.awaitTermination(60)

    run()
    state = os.path.join(folder, "c", "state", "0", "groups")
    assert sorted(os.listdir(state)) == ["1.delta", "2.delta"], os.listdir(state)
    with open(os.path.join(state, "2.delta"), "r+b") as file:
        content = bytearray(file.read())
        content[len(content) // 2] ^= 1
        file.seek(0)
        file.write(content)
    put(os.path.join(folder, "in"), 9, [{"t": SECOND % 1, "k": "a", "v": 0}])
    try:
        run()
        raise AssertionError("it goes on")
    except Exception as error:
        assert "damaged" in str(error) and "2.delta" in str(error), error


def what_is_not_there_says_so(spark, folder):
    df = spark.readStream.format("rate").load()
    for call in (lambda: df.writeStream.format("noop").trigger(continuous="1 second").start(),
                 lambda: df.groupBy(F.expr("cast(value as string) collate UTF8_LCASE")).count().writeStream.format("noop").outputMode("update").start().processAllAvailable(),
                 lambda: df.groupBy("value").applyInPandasWithState(print, "a int", "b int", "update", "NoTimeout").writeStream.format("noop").outputMode("update").start(),
                 lambda: spark.readStream.format("kafka").load().schema):
        try:
            call()
        except Exception as error:
            assert "UNSUPPORTED_FEATURE" in str(error), error
        else:
            raise AssertionError("it goes on")


def who_waits_for_a_query_hears_how_it_ends(spark, folder):
    """Also a failure that comes while processAllAvailable waits."""
    df = events(spark, folder, BATCHES[:1]).select(F.expr("1 / (v - 6)"))
    query = df.writeStream.format("noop").start()
    query.processAllAvailable()
    put(os.path.join(folder, "in"), 5, [{"t": SECOND % 1, "k": "x", "v": 6}])
    for _ in range(2):
        try:
            query.processAllAvailable()
            raise AssertionError("it goes on")
        except Exception as error:
            assert "DIVIDE_BY_ZERO" in str(error), error
    assert not query.isActive


def unpack(folder, name):
    """A checkpoint that Spark 4.0.1 wrote for the files of `events` (real files of its state are left out)."""
    with open(os.path.join(HERE, "streaming_checkpoints.json"), encoding="utf-8") as file:
        files = json.load(file)[name]
    for path, text in files.items():
        path = os.path.join(folder, name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write((text or "").replace("FOLDER", folder))
    return os.path.join(folder, name)


def a_checkpoint_of_spark_goes_on(spark, folder):
    checkpoint = unpack(folder, "plain")
    df = events(spark, folder, BATCHES[:3]).select("k", "v")
    query = df.writeStream.format("memory").queryName("goes_on").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert plain(spark.table("goes_on").collect()) == plain([("a", 6), ("b", 7)]), spark.table("goes_on").collect()
    assert str(query.id) == "c37c70d3-6e61-4290-a211-6dee9373f539" and [progress.batchId for progress in query.recentProgress] == [2]
    with open(os.path.join(checkpoint, "offsets", "2"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    assert "spark.sql.streaming.stateStore.rocksdb.formatVersion" in json.loads(lines[1])["conf"] and json.loads(lines[2]) == {"logOffset": 2}, lines


def state_of_spark_is_refused(spark, folder):
    checkpoint = unpack(folder, "state")
    df = events(spark, folder, BATCHES[:3]).groupBy("k").count()
    try:
        df.writeStream.format("noop").outputMode("update").option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination(60)
        raise AssertionError("it begins anew")
    except Exception as error:
        assert "state of Spark cannot be read" in str(error), error


def removed_deltas_are_missed(spark, folder):
    df = events(spark, folder, BATCHES[:3]).groupBy("k").count()

    def run():
        query = df.writeStream.format("noop").outputMode("update").option("checkpointLocation", folder + "/c").trigger(availableNow=True).start()
        query.awaitTermination(60)

    run()
    os.remove(folder + "/c/state/0/groups/2.delta")
    put(os.path.join(folder, "in"), 9, [{"t": SECOND % 1, "k": "a", "v": 0}])
    try:
        run()
        raise AssertionError("it goes on")
    except Exception as error:
        assert "2.delta: it is not there" in str(error), error


def state_survives_its_snapshots(spark, folder):
    """Thirty versions with restarts in between: deltas, snapshots, what is removed; and old files go."""
    path = os.path.join(folder, "in")
    total = {}
    for number in range(30):
        rows = [{"t": SECOND % (number + i), "k": f"k{(number * 7 + i) % 40}", "v": number} for i in range(5)]
        for row in rows:
            total[row["k"]] = total.get(row["k"], 0) + row["v"]
        put(path, number, rows)
        if number % 6 == 5:
            df = spark.readStream.schema("t timestamp, k string, v int").option("maxFilesPerTrigger", 1).json(path)
            query = df.groupBy("k").agg(F.sum("v").alias("v")).writeStream.format("memory").queryName("survives").outputMode("complete")
            query = query.option("checkpointLocation", folder + "/c").trigger(availableNow=True).start()
            assert query.awaitTermination(60)
            assert plain(spark.table("survives").collect()) == plain(total.items()), number
    files = sorted(os.listdir(folder + "/c/state/0/groups"), key=lambda name: int(name.split(".")[0]))
    assert len(files) <= 21 and sum(name.endswith(".snapshot") for name in files) == 2 and files[-1].startswith("30."), files


def state_is_larger_than_memory(spark, folder):
    if not os.environ.get("NILAS_LONG"):
        return
    spark.sql("CREATE TABLE lake.only.large (k BIGINT, v STRING) USING iceberg")
    for i in range(3):
        spark.sql(f"INSERT INTO lake.only.large SELECT id + {i * 1000000}, repeat(concat('text ', id), 10) FROM range(1000000)")
    df = spark.readStream.option("streaming-max-files-per-micro-batch", 1).table("lake.only.large").dropDuplicates(["k", "v"])
    query = df.writeStream.format("noop").option("checkpointLocation", folder + "/c").start()
    query.processAllAvailable()
    spark.sql("INSERT INTO lake.only.large SELECT id * 1000, repeat(concat('text ', (id * 1000) % 1000000), 10) FROM range(4000)")
    query.processAllAvailable()
    assert query.lastProgress.stateOperators[0].numRowsTotal == 3001000, query.lastProgress.json
    query.stop()


def memory_stays_flat_over_many_batches(spark, folder):
    if not os.environ.get("NILAS_LONG"):
        return
    df = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).load().withWatermark("timestamp", "10 seconds")
    query = df.groupBy(F.window("timestamp", "5 seconds"), F.col("value") % 7).count().writeStream.format("noop").option("checkpointLocation", folder + "/c").start()
    seen = {}
    while not query.lastProgress or query.lastProgress.batchId < 2500:
        time.sleep(0.2)
        if query.lastProgress:
            seen[query.lastProgress.batchId // 500] = SERVERS[-1].memory_bytes() >> 20
    query.stop()
    assert seen[4] < seen[0] + 28, seen  # 16 MiB of buffers are kept for the next batch
    assert len(query.recentProgress) == 100 and len(os.listdir(folder + "/c/offsets")) <= 111, (len(query.recentProgress), len(os.listdir(folder + "/c/offsets")))


SERVERS = []
ONLY_HERE = [a_checkpoint_of_spark_goes_on, state_of_spark_is_refused, removed_deltas_are_missed, state_survives_its_snapshots, state_is_larger_than_memory, memory_stays_flat_over_many_batches,
             who_waits_for_a_query_hears_how_it_ends, a_function_gets_every_batch_once, a_function_may_keep_a_table, an_exception_of_a_function_ends_the_query, rows_reach_foreach, listeners_hear_of_everything,
             files_count_once, a_query_waits_for_its_interval, another_run_takes_the_checkpoint, damaged_state_is_refused, what_is_not_there_says_so]


# ---- killed servers ----

PLACES = ["stream.offsets:2", "stream.state:3", "stream.written:2", "stream.committed:2"]
if os.environ.get("NILAS_LONG"):
    PLACES += [f"stream.{step}:{n}" for step in ("planned", "offsets", "state", "written", "committed") for n in (1, 3, 4, 5)]


def drain(spark, folder, number):
    df = spark.readStream.format("iceberg").option("streaming-max-files-per-micro-batch", 1).load("lake.crash.src").withWatermark("t", "0 seconds")
    rows = df.dropDuplicates(["k", "t"]).writeStream.option("checkpointLocation", f"{folder}/c{number}").trigger(availableNow=True)
    counts = df.groupBy("k").agg(F.sum("v").alias("v")).writeStream.outputMode("complete").option("checkpointLocation", f"{folder}/d{number}").trigger(availableNow=True)
    assert rows.toTable(f"lake.crash.rows{number}").awaitTermination(60)
    assert counts.toTable(f"lake.crash.counts{number}").awaitTermination(60)


def until_killed(nilas, folder, number, place):
    os.environ["NILAS_CRASH"] = place
    try:
        server = Server(nilas, *flags(folder + "/lake"))
    finally:
        del os.environ["NILAS_CRASH"]
    # Its client asks and asks again until the program ends.
    threading.Thread(target=lambda: drain(connected(server.url), folder, number), daemon=True).start()
    deadline = time.monotonic() + 40
    while server.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    killed = server.process.poll() == -signal.SIGKILL
    log = server.read_log()
    server.stop()
    assert killed, f"{place} was not met: {log}"


# The end of a session waits until all of the process have told their servers what they do not need any more: also the killed ones.
def a_killed_server_loses_and_doubles_nothing(nilas, folder):
    """SIGKILL between any two steps of a batch, state and all."""
    threading.excepthook = lambda _: None
    with serving(nilas, *flags(folder + "/lake")) as server:
        spark = connected(server.url)
        spark.sql("CREATE TABLE lake.crash.src (t TIMESTAMP, k STRING, v INT) USING iceberg")
        for i in range(4):
            spark.sql(f"INSERT INTO lake.crash.src SELECT timestamp'2026-01-01' + make_interval(0, 0, 0, 0, 0, 0, {i} + id % 2), concat('k', id % 3), id FROM range(6)")
        wanted = plain(spark.sql("SELECT k, sum(v) FROM lake.crash.src GROUP BY k").collect())
    for number, place in enumerate(PLACES):
        until_killed(nilas, folder, number, place)
        with serving(nilas, *flags(folder + "/lake")) as again:
            spark = connected(again.url)
            drain(spark, folder, number)
            found = plain(spark.table(f"lake.crash.counts{number}").collect())
            rows = spark.sql(f"SELECT count(*), count(DISTINCT k, t) FROM lake.crash.rows{number}").collect()[0]
            assert found == wanted, f"{place}: {found} {wanted}"
        assert rows[0] == rows[1] > 0, f"{place}: {rows}"


def main():
    nilas, wanted = sys.argv[1], sys.argv[2:]
    problems = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="streaming-") as folder:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        with serving(nilas, *flags(folder + "/lake")) as server:
            spark = connected(server.url)
            problems += run_cases(spark, folder, wanted)
            spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.only")
            SERVERS.append(server)
            for test in ONLY_HERE:
                if wanted and test.__name__ not in wanted:
                    continue
                mine = os.path.join(folder, test.__name__)
                os.makedirs(mine)
                try:
                    test(spark, mine)
                except Exception as error:
                    problems.append(f"{test.__name__}: {type(error).__name__}: {error}")
            spark.stop()
        if not wanted or "crash" in wanted:
            a_killed_server_loses_and_doubles_nothing(nilas, folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"streaming: {len(problems)} problems, {time.monotonic() - began:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    os._exit(ended)  # threads of killed servers' clients are still asking
