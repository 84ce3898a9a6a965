#!/usr/bin/env python3
"""session_test.py NILAS [CASE …] - PySpark against nilas connect: what programs see is what they see with Spark (cases.py)."""
import json
import logging
import os
import sys
import threading
import time

from pyspark.sql import SparkSession

from cases import CASES, plain
from server import serving

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
    spark = SparkSession.builder.remote(url).create()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    problems = []
    for name in sorted(CASES):
        if wanted and name not in wanted:
            continue
        try:
            found = plain(CASES[name](spark))
        except Exception as error:  # as record.py writes what the client refuses
            found = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        problem = difference(name, json.loads(json.dumps(found)), expected.get(name, "not recorded"))
        if problem:
            problems.append(problem)
    spark.stop()
    return problems


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def test_a_query_is_interrupted_from_another_thread(url):
    spark = SparkSession.builder.remote(url).create()
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


def test_sessions_are_apart(url):
    one, two = (SparkSession.builder.remote(url).create() for _ in range(2))
    one.sql("CREATE TEMPORARY VIEW v AS SELECT 'one' AS x")
    one.conf.set("my.key", "1")
    two.sql("CREATE TEMPORARY VIEW v AS SELECT 'two' AS x")
    check([s.sql("SELECT x FROM v").collect()[0].x for s in (one, two)] == ["one", "two"], "views are of their sessions")
    check(two.conf.get("my.key", None) is None, "settings are of their session")
    one.stop()
    check(two.sql("SELECT x FROM v").collect()[0].x == "two", "the end of one session is not that of another")
    two.stop()


def test_a_released_session_is_refused(url):
    spark = SparkSession.builder.remote(url).create()
    session_id = spark.session_id
    check(spark.sql("SELECT 1").count() == 1, "it works")
    spark.stop()
    again = SparkSession.builder.remote(f"{url}/;session_id={session_id}").create()
    try:
        again.sql("SELECT 1").collect()
        raise AssertionError("a closed session runs statements")
    except Exception as error:
        check("INVALID_HANDLE.SESSION_CLOSED" in str(error), str(error))


def test_queries_of_one_session_run_at_the_same_time(url):
    spark = SparkSession.builder.remote(url).create()
    rows = []

    def run(i):
        rows.append(spark.sql(f"SELECT sum(id) AS s FROM range({i}, {i + 20000})").collect()[0].s)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(sorted(rows) == [sum(range(i, i + 20000)) for i in range(16)], "every thread has its own answer")
    spark.stop()


def test_a_hundred_sessions(url, server):
    def work(i):
        spark = SparkSession.builder.remote(url).create()
        spark.conf.set("my.number", str(i))
        spark.sql(f"CREATE TEMPORARY VIEW mine AS SELECT {i} AS n")
        found = spark.sql("SELECT n FROM mine").collect()[0].n
        if found != i or spark.conf.get("my.number") != str(i):
            wrong.append((i, found))
        if i % 2:
            spark.stop()

    wrong = []
    for start in range(0, 100, 10):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(start, start + 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    check(not wrong, f"sessions mix: {wrong}")
    check(server.thread_count() < 60, f"{server.thread_count()} threads")
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
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
