#!/usr/bin/env python3
"""session_test.py NILAS [CASE …] - PySpark against nilas connect: what programs see is what they see with Spark (cases.py)."""
import json
import logging
import os
import sys
import threading
import time
import traceback
import uuid

import grpc
from pyspark.errors import SparkRuntimeException

from cases import CASES, plain
from versions import plain_of_version
from server import connected, serving

logging.disable(logging.CRITICAL)
HERE = os.path.dirname(os.path.abspath(__file__))

# Where nilas says something else on purpose (docs/differences.md), or not all of it: case, what is left out, why.
OTHERWISE = {  # nilas shows where in the text; Spark's exceptions of these functions have no context
    name: ("contexts", "text") for name in ("error_of_cast_overflow", "error_of_charset", "error_of_parsing", "error_of_raised")
}


def difference(name, found, expected):
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in OTHERWISE.get(name, ()):
            found, expected = {**found, key: None}, {**expected, key: None}
    if found == expected:
        return None
    return f"{name}\n  nilas {json.dumps(found, ensure_ascii=False)}\n  spark {json.dumps(expected, ensure_ascii=False)}"


def run_cases(url, wanted):
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    spark = connected(url)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    problems = []
    for name in sorted(CASES):
        if wanted and name not in wanted:
            continue
        try:
            found = plain(CASES[name](spark))
        except Exception as error:  # as record.py writes what the client refuses
            found = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        problem = difference(name, plain_of_version(json.loads(json.dumps(found))), plain_of_version(expected.get(name, "not recorded")))
        if problem:
            problems.append(problem)
    spark.stop()
    return problems


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def run_together(work, numbers):
    """work(i) in a thread for every number at the same time: what each gave, in order. Fails with what each thread that failed says."""
    given, wrong = {}, {}

    def run(i):
        try:
            given[i] = work(i)
        except BaseException:
            wrong[i] = traceback.format_exc()

    threads = [threading.Thread(target=run, args=(i,)) for i in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not wrong, f"{len(wrong)} of {len(threads)} threads fail\n" + "\n".join(f"thread {i}: {text}" for i, text in sorted(wrong.items())))
    return [given[i] for i in numbers]


def test_a_query_is_interrupted_from_another_thread(url):
    spark = connected(url)
    seen = []

    def run():
        spark.addTag("mine")  # tags belong to the thread
        try:
            spark.sql("SELECT count(*) FROM range(100000) a JOIN range(100000) b ON a.id % 7 < b.id % 11").collect()
        except Exception as error:
            seen.append(f"{type(error).__name__} {error}")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.5)
    check(spark.conf.get("spark.sql.ansi.enabled") == "true", "the session answers while the query runs")
    interrupted = spark.interruptTag("mine")
    thread.join(timeout=10)
    check(not thread.is_alive() and len(interrupted) == 1, f"one operation is interrupted: {interrupted}")
    check("OPERATION_CANCELED" in seen[0], f"the query fails: {seen}")
    check(spark.sql("SELECT 1").collect()[0][0] == 1, "the session lives on")
    spark.stop()


HEAVY = "SELECT count(*) AS n FROM range(1000000) a JOIN range(1000000) b ON a.id % 7 < b.id % 11"
LONG = {
    "create table": lambda spark: spark.sql(f"CREATE TABLE local.db.long USING iceberg AS {HEAVY}"),
    "insert": lambda spark: spark.sql(f"INSERT INTO local.db.numbers {HEAVY}"),
    "delete": lambda spark: spark.sql(f"DELETE FROM local.db.numbers WHERE n IN ({HEAVY})"),
    "merge": lambda spark: spark.sql(f"MERGE INTO local.db.numbers t USING ({HEAVY}) s ON t.n = s.n WHEN NOT MATCHED THEN INSERT *"),
    "show": lambda spark: spark.sql(HEAVY).show(),
    "write": lambda spark: spark.sql(HEAVY).writeTo("local.db.numbers").append(),
    "write files": lambda spark: spark.sql(HEAVY).write.mode("overwrite").parquet("long.parquet"),
    "collect": lambda spark: spark.sql(HEAVY).collect(),
    "set variable": lambda spark: spark.sql(f"SET VARIABLE v = ({HEAVY})"),
}
INTERRUPTS = [
    lambda spark, ids: spark.interruptAll(),
    lambda spark, ids: spark.interruptTag("mine"),
    lambda spark, ids: spark.interruptOperation(ids[0]),
]


def note_operations(spark, ids):
    """Keeps the ids of the operations that this thread starts (the client gives each request one)."""
    make, thread = spark.client._execute_plan_request_with_metadata, threading.get_ident()

    def noting(*arguments):
        request = make(*arguments)
        if threading.get_ident() == thread:
            request.operation_id = str(uuid.uuid4())
            ids.insert(0, request.operation_id)
        return request

    spark.client._execute_plan_request_with_metadata = noting


def run_beside(spark, name, interrupt):
    """Runs a long command in a thread; says what is wrong with the session meanwhile and with the command's end."""
    seen = []
    ids = []  # of operations, as the client makes them

    def run():
        spark.addTag("mine")
        note_operations(spark, ids)
        try:
            LONG[name](spark)
            seen.append("it has ended")
        except Exception as error:
            seen.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.3)
    began = time.monotonic()
    check(spark.sql("SELECT sum(id) FROM range(10)").collect()[0][0] == 45, "a query runs beside it")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW beside AS SELECT 1 AS x")
    spark.sql("INSERT INTO local.db.others VALUES (1)")
    spark.conf.set("my.key", name)
    check(spark.sql("SET my.key").collect()[0][1] == name and spark.table("beside").count() == 1, "commands run beside it")
    took = time.monotonic() - began
    check(not seen, f"{name} is still running: {seen}")
    check(took < 5, f"beside {name}: {took:.1f} s")
    check(spark.interruptTag("another") == [], "another tag interrupts nothing")
    interrupted = interrupt(spark, ids)
    check(len(interrupted) == 1, f"one operation is interrupted: {interrupted}")
    began = time.monotonic()
    thread.join(timeout=10)
    check(not thread.is_alive() and time.monotonic() - began < 3, f"{name} stops")
    check("OPERATION_CANCELED" in seen[0], f"{name} fails: {seen}")


def test_a_long_command_leaves_its_session_free(url):
    spark = connected(url)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS local.db")
    for table in ("numbers", "others"):
        spark.sql(f"CREATE OR REPLACE TABLE local.db.{table} (n bigint) USING iceberg")
    spark.sql("INSERT INTO local.db.numbers VALUES (1), (2)")
    spark.sql("DECLARE VARIABLE v bigint")
    for i, name in enumerate(LONG):
        run_beside(spark, name, INTERRUPTS[i % 3])
    check(spark.table("local.db.numbers").count() == 2, "nothing was written")
    check(not spark.catalog.tableExists("local.db.long"), "no table was made")
    check(spark.table("local.db.others").count() == len(LONG), "what ran beside was")
    spark.stop()


def test_progress_is_told(url):
    spark = connected(url)
    told, frame = [], spark.sql(HEAVY)
    spark.registerProgressHandler(lambda stages, inflight_tasks, operation_id, done: told.append((list(stages or ()), inflight_tasks, operation_id, done)))
    threading.Timer(4.5, spark.interruptAll).start()
    try:
        frame.collect()
        raise AssertionError("the query ends by itself")
    except Exception as error:
        check("OPERATION_CANCELED" in str(error), str(error))
    running = [stages for stages, _, _, done in told if not done]
    check(len(running) in (1, 2), f"told every two seconds: {told}")
    stage = running[0][0]
    check(stage.num_tasks > 0 and stage.num_completed_tasks == 0 and not stage.done and told[0][1] > 0, f"{told[0]}")
    check(told[-1][3] and len({operation for _, _, operation, done in told if not done}) == 1, f"the end of one operation: {told[-1]}")
    spark.stop()


def test_writes_of_one_session_run_at_the_same_time(url):
    spark = connected(url)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS local.db")
    spark.sql("CREATE OR REPLACE TABLE local.db.shared (i bigint, n bigint) USING iceberg")

    def run(i):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v{i} AS SELECT {i} AS i, id AS n FROM range({i * 100})")
        spark.sql(f"INSERT INTO local.db.shared SELECT * FROM v{i}")
        spark.conf.set("spark.sql.shuffle.partitions", str(i + 1))
        spark.sql(f"DROP VIEW v{i}")
        spark.sql(f"CREATE OR REPLACE TABLE local.db.own{i} USING iceberg AS SELECT {i} AS i, count(*) AS c FROM local.db.shared WHERE i = {i}")
        return [tuple(row) for row in spark.table(f"local.db.own{i}").collect()]

    found = run_together(run, range(20))
    check(found == [[(i, i * 100)] for i in range(20)], f"{found}")
    check(spark.table("local.db.shared").count() == sum(i * 100 for i in range(20)), "all rows are there")
    spark.stop()


def test_sessions_are_apart(url):
    one, two = (connected(url) for _ in range(2))
    one.sql("CREATE TEMPORARY VIEW v AS SELECT 'one' AS x")
    one.conf.set("my.key", "1")
    two.sql("CREATE TEMPORARY VIEW v AS SELECT 'two' AS x")
    check([s.sql("SELECT x FROM v").collect()[0].x for s in (one, two)] == ["one", "two"], "views are of their sessions")
    check(two.conf.get("my.key", None) is None, "settings are of their session")
    one.stop()
    check(two.sql("SELECT x FROM v").collect()[0].x == "two", "the end of one session is not that of another")
    two.stop()


def test_sessions_of_a_server_share_what_is_not_temporary(url):
    one, two = (connected(url) for _ in range(2))
    for spark in (one, two):
        spark.sql("USE spark_catalog.default")
    one.range(3).createOrReplaceGlobalTempView("seen_by_all")
    check(two.table("global_temp.seen_by_all").count() == 3, "global temporary views are those of the program")
    one.createDataFrame([(1, "a")], "a int, b string").createOrReplaceGlobalTempView("seen_by_all")
    check([tuple(row) for row in two.table("global_temp.seen_by_all").collect()] == [(1, "a")], "with the rows that the client sent")
    one.sql("CREATE TABLE both (a int, p int) USING parquet PARTITIONED BY (p)")
    one.sql("INSERT INTO both VALUES (1, 1)")
    one.sql("CACHE TABLE both")
    check(two.table("both").count() == 1, "tables over plain files are those of the program")
    two.sql("INSERT INTO both VALUES (2, 2)")
    check(sorted(tuple(row) for row in one.table("both").collect()) == [(1, 1), (2, 2)], "what is kept is made anew after another session's write")

    def insert(i):
        (one, two)[i % 2].sql(f"INSERT INTO both VALUES ({i}, {i})")

    run_together(insert, range(10, 30))
    for spark in (one, two):
        check(spark.table("both").count() == 22, "no partition is lost when both write at once")
    one.sql("CREATE FUNCTION next_one(x int) RETURNS int RETURN x + 1")
    check(two.sql("SELECT next_one(2) AS n").collect()[0].n == 3, "functions that are kept are those of the program")
    two.sql("DROP FUNCTION next_one")
    two.sql("DROP TABLE both")
    two.sql("CREATE TABLE both (a int, p int) USING parquet PARTITIONED BY (p)")
    check(one.table("both").count() == 0, "what was kept of a dropped table is not that of the next one")
    two.sql("DROP TABLE both")
    one.stop()
    check(two.table("global_temp.seen_by_all").count() == 1, "they do not end with the session that made them")
    two.sql("DROP VIEW global_temp.seen_by_all")
    two.stop()


def test_views_of_dataframes_are_altered(url):
    spark = connected(url)
    spark.range(3).createOrReplaceTempView("numbers")
    spark.sql("ALTER VIEW numbers RENAME TO renamed")
    check(spark.table("renamed").count() == 3, "the DataFrame goes with the name")
    spark.sql("ALTER VIEW renamed AS SELECT 1 AS a")
    check(spark.table("renamed").columns == ["a"], "a query takes its place")
    spark.stop()


def test_errors_with_bytes_that_are_no_text(url):
    spark = connected(url)
    try:
        spark.sql("SELECT raise_error(CAST(X'61FFFE62' AS STRING))").collect()
        found = "no error"
    except SparkRuntimeException as error:
        found = error.getCondition(), error.getMessageParameters()["errorMessage"]
    check(found == ("USER_RAISED_EXCEPTION", "a\ufffd\ufffdb"), f"{found}")
    spark.stop()


def clone(spark, url, new=None):
    """CloneSession, which clients have since 4.1: the answer's texts by their field's number."""
    def text(field, value):
        return bytes([field << 3 | 2, len(value)]) + value

    request = text(1, spark.session_id.encode()) + text(2, text(1, (spark.client._user_id or "").encode())) + (text(4, new.encode()) if new else b"")
    with grpc.insecure_channel(url.split("//")[1]) as channel:
        answer, found = channel.unary_unary("/spark.connect.SparkConnectService/CloneSession")(request), {}
    while answer:
        field, length = answer[0] >> 3, answer[1]
        found[field], answer = answer[2 : 2 + length].decode(), answer[2 + length :]
    return found


def test_a_session_is_cloned(url):
    spark = connected(url)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS local.mine")
    spark.sql("USE local.mine")
    spark.conf.set("my.key", "1")
    spark.conf.set("spark.sql.shuffle.partitions", "42")
    spark.sql("DECLARE VARIABLE v int DEFAULT 5")
    spark.sql("CREATE TEMPORARY FUNCTION twice(x int) RETURN 2 * x")
    spark.sql("CREATE TEMPORARY VIEW texts AS SELECT 'one' AS x")
    spark.table("texts").selectExpr("x || '!' AS y").createOrReplaceTempView("frames")
    answer = clone(spark, url)
    check(answer[1] == spark.session_id and uuid.UUID(answer[3]) and len(set(answer.values())) == 4, f"{answer}")
    other = connected(f"{url}/;session_id={answer[3]}")

    def has(session):
        return session.sql("SELECT x, y, twice(v), current_schema() FROM texts, frames").collect()[0][:] + (session.conf.get("my.key"), session.conf.get("spark.sql.shuffle.partitions"))

    check(has(other) == ("one", "one!", 10, "mine", "1", "42"), f"{has(other)}")
    spark.sql("SET VARIABLE v = 7")
    spark.conf.set("my.key", "2")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW texts AS SELECT 'two' AS x")
    other.sql("CREATE OR REPLACE TEMPORARY FUNCTION twice(x int) RETURN 3 * x")
    other.sql("USE local.db")
    check(has(other) == ("one", "one!", 15, "db", "1", "42") and has(spark) == ("two", "one!", 14, "mine", "2", "42"), f"they are apart: {has(other)}, {has(spark)}")
    spark.stop()
    check(has(other)[:3] == ("one", "one!", 15), "the clone lives on")

    def refusal(new):
        try:
            return clone(other, url, new)
        except grpc.RpcError as error:
            return error.details()

    if hasattr(other, "cloneSession"):  # clients of 4.1 and later
        check(has(other.cloneSession())[:3] == ("one", "one!", 15), "by the client's own way")
    check("[INVALID_CLONE_SESSION_REQUEST.TARGET_SESSION_ID_FORMAT]" in refusal("x"), refusal("x"))
    check("[INVALID_CLONE_SESSION_REQUEST.TARGET_SESSION_ID_ALREADY_EXISTS]" in refusal(other.session_id), refusal(other.session_id))
    check("[INVALID_CLONE_SESSION_REQUEST.TARGET_SESSION_ID_ALREADY_CLOSED]" in refusal(spark.session_id), refusal(spark.session_id))
    other.stop()


def test_a_released_session_is_refused(url):
    spark = connected(url)
    session_id = spark.session_id
    check(spark.sql("SELECT 1").count() == 1, "it works")
    spark.stop()
    again = connected(f"{url}/;session_id={session_id}")
    try:
        again.sql("SELECT 1").collect()
        raise AssertionError("a closed session runs statements")
    except Exception as error:
        check("INVALID_HANDLE.SESSION_CLOSED" in str(error), str(error))


def test_queries_of_one_session_run_at_the_same_time(url):
    spark = connected(url)
    found = run_together(lambda i: spark.sql(f"SELECT sum(id) AS s FROM range({i}, {i + 20000})").collect()[0].s, range(16))
    check(found == [sum(range(i, i + 20000)) for i in range(16)], f"every thread has its own answer: {found}")
    spark.stop()


def test_a_hundred_sessions(url, server):
    def work(i):
        spark = connected(url)
        spark.conf.set("my.number", str(i))
        spark.sql(f"CREATE TEMPORARY VIEW mine AS SELECT {i} AS n")
        found = spark.sql("SELECT n FROM mine").collect()[0].n
        number = spark.conf.get("my.number")
        if i % 2:
            spark.stop()
        return found, number

    for start in range(0, 100, 10):
        found = run_together(work, range(start, start + 10))
        check(found == [(i, str(i)) for i in range(start, start + 10)], f"sessions mix: {found}")
    check(server.thread_count() < 120, f"{server.thread_count()} threads")
    check(server.memory_bytes() < 400 << 20, f"{server.memory_bytes() >> 20} MiB")


def main():
    nilas, wanted = sys.argv[1], sys.argv[2:]
    with serving(nilas, "--conf", "spark.sql.defaultCatalog=spark_catalog") as server:
        problems = run_cases(server.url, wanted)
        for name, test in list(globals().items()):
            if not name.startswith("test_") or (wanted and name not in wanted):
                continue
            try:
                test(server.url, server) if test.__code__.co_argcount == 2 else test(server.url)
            except Exception as error:
                problems.append(f"{name}: {type(error).__name__} {error}")
        if not server.is_alive():
            problems.append(f"the server has died: {server.read_log()}")
    for problem in problems:
        print(problem)
    print(f"{len(CASES)} cases of PySpark, {len(problems)} differ")
    sys.stdout.flush()
    os._exit(1 if problems else 0)  # sessions would wait minutes to tell the server, which has stopped, that they end


if __name__ == "__main__":
    sys.exit(main())
