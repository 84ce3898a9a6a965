"""A query in a process of its own, for bench.py: how long from start to answer with nothing cached, and how much memory at most.

    cold.py FOLDER RUNS < query     DuckDB's side: prints the seconds from importing it to the first answer
"""
import glob
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent / "tpch")]


@dataclass
class Used:
    seconds: float
    cpu: float
    peak: float  # MiB

    def least(self, other):
        return Used(min(self.seconds, other.seconds), min(self.cpu, other.cpu), min(self.peak, other.peak))


NOTHING_YET = Used(math.inf, math.inf, math.inf)


def process(command, folder, text=""):
    """What a child used, and what it printed."""
    with tempfile.TemporaryFile("w+") as query, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        query.write(text)
        query.seek(0)
        begin = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, stdin=query, stdout=out, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        if child.returncode:
            raise RuntimeError(err.read()[-500:] or f"exit code {child.returncode}")
        return Used(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024), out.read()


def nilas(o, sql, runs):
    """The whole process."""
    return process([o.nilas, "sql", "-S", "-e", "; ".join(["USE tpch"] + [sql] * runs)], o.folder)[0]


def duckdb(o, sql, runs):
    """The clock from importing it to the first answer, processor time without its Python's own."""
    used, printed = process([sys.executable, os.path.realpath(__file__), o.folder, str(runs)], o.folder, sql)
    seconds, cpu = json.loads(printed)
    return Used(seconds, cpu, used.peak)


def forget(o):
    """The kernel forgets the files of the tables and the programs, as far as nobody else has them mapped: nothing else on the machine suffers."""
    packages = [importlib.util.find_spec(name).origin for name in ("_duckdb", "duckdb", "duckdb_extension_iceberg", "duckdb_extension_avro")
                if importlib.util.find_spec(name)]
    files = glob.glob(f"{o.folder}/warehouse/tpch/**", recursive=True) + [o.nilas]
    for package in packages:
        files += glob.glob(f"{os.path.dirname(package)}/**/*.duckdb_extension", recursive=True) + glob.glob(f"{os.path.dirname(package)}/*.so")
    for name in filter(os.path.isfile, files):
        file = os.open(name, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def measure(o, text_of, runs, forgetful):
    """Both engines by turns, the least of the rounds; prints a table and the geometric mean of nilas / DuckDB."""
    print("\n| | nilas s | DuckDB s | nilas / DuckDB | nilas cpu s | DuckDB cpu s | nilas / DuckDB | nilas MiB | DuckDB MiB | nilas / DuckDB |")
    print("| --- |" + " ---: |" * 9)
    ratios = [[], [], []]
    for number in o.queries:
        sql, own, peer = text_of(number), NOTHING_YET, NOTHING_YET
        for _ in range(o.rounds):
            if forgetful:
                forget(o)
            own = own.least(nilas(o, sql, runs))
            if forgetful:
                forget(o)
            peer = peer.least(duckdb(o, sql, runs))
        cells = []
        for place, (a, b, form) in enumerate([(own.seconds, peer.seconds, ".3f"), (own.cpu, peer.cpu, ".3f"), (own.peak, peer.peak, ".0f")]):
            ratios[place].append(a / b)
            cells += [format(a, form), format(b, form), f"{a / b:.2f}"]
        print(f"| q{number:02} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nGeometric mean nilas / DuckDB: clock {mean(ratios[0]):.2f}, processor time {mean(ratios[1]):.2f}, peak memory {mean(ratios[2]):.2f}; "
          f"worst {max(ratios[0]):.2f}, {max(ratios[1]):.2f}, {max(ratios[2]):.2f}", flush=True)


def main(folder, runs):
    begin, cpu = time.perf_counter(), time.process_time()
    import suite
    import tpch
    database = suite.connect("avro", "iceberg")
    database.execute("SET threads = 2; SET unsafe_enable_version_guessing = true")
    sql = sys.stdin.read()
    for table in tpch.TABLES:
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM iceberg_scan('{folder}/warehouse/tpch/{table}')")
    for _ in range(int(runs)):
        database.execute(sql).fetchall()
    print(json.dumps([time.perf_counter() - begin, time.process_time() - cpu]))


main(*sys.argv[1:]) if __name__ == "__main__" else None
