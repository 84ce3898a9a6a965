"""Streaming queries with state: joins, sessions, limits, chains, watermarks, functions in Python (see streaming_cases.py)."""
import os

from pyspark.sql import functions as F

from streaming_cases import BATCHES, NEAR, SECOND, events, first_line, plain, put, run, two

LATER = [[(55, "x", 0)], [(58, "y", 0)]]


def far(spark, folder):
    """Two streams whose watermarks go far enough to set most rows free."""
    left = events(spark, folder, BATCHES + LATER).withWatermark("t", "5 seconds")
    others = [[(3, "a", 10), (4, "z", 20)], [(14, "c", 30)], [(40, "q", 40)], [(52, "d", 50)], [(54, "x", 60)], [(59, "w", 70)], []]
    right = events(spark, folder, others, "u timestamp, j string, w int", "in2").withWatermark("u", "5 seconds")
    return left, right


def joined(spark, folder, how, condition=NEAR):
    left, right = far(spark, folder)
    return run(left.join(right, F.expr(condition), how), folder, "joined_" + how)["rows"]


def case_join_far_left(spark, folder, _):
    return joined(spark, folder, "left_outer")


def case_join_far_right(spark, folder, _):
    return joined(spark, folder, "right_outer")


def case_join_far_full(spark, folder, _):
    return joined(spark, folder, "full_outer")


def case_join_far_semi(spark, folder, _):
    return joined(spark, folder, "left_semi")


def case_join_more_conditions(spark, folder, _):
    return [joined(spark, folder, how, NEAR + " and v < w / 3") for how in ("left_outer",)]


def case_join_expressions(spark, folder, _):
    left, right = two(spark, folder)
    return run(left.join(right, F.expr("concat(k, 'x') = concat(j, 'x') and v * 10 = w + 0")), folder, "join_expressions")["rows"]


def case_join_windows(spark, folder, _):
    left, right = far(spark, folder)
    left = left.select(F.window("t", "10 seconds").alias("lw"), "k", "v")
    right = right.select(F.window("u", "10 seconds").alias("rw"), "j", "w")
    return run(left.join(right, F.expr("lw = rw and k = j"), "left_outer"), folder, "join_windows")["rows"]


def case_join_refused(spark, folder, _):
    left, right = two(spark, folder)

    def start(df):
        return lambda: df.writeStream.format("noop").start()

    return {how: first_line(start(left.join(right, F.expr(condition), how)))
            for how, condition in {"inner": "t > u", "left_outer": "t > u", "left_anti": "k = j", "right_outer": "k < j"}.items()}


# ---- sessions ----

def sessions(spark, folder, gap="5 seconds"):
    df = events(spark, folder, BATCHES + LATER).withWatermark("t", "10 seconds")
    return df.groupBy(F.session_window("t", gap), "k").agg(F.sum("v").alias("s"), F.count("*").alias("n"))


def case_session_append(spark, folder, _):
    return run(sessions(spark, folder), folder, "session_append")


def case_session_complete(spark, folder, _):
    return run(sessions(spark, folder), folder, "session_complete", "complete")


def case_session_merges(spark, folder, _):
    batches = [[(1, "a", 1), (12, "a", 2)], [(7, "a", 3), (30, "b", 1)], [(2, "a", 4), (17, "a", 5)], [(45, "b", 1)], [(58, "b", 1)]]
    df = events(spark, folder, batches).withWatermark("t", "20 seconds").groupBy("k", F.session_window("t", "6 seconds")).agg(F.sum("v"), F.min("v"))
    return run(df, folder, "session_merges")["rows"]


def case_session_gap(spark, folder, _):
    gap = F.when(F.col("k") == "a", "20 seconds").otherwise("3 seconds")
    return run(sessions(spark, folder, gap), folder, "session_gap")


def case_session_no_keys(spark, folder, _):
    df = events(spark, folder, BATCHES).withWatermark("t", "5 seconds").groupBy(F.session_window("t", "8 seconds")).count()
    try:
        return run(df.select("session_window.start", "session_window.end", "count"), folder, "session_no_keys")["rows"]
    except Exception as error:
        return str(error).splitlines()[0].split("exception: ")[1]


def case_session_refused(spark, folder, _):
    df = events(spark, folder, BATCHES)
    marked = df.withWatermark("t", "5 seconds")

    def start(frame, mode):
        return lambda: frame.writeStream.format("noop").outputMode(mode).start()

    return {"update": first_line(start(marked.groupBy("k", F.session_window("t", "5 seconds")).count(), "update")),
            "no watermark": first_line(start(df.groupBy("k", F.session_window("t", "5 seconds")).count(), "append")),
            "alone": first_line(start(marked.groupBy(F.session_window("t", "5 seconds")).count(), "update"))}


# ---- grouping sets ----

def case_rollup(spark, folder, _):
    df = events(spark, folder, BATCHES).withColumn("odd", F.col("v") % 2)
    by = df.rollup("k", "odd").agg(F.sum("v").alias("s"), F.count("*"), F.grouping_id(), F.grouping("odd"))
    return [run(by, folder, "rollup_complete", "complete")["rows"], run(by.where("s > 5"), folder, "rollup_update", "update")]


def case_cube_windows(spark, folder, _):
    df = events(spark, folder, BATCHES + LATER).withWatermark("t", "5 seconds")
    return run(df.cube("k", F.window("t", "10 seconds")).agg(F.max("v")), folder, "cube_update", "update")["rows"]


# ---- limits ----

def case_limit_append(spark, folder, _):
    return run(events(spark, folder, BATCHES).select("k", "v").limit(4), folder, "limit_append")["rows"]


def case_limit_distinct(spark, folder, _):
    return run(events(spark, folder, BATCHES).dropDuplicates(["k"]).select("k").limit(2), folder, "limit_distinct")["batches"]


def case_limit_continued(spark, folder, _):
    """The rows that have come count over restarts."""
    found = []
    for count in (1, 3, 5):
        df = events(spark, folder, BATCHES[:count]).select("k", "v").limit(6)
        query = df.writeStream.option("checkpointLocation", folder + "/c").format("parquet").trigger(availableNow=True).start(folder + "/out")
        query.awaitTermination(120)
        found.append(spark.read.parquet(folder + "/out").count())
    return found


def case_limit_complete(spark, folder, _):
    df = events(spark, folder, BATCHES).groupBy("k").agg(F.sum("v").alias("s"))
    return [run(df.orderBy("k").limit(3), folder, "limit_sorted", "complete")["rows"], len(run(df.limit(2), folder, "limit_complete", "complete")["rows"]),
            first_line(lambda: run(df.orderBy("k").offset(1).limit(2), folder, "limit_offset", "complete"))]


# ---- one after the other ----

def case_chained_windows(spark, folder, _):
    df = events(spark, folder, BATCHES + LATER).withWatermark("t", "2 seconds")
    small = df.groupBy(F.window("t", "5 seconds"), "k").agg(F.sum("v").alias("s"))
    return run(small.groupBy(F.window("window", "20 seconds")).agg(F.sum("s"), F.count("*")), folder, "chained_windows")


def case_chained_window_time(spark, folder, _):
    df = events(spark, folder, BATCHES + LATER).withWatermark("t", "2 seconds")
    small = df.groupBy(F.window("t", "5 seconds"), "k").agg(F.sum("v").alias("s")).select(F.window_time("window").alias("at"), "s")
    return run(small.groupBy(F.window("at", "20 seconds")).agg(F.sum("s")), folder, "chained_window_time")["rows"]


def case_chained_deduplicate(spark, folder, _):
    df = events(spark, folder, BATCHES + LATER).withWatermark("t", "2 seconds").dropDuplicates(["k", "t"])
    return run(df.groupBy(F.window("t", "10 seconds")).agg(F.sum("v"), F.count("*")), folder, "chained_deduplicate")


def case_chained_join(spark, folder, _):
    left, right = far(spark, folder)
    pairs = left.join(right, F.expr(NEAR)).groupBy(F.window("t", "10 seconds")).agg(F.sum("w"), F.count("*"))
    return run(pairs, folder, "chained_join")["rows"]


def case_chained_outer_join(spark, folder, _):
    left, right = far(spark, folder)
    pairs = left.join(right, F.expr(NEAR), "left_outer").groupBy(F.window("t", "10 seconds")).agg(F.sum("w"), F.count("*"))
    return run(pairs, folder, "chained_outer_join")["rows"]


def case_chained_complete(spark, folder, _):
    df = events(spark, folder, BATCHES).withWatermark("t", "2 seconds").dropDuplicates(["k", "t"])
    return run(df.groupBy("k").count(), folder, "chained_complete", "complete")


# ---- watermarks ----

def several(spark, folder, policy):
    left = events(spark, folder, BATCHES).withWatermark("t", "5 seconds").select("t", "k")
    others = [[(30, "a", 10)], [(44, "c", 30)], [(45, "q", 40)], [(52, "d", 50)], [(58, "d", 50)]]
    right = events(spark, folder, others, "u timestamp, j string, w int", "in2").withWatermark("u", "1 second").select("u", "j")
    before = spark.conf.get("spark.sql.streaming.multipleWatermarkPolicy")
    spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", policy)
    try:
        return run(left.union(right).groupBy(F.window("t", "10 seconds")).count(), folder, "several_" + policy)
    finally:
        spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", before)


def case_watermarks_min(spark, folder, _):
    return several(spark, folder, "min")


def case_watermarks_max(spark, folder, _):
    return several(spark, folder, "max")


def case_watermark_of_one_side(spark, folder, _):
    left = events(spark, folder, BATCHES).withWatermark("t", "5 seconds")
    right = events(spark, folder, [[(30, "a", 10)], [(44, "c", 30)]], "u timestamp, j string, w int", "in2")
    return run(left.join(right, F.expr("k = j")).groupBy(F.window("t", "10 seconds")).count(), folder, "of_one_side")["rows"]


# ---- state over restarts ----

def case_state_continued(spark, folder, _):
    """Every kind of state is there again after a restart."""
    found = []
    for count in (2, 3, 5):
        df = events(spark, folder, BATCHES[:count]).withWatermark("t", "10 seconds")
        right = events(spark, folder, [[(3, "a", 10)], [(14, "c", 30)], [(4, "b", 1)], [(40, "d", 1)], [(51, "d", 2)]][:count], "u timestamp, j string, w int", "in2").withWatermark("u", "10 seconds")
        for number, frame in enumerate((df.groupBy("k", F.window("t", "10 seconds")).agg(F.sum("v"), F.collect_list("v")), df.dropDuplicates(["k"]), df.join(right, F.expr(NEAR), "full_outer"),
                                        df.groupBy("k", F.session_window("t", "5 seconds")).count())):
            out = f"{folder}/out{number}"
            query = frame.writeStream.option("checkpointLocation", f"{folder}/c{number}").format("parquet").trigger(availableNow=True).start(out)
            query.awaitTermination(120)
            rows = plain(spark.read.parquet(out).collect())
            found.append([number, len(rows) if number == 1 else rows])
    return found


# ---- folders ----

def case_partitioned_files(spark, folder, _):
    out = os.path.join(folder, "out")
    df = events(spark, folder, BATCHES[:2]).withColumn("d", F.to_date("t"))
    query = df.writeStream.partitionBy("k", "d").format("parquet").option("checkpointLocation", folder + "/c").trigger(availableNow=True).start(out)
    query.awaitTermination(120)
    folders = sorted({os.path.relpath(path, out) for path, _, files in os.walk(out) if any(name.endswith(".parquet") for name in files)})
    back = spark.read.parquet(out)
    schema = "t timestamp, v int, k string, d date"
    again = run(spark.readStream.schema(schema).parquet(out), folder, "partitioned_again")
    return [folders, back.schema.simpleString(), plain(back.collect()), again["rows"], plain(spark.read.parquet(out + "/k=a").select("v").collect())]


def case_partitioned_source(spark, folder, _):
    """Folders that no stream has written."""
    base = os.path.join(folder, "in")
    for number, (year, rows) in enumerate(((2025, [1, 2]), (2026, [3]))):
        put(f"{base}/year={year}/name=n{number}", number, [{"v": v} for v in rows])
    df = spark.readStream.schema("v int, year int, name string").json(base)
    first = run(df.where("year > 2000"), folder, "partitioned_source")["rows"]
    put(f"{base}/year=2027/name=late", 9, [{"v": 4}])
    df = spark.readStream.schema("name string, v int, year string").option("pathGlobFilter", "*.json").json(base)
    return [first, run(df, folder, "partitioned_order")["rows"], df.schema.simpleString()]


def case_sources_glob(spark, folder, _):
    for number, name in enumerate(("a1", "a2", "b1")):
        put(f"{folder}/{name}", number, [{"v": number}])
    return run(spark.readStream.schema("v int").json(folder + "/a*"), folder, "sources_glob")["rows"]


def case_text_sources(spark, folder, _):
    os.makedirs(folder + "/in")
    with open(folder + "/in/a.txt", "w", encoding="utf-8") as file:
        file.write("one\ntwo\n")
    return run(spark.readStream.text(folder + "/in"), folder, "text_sources")["rows"]


# ---- progress ----

def keys(value):
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [keys(inner) for inner in value]
    return type(value).__name__


def case_progress_fields(spark, folder, _):
    import json
    df = events(spark, folder, BATCHES[:2]).withWatermark("t", "5 seconds").groupBy(F.window("t", "10 seconds")).count()
    query = df.writeStream.format("memory").queryName("progress_fields").option("checkpointLocation", folder + "/c").start()
    query.processAllAvailable()
    progress = json.loads(query.recentProgress[0].json)
    last = query.lastProgress
    found = [sorted(progress), sorted(progress["stateOperators"][0]), sorted(progress["sources"][0]), sorted(progress["sink"]), sorted(progress["eventTime"]),
             progress["sources"][0]["startOffset"], progress["sources"][0]["endOffset"], progress["sources"][0]["description"].split(folder)[0], progress["sink"],
             [type(last).__name__, last.name, last.batchId, sorted(last["durationMs"])], progress["batchId"], progress["name"]]
    query.stop()
    return found


def case_exceptions(spark, folder, _):
    found = {}

    def fail(name, df, mode="append"):
        query = df.writeStream.format("memory").queryName("failing_" + name).outputMode(mode).start()
        try:
            query.awaitTermination(120)
            found[name] = "nothing"
        except Exception as error:
            kept = query.exception()
            found[name] = [type(error).__name__, type(kept).__name__, getattr(error, "getCondition", lambda: None)(), "[DIVIDE_BY_ZERO]" in str(error),
                           str(error).splitlines()[0].replace(str(query.id), "ID").replace(str(query.runId), "RUN").replace(" SQLSTATE: XXKST", ""), query.isActive, query.status["message"].splitlines()[0]]

    rows = events(spark, folder, BATCHES[:1])
    fail("division", rows.select(F.expr("1 / (v - 1)")))
    fail("cast", rows.select(F.expr("cast(k as int)")))
    fail("aggregate", rows.groupBy("k").agg(F.expr("sum(1 / (v - 1))")), "update")
    return found


# ---- functions in Python on groups ----

def case_apply_in_pandas_with_state(spark, folder, _):
    import pandas

    def count(key, frames, state):
        total = state.get[0] if state.exists else 0
        rows = 0
        for frame in frames:
            rows += len(frame)
            total += int(frame["v"].sum())
        state.update((total,))
        yield pandas.DataFrame({"k": [key[0]], "rows": [rows], "total": [total]})

    df = events(spark, folder, BATCHES).groupBy("k").applyInPandasWithState(count, "k string, rows long, total long", "total long", "update", "NoTimeout")
    return run(df, folder, "with_state", "update")


def case_apply_in_pandas_with_timeout(spark, folder, _):
    import pandas
    from pyspark.sql.streaming.state import GroupStateTimeout

    def count(key, frames, state):
        if state.hasTimedOut:
            total = state.get[0]
            state.remove()
            yield pandas.DataFrame({"k": [key[0]], "total": [-total]})
            return
        total = state.get[0] if state.exists else 0
        for frame in frames:
            total += int(frame["v"].sum())
        state.update((total,))
        state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 10000)
        yield pandas.DataFrame({"k": [key[0]], "total": [total]})

    df = events(spark, folder, BATCHES + LATER).withWatermark("t", "5 seconds").groupBy("k")
    df = df.applyInPandasWithState(count, "k string, total long", "total long", "append", GroupStateTimeout.EventTimeTimeout)
    return run(df, folder, "with_timeout", "append")["rows"]


CASES = {name[5:]: case for name, case in sorted(globals().items()) if name.startswith("case_")}
