#!/usr/bin/env python3
"""killed_test.py NILAS [SESSIONS] - clients that are killed: what they had is free again, and the server stays as it was."""
import logging
import os
import signal
import sys
import time
import traceback

import pyarrow  # noqa: F401  imported once: the clients are forks
import pyspark.sql.connect.session  # noqa: F401
from pyspark.sql.functions import udf

from server import connected, serving
from wire_test import check

logging.disable(logging.CRITICAL)
ENDLESS = "SELECT count(*) FROM range(10000000) a JOIN range(10000000) b ON a.id % 7 < b.id % 11"
GRACE = 8  # seconds: the timeouts below and the server's ticks


def forked(url, work):
    """A client of its own process: its id, when it says that it is at work."""
    says, tells = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            spark = connected(url)
            work(spark, lambda: os.write(tells, b"."))
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(tells)
    is_at_work = os.read(says, 1) == b"."
    os.close(says)
    if not is_at_work:
        kill([process])
    check(is_at_work, f"the client comes to {work.__name__}")
    return process


def kill(processes):
    for process in processes:
        os.kill(process, signal.SIGKILL)
    for process in processes:
        os.waitpid(process, 0)


def in_query(spark, tell):
    import threading
    threading.Timer(0.3, tell).start()
    spark.sql(ENDLESS).collect()


def in_command(spark, tell):
    import threading
    threading.Timer(0.3, tell).start()
    spark.sql(f"CREATE TABLE local.killed.t{os.getpid()} USING iceberg AS {ENDLESS}")


def in_python(spark, tell):
    import threading

    def forever(_):
        time.sleep(600)

    threading.Timer(1.5, tell).start()
    spark.range(1).select(udf(forever, "string")("id")).collect()


def with_a_lot(spark, tell):
    spark.createDataFrame([(i, "x" * 100) for i in range(2000)]).createOrReplaceTempView("mine")
    spark.sql("SELECT * FROM mine").cache().count()
    spark.range(300000).selectExpr("id", "repeat('x', 50) AS s").cache().count()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    stream = spark.range(3000000).selectExpr("id", "repeat('x', 50) AS s").toLocalIterator()
    next(stream)  # and never the rest
    tell()
    time.sleep(600)


WORKS = (with_a_lot, in_python, in_query, in_command)


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def state(server):
    return {"files": len(os.listdir(f"/proc/{server.process.pid}/fd")), "threads": server.thread_count(), "MiB": server.memory_bytes() >> 20}


def is_quiet(server):
    before = cpu_seconds(server)
    time.sleep(0.5)
    return cpu_seconds(server) - before < 0.1


def worker_processes(server):
    """All processes below the server."""
    found, left = [], [str(server.process.pid)]
    while left:
        pid = left.pop()
        for task in os.listdir(f"/proc/{pid}/task") if os.path.isdir(f"/proc/{pid}") else ():
            try:
                with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
                    below = file.read().split()
            except OSError:
                below = []
            found += below
            left += below
    return found


def settle(server):
    until = time.monotonic() + 20
    while not is_quiet(server) or worker_processes(server):
        check(time.monotonic() < until, f"what a killed client began goes on: {state(server)}, {worker_processes(server)}")
    time.sleep(GRACE)


def main():
    nilas, sessions = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8
    timeouts = ("--detached-timeout", "1", "--idle-timeout", "6")
    problems = []
    with serving(nilas, "--conf", f"spark.pyspark.python={sys.executable}", *timeouts) as server:
        # The clients are forked before this process has a channel of its own.
        states = []
        for begin in range(0, sessions, len(WORKS)):
            clients = []
            try:
                for work in WORKS:
                    clients.append(forked(server.url, work))
            finally:
                kill(clients)
            if begin == 0 or begin + len(WORKS) >= sessions or begin % 20 == 0:
                settle(server)
                states.append(state(server))
        first, last = states[0], states[-1]
        if last["files"] > first["files"] + 2 or last["threads"] > first["threads"] + 2:
            problems.append(f"files or threads grow: {states}")
        if last["MiB"] > first["MiB"] + 40 + sessions // 10:
            problems.append(f"memory grows: {states}")
        if not server.is_alive():
            problems.append(f"the server has died: {server.read_log()}")
        spark = connected(server.url)
        if spark.range(10).count() != 10 or spark.catalog.databaseExists("local.killed"):
            problems.append("the server does not serve as before")
        spark.stop()
        print(f"{sessions} killed clients: {states[0]} … {states[-1]}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
