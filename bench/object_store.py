#!/usr/bin/env python3
"""TPC-H through s3:// on nilas's own server against the same tables in files; prints Markdown.

    bench/object_store.py NILAS [--scale 1] [--rounds 3] [--queries 1,6] [--keep]

The tables are made twice from the same Parquet files, below ~/.cache/nilas-bench (see bench/README.md): by a Hadoop catalog
on the disk and by one on the S3 of `nilas up`. Queries run by turns, so that a busy moment meets both. Seconds are what nilas
prints for the second run of two in one process, as in bench.py; processor time is that of the process, and beside it that
of the server. --keep leaves the server's folder for the next call.
"""
import argparse
import math
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "tpch"))
import tpch  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`nilas up s3` on a port of its own."""

    def __init__(self, program, folder):
        self.program, self.folder, self.port = program, folder, free_port()
        subprocess.run([program, "up", "s3", "--detach", "--no-configure", "--no-maintenance", "--data", folder, "--port", f"s3={self.port}"], check=True, stdout=subprocess.DEVNULL)
        with open(f"{folder}/lock") as lock:
            self.pid = int(lock.read())

    def cpu(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        subprocess.run([self.program, "down", "--data", self.folder], check=True, stdout=subprocess.DEVNULL)


class Side:
    """nilas on one catalog, named `lake` on both."""

    def __init__(self, program, folder, warehouse, *confs):
        self.program, self.folder = program, folder
        confs = ["spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type=hadoop", f"spark.sql.catalog.lake.warehouse={warehouse}", *confs]
        self.options = [part for conf in confs for part in ("--conf", conf)]

    def run(self, *statements):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([self.program, "sql", *self.options, "-e", "; ".join(statements)], cwd=self.folder, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(done.stderr[-500:])
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return [float(x) for x in re.findall(r"Time taken: ([0-9.]+) seconds", done.stderr)]

    def query(self, sql):
        """Seconds of the first and of the second run in one process; processor time of one of them."""
        cold, warm = self.run("USE lake.tpch", sql, sql)[1:]
        self.cpu /= 2
        return cold, warm


def make_tables(side, parquet):
    side.run("CREATE NAMESPACE IF NOT EXISTS lake.tpch")
    for name in tpch.TABLES:
        side.run(f"CREATE TABLE IF NOT EXISTS lake.tpch.{name} USING iceberg TBLPROPERTIES ('format-version' = '2') AS SELECT * FROM parquet.`{parquet}/{name}.parquet`")


def measure(sides, server, sql, rounds):
    best = {}
    for _ in range(rounds):
        for name, side in sides.items():
            before = server.cpu()
            cold, warm = side.query(sql)
            values = {"cold": cold, "warm": warm, "cpu": side.cpu, "server": (server.cpu() - before) / 2}
            best[name] = {key: min(value, best.get(name, {}).get(key, math.inf)) for key, value in values.items()}
    return best


def row(name, best):
    file, s3 = best["file"], best["s3"]
    cells = [file["warm"], s3["warm"], s3["warm"] / file["warm"], file["cold"], s3["cold"], file["cpu"], s3["cpu"], s3["server"]]
    return f"| {name} | " + " | ".join(f"{cell:.2f}" if i == 2 else f"{cell:.3f}" for i, cell in enumerate(cells)) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nilas", type=os.path.abspath)
    parser.add_argument("--scale", default=os.environ.get("SCALE", "1"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=lambda text: [int(n) for n in text.split(",")], default=range(1, 23))
    parser.add_argument("--keep", action="store_true")
    o = parser.parse_args()
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    folder = f"{cache}/nilas-bench/tpch-{o.scale}"
    data = f"{cache}/nilas-bench/up-{o.scale}"
    subprocess.run([sys.executable, tpch.__file__, "data", o.nilas, o.scale, folder], check=True)
    os.makedirs(data, exist_ok=True)
    server = Server(o.nilas, data)
    try:
        subprocess.run(["curl", "-sf", "-X", "PUT", f"http://127.0.0.1:{server.port}/bench"], stdout=subprocess.DEVNULL)
        properties = {"s3.endpoint": f"http://127.0.0.1:{server.port}", "s3.path-style-access": "true", "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas", "client.region": "us-east-1"}
        s3 = Side(o.nilas, folder, "s3://bench/warehouse", *[f"spark.sql.catalog.lake.{key}={value}" for key, value in properties.items()])
        make_tables(s3, f"{folder}/parquet")
        sides = {"file": Side(o.nilas, folder, f"{folder}/warehouse"), "s3": s3}
        print(f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start; scale {o.scale}, best of {o.rounds}\n")
        print("| | file: s | s3: s | s3 / file | file: first run s | s3: first run s | file: processor s | s3: processor s | server: processor s |\n| --- |" + " ---: |" * 8)
        total = {side: dict.fromkeys(("warm", "cold", "cpu", "server"), 0.0) for side in sides}
        for number in o.queries:
            best = measure(sides, server, tpch.query(number, o.scale), o.rounds)
            for side in sides:
                for key in total[side]:
                    total[side][key] += best[side][key]
            print(row(f"q{number:02}", best), flush=True)
        print(row("total", total))
        print(f"\nLoad {os.getloadavg()[0]:.1f} at the end.")
    finally:
        server.stop()
        if not o.keep:
            shutil.rmtree(data)


if __name__ == "__main__":
    main()
