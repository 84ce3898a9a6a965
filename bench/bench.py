"""nilas against Spark + Iceberg and DuckDB on the same tables, in one run; prints Markdown. See README.md.

    bench.py NILAS [--scale 1] [--rounds 3] [--only chapter,startup,tpch,cold,memory,ctas,merge,compaction] [--no-spark]
"""
import argparse
import glob
import json
import math
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "tpch")]
import cold as processes  # noqa: E402
import suite  # noqa: E402
import tpch  # noqa: E402

SECTIONS = ["chapter", "startup", "tpch", "cold", "memory", "ctas", "merge", "compaction"]


def seconds_of(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def cpu_seconds(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


class Nilas:
    """A process per call; the times are those that it prints, as spark-sql does, so that start and exit are not in them."""
    name = "nilas"

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *statements):
        done = subprocess.run([self.program, "sql", "-e", "; ".join(statements)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-500:])
        return [float(x) for x in re.findall(r"Time taken: ([0-9.]+) seconds", done.stderr)]

    def query(self, sql):
        """In a session that has run the query already, as the peers have."""
        begin = cpu_seconds(resource.RUSAGE_CHILDREN)
        times = self.run("USE tpch", sql, sql)[1:]
        self.cpu = (cpu_seconds(resource.RUSAGE_CHILDREN) - begin) / 2  # start and exit are in it
        return min(times)

    def statement(self, sql):
        return self.run(sql)[-1]


class Duck:
    name = "DuckDB"

    def __init__(self, folder):
        self.database = suite.connect("avro", "iceberg")
        self.database.execute("SET threads = 2; SET unsafe_enable_version_guessing = true")
        for table in tpch.TABLES:
            self.database.execute(f"CREATE VIEW {table} AS SELECT * FROM iceberg_scan('{folder}/warehouse/tpch/{table}')")

    def query(self, sql):
        begin = cpu_seconds(resource.RUSAGE_SELF)
        seconds = seconds_of(lambda: self.database.execute(sql).fetchall())
        self.cpu = cpu_seconds(resource.RUSAGE_SELF) - begin
        return seconds


class Spark:
    name = "Spark"

    def __init__(self, python, jar, folder):
        self.process = subprocess.Popen([python, str(ROOT / "bench" / "spark_worker.py"), jar, f"{folder}/warehouse"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.answer()
        self.query("USE local.tpch")

    def answer(self):
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"][:500])
        return answer["seconds"]

    def query(self, *statements):
        self.process.stdin.write(json.dumps({"sql": statements}) + "\n")
        self.process.stdin.flush()
        return self.answer()

    statement = query

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def table(title, peers, rows):
    """rows: name, {engine: seconds}."""
    print(f"\n### {title}\n\n| | " + " | ".join(f"{p} s" for p in peers) + " | " + " | ".join(f"{p} / nilas" for p in peers[1:]) + " |")
    print("| --- |" + " ---: |" * (2 * len(peers) - 1))
    for name, times in rows:
        cells = [f"{times[p]:.3f}" if p in times else "" for p in peers]
        ratios = [f"{times[p] / times['nilas']:.2f}" if p in times else "" for p in peers[1:]]
        print(f"| {name} | " + " | ".join(cells + ratios) + " |", flush=True)


def chapter(o):
    script = str(ROOT / "examples" / "orders.sql")

    def nilas():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([o.nilas, "sql", "-S", "-f", script], cwd=folder, check=True, capture_output=True)

    times = {"nilas": min(seconds_of(nilas) for _ in range(10))}
    if o.spark_python:
        lines = [line for line in open(script) if not line.startswith("--")]
        statements = [s.strip() for s in "".join(lines).split(";") if s.strip()]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([o.spark_python, str(ROOT / "bench" / "spark_worker.py"), o.jar, f"{folder}/warehouse"], check=True, text=True,
                           input=json.dumps({"sql": []}), capture_output=True)  # files of the interpreter and the jars are in memory now
            times["Spark"] = seconds_of(lambda: subprocess.run(
                [o.spark_python, str(ROOT / "bench" / "spark_worker.py"), o.jar, f"{folder}/warehouse"], text=True, check=True, capture_output=True,
                input=json.dumps({"sql": statements})))
    table("The chapter, examples/orders.sql, as a process", ["nilas"] + ["Spark"] * bool(o.spark_python), [("examples/orders.sql", times)])


def startup(o):
    nilas = [seconds_of(lambda: subprocess.run([o.nilas, "sql", "-S", "-e", "SELECT 1"], check=True, capture_output=True)) for _ in range(40)]
    duck = [seconds_of(lambda: subprocess.run([sys.executable, "-c", "import duckdb; duckdb.sql('SELECT 1').fetchall()"], check=True)) for _ in range(20)]
    table("Start to result of SELECT 1", ["nilas", "python + duckdb"],
          [("median", {"nilas": statistics.median(nilas), "python + duckdb": statistics.median(duck)}),
           ("best", {"nilas": min(nilas), "python + duckdb": min(duck)})])


def queries(o):
    engines = [Nilas(o.nilas, o.folder), Duck(o.folder)] + ([o.spark] if o.spark else [])
    rows, totals = [], {e.name: 0.0 for e in engines}
    cpu_rows, cpu_totals = [], {e.name: 0.0 for e in engines[:2]}
    for number in o.queries:
        sql, times, cpu = tpch.query(number, o.scale), {}, {}
        for _ in range(o.rounds):  # interleaved, so that a busy moment meets all
            for engine in engines:
                times[engine.name] = min(times.get(engine.name, math.inf), engine.query(sql))
                if engine.name in cpu_totals:
                    cpu[engine.name] = min(cpu.get(engine.name, math.inf), engine.cpu)
        rows.append((f"q{number:02}", times))
        cpu_rows.append((f"q{number:02}", cpu))
        for name, seconds in cpu.items():
            cpu_totals[name] += seconds
        print(f"q{number:02}", times, cpu, file=sys.stderr, flush=True)
        for name, seconds in times.items():
            totals[name] += seconds
    rows.append(("total", totals))
    cpu_rows.append(("total", cpu_totals))
    table(f"TPC-H, scale {o.scale}: processor time, all threads", [e.name for e in engines[:2]], cpu_rows)
    table(f"TPC-H, scale {o.scale}, best of {o.rounds}", [e.name for e in engines], rows)
    for peer in engines[1:]:
        logs = [math.log(times[peer.name] / times["nilas"]) for _, times in rows[:-1]]
        print(f"\nGeometric mean {peer.name} / nilas: {math.exp(sum(logs) / len(logs)):.2f}")


def cold(o):
    print(f"\n### TPC-H, scale {o.scale}, cold: a process per query, its files not in the kernel's cache, best of {o.rounds} by turns")
    processes.measure(o, lambda number: tpch.query(number, o.scale), 1, True)


def memory(o):
    print(f"\n### TPC-H, scale {o.scale}, memory: a process that runs the query three times, least of {o.rounds} by turns")
    processes.measure(o, lambda number: tpch.query(number, o.scale), 3, False)


def fresh(o, name, properties=""):
    """A copy of lineitem, made by nilas."""
    nilas = Nilas(o.nilas, o.folder)
    nilas.run("CREATE NAMESPACE IF NOT EXISTS work", f"DROP TABLE IF EXISTS work.{name} PURGE",
              f"CREATE TABLE work.{name} USING iceberg TBLPROPERTIES ('format-version' = '2' {properties}) AS SELECT * FROM tpch.lineitem")


def megabytes(pattern):
    return sum(os.path.getsize(f) for f in glob.glob(pattern)) / 1e6


def ctas(o):
    times, sizes = {}, {}
    engines = [Nilas(o.nilas, o.folder)] + ([o.spark] if o.spark else [])
    duck = Duck(o.folder)
    file = f"{o.folder}/copy.parquet"
    for _ in range(o.rounds):
        for engine in engines:
            engine.statement("DROP TABLE IF EXISTS local.work.ctas PURGE")
            seconds = engine.statement("CREATE TABLE local.work.ctas USING iceberg TBLPROPERTIES ('format-version' = '2') AS SELECT * FROM local.tpch.lineitem")
            times[engine.name] = min(times.get(engine.name, math.inf), seconds)
            sizes[engine.name] = megabytes(f"{o.folder}/warehouse/work/ctas/data/*.parquet")
        seconds = duck.query(f"COPY (SELECT * FROM lineitem) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
        times[duck.name], sizes[duck.name] = min(times.get(duck.name, math.inf), seconds), megabytes(file)
    table("CREATE TABLE AS SELECT of lineitem (DuckDB: COPY to a zstd Parquet file)", ["nilas", "DuckDB"] + ["Spark"] * bool(o.spark), [("lineitem", times)])
    print("\nMB written: " + ", ".join(f"{name} {size:.0f}" for name, size in sizes.items()))


def merge(o):
    rows = []
    for mode in ("copy-on-write", "merge-on-read"):
        times = {}
        for _ in range(o.rounds):
            for engine in [Nilas(o.nilas, o.folder)] + ([o.spark] if o.spark else []):
                fresh(o, "merged", f", 'write.merge.mode' = '{mode}'")
                seconds = engine.statement(
                    "MERGE INTO local.work.merged t USING (SELECT l_orderkey, l_linenumber, l_quantity + 1 AS q FROM local.tpch.lineitem "
                    "WHERE l_orderkey % 100 = 7) s ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber "
                    "WHEN MATCHED THEN UPDATE SET t.l_quantity = s.q")
                times[engine.name] = min(times.get(engine.name, math.inf), seconds)
        rows.append((mode, times))
    table("MERGE of 1 % updates into lineitem", ["nilas"] + ["Spark"] * bool(o.spark), rows)


def compaction(o):
    nilas, times = Nilas(o.nilas, o.folder), {}
    for _ in range(o.rounds):
        for engine in [nilas] + ([o.spark] if o.spark else []):
            nilas.run("CREATE NAMESPACE IF NOT EXISTS work", "DROP TABLE IF EXISTS work.pieces PURGE",
                      "CREATE TABLE work.pieces USING iceberg AS SELECT * FROM tpch.lineitem LIMIT 0",
                      *[f"INSERT INTO work.pieces SELECT * FROM tpch.lineitem WHERE l_orderkey % 16 = {i}" for i in range(16)])
            seconds = engine.statement("CALL local.system.rewrite_data_files(table => 'work.pieces')")
            times[engine.name] = min(times.get(engine.name, math.inf), seconds)
    table("rewrite_data_files, lineitem in 16 files or more", ["nilas"] + ["Spark"] * bool(o.spark), [("compaction", times)])


def find_spark(o):
    o.spark = o.spark_python = None
    python = os.environ.get("SPARK_PYTHON", os.path.expanduser("~/.cache/spark-oracle/venv/bin/python"))
    jars = [os.environ["ICEBERG_JAR"]] if "ICEBERG_JAR" in os.environ else glob.glob(
        os.path.expanduser("~/.m2/repository/org/apache/iceberg/iceberg-spark-runtime-4.0_2.13/*/*.jar"))
    if o.no_spark or not os.path.exists(python) or not jars:
        print("Spark is not measured: SPARK_PYTHON and ICEBERG_JAR do not name it.")
        return
    o.spark_python, o.jar = python, jars[0]
    if set(o.only) - {"chapter", "startup"}:
        o.spark = Spark(python, o.jar, o.folder)


def machine(o):
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    import duckdb
    print(f"{model}, {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start; DuckDB {duckdb.__version__}"
          + ("; Spark 4.0.1 local[2], Iceberg 1.10.0" if o.spark_python else ""), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nilas", type=os.path.abspath)
    parser.add_argument("--scale", default=os.environ.get("SCALE", "1"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=SECTIONS)
    parser.add_argument("--queries", type=lambda text: [int(n) for n in text.split(",")], default=range(1, 23))
    parser.add_argument("--no-spark", action="store_true")
    o = parser.parse_args()
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    o.folder = f"{cache}/nilas-bench/tpch-{o.scale}"
    find_spark(o)
    machine(o)
    steps = {"chapter": chapter, "startup": startup, "tpch": queries, "cold": cold, "memory": memory, "ctas": ctas, "merge": merge, "compaction": compaction}
    if set(o.only) & {"ctas", "merge", "compaction"}:
        Nilas(o.nilas, o.folder).run("CREATE NAMESPACE IF NOT EXISTS work")
    for name in o.only:
        steps[name](o)
    if o.spark:
        o.spark.close()
    shutil.rmtree(f"{o.folder}/warehouse/work", ignore_errors=True)
    print(f"\nLoad {os.getloadavg()[0]:.1f} at the end.")


main() if __name__ == "__main__" else None
