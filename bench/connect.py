#!/usr/bin/env python3
"""`nilas connect` measured by the stock PySpark client beside other Spark Connect servers. Prints Markdown.

    bench/connect.py NILAS [--peer spark=sc://127.0.0.1:15099]… [--sail] [--rows 6000000] [--queries 1000]

Run it with a Python that has pyspark[connect]; --sail starts the server of the package pysail, if that is there. Servers
take turns query by query; the best of the rounds counts for single queries, the whole time for the thousand.
"""
import argparse
import os
import socket
import subprocess
import sys
import time

os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"

from pyspark.sql import functions as F  # noqa: E402
from pyspark.sql.connect.session import SparkSession  # noqa: E402

ROUNDS = 5


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_nilas(program):
    port = free_port()
    process = subprocess.Popen([program, "connect", "--port", str(port)], stdout=subprocess.DEVNULL)
    return process, "sc://localhost:%d" % port


def start_sail():
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "pysail", "spark", "server", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process, "sc://localhost:%d" % port


def connect(url, patience=60):
    deadline = time.time() + patience
    host, _, port = url[len("sc://"):].partition(":")
    while True:
        try:
            socket.create_connection((host, int(port)), 1).close()
            break
        except OSError:
            if time.time() > deadline:
                raise
            time.sleep(0.001)
    session = SparkSession(connection=url)
    session.version
    return session


def ready_seconds(start):
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        process, url = start()
        connect(url)
        times.append(time.perf_counter() - begun)
        process.terminate()
        process.wait()
    return min(times)


def queries(rows):
    data = [(i, "name-%d" % i, i * 0.5) for i in range(1000)]
    return {
        "`sql('SELECT 1')`, collected": lambda s: s.sql("SELECT 1").collect(),
        "`range(1000)`: filter, group, collect": lambda s: s.range(1000).filter("id > 10").groupBy(F.col("id") % 7).count().collect(),
        "schema of a DataFrame of 10 steps": lambda s: steps(s).schema,
        "`createDataFrame` of 1,000 rows, counted": lambda s: s.createDataFrame(data, "id long, name string, x double").count(),
        "`toPandas` of %s rows, 3 columns" % format(rows, ","): lambda s: s.sql("SELECT id, id * 0.5D AS x, cast(id %% 100 AS string) AS s FROM range(%d)" % rows).toPandas(),
    }


def steps(session):
    frame = session.range(10)
    for i in range(10):
        frame = frame.withColumn("c%d" % i, F.col("id") + i)
    return frame


def measure(sessions, action, rounds):
    best = {}
    for _ in range(rounds):
        for name, session in sessions.items():
            begun = time.perf_counter()
            action(session)
            best[name] = min(best.get(name, 1e9), time.perf_counter() - begun)
    return best


def show(name, times):
    def text(seconds):
        return "%.0f ms" % (seconds * 1e3) if seconds >= 0.1 else "%.2f ms" % (seconds * 1e3)

    first = times["nilas"]
    print("| %s | %s |" % (name, " | ".join(text(t) if peer == "nilas" else "%s (%.1f×)" % (text(t), t / first) for peer, t in times.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nilas")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("--sail", action="store_true")
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    options = parser.parse_args()
    print("nilas: ready in %.0f ms (spawn to the first answer to PySpark)\n" % (ready_seconds(lambda: start_nilas(options.nilas)) * 1e3))
    if options.sail:
        print("sail: ready in %.0f ms\n" % (ready_seconds(start_sail) * 1e3))
    process, url = start_nilas(options.nilas)
    processes, urls = [process], {"nilas": url}
    urls.update(peer.split("=", 1) for peer in options.peer)
    if options.sail:
        process, urls["sail"] = start_sail()
        processes.append(process)
    try:
        sessions = {name: connect(url) for name, url in urls.items()}
        print("| | %s |\n|---|%s|" % (" | ".join(sessions), "---|" * len(sessions)))
        for name, action in queries(options.rows).items():
            show(name, measure(sessions, action, ROUNDS if "toPandas" not in name else 2))
        thousand = {}
        for name, session in sessions.items():
            begun = time.perf_counter()
            for i in range(options.queries):
                session.sql("SELECT %d AS a" % i).collect()
            thousand[name] = time.perf_counter() - begun
        show("%d small queries, one after the other" % options.queries, thousand)
        with open("/proc/%d/status" % processes[0].pid) as status:
            memory = [line.split()[1] for line in status if line.startswith("VmRSS")][0]
        print("\nnilas connect afterwards: %d MiB resident" % (int(memory) // 1024))
    finally:
        for process in processes:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
