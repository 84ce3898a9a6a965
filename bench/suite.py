"""A suite of queries on Iceberg tables that nilas makes: data, deletes, real Spark's answers, and a comparison in every mode.
tpch.py and tpcds.py describe a suite each and hand it to main():

    tpch.py data   NILAS SCALE FOLDER     the generator's rows as Parquet, then Iceberg tables by nilas in FOLDER/warehouse
    tpch.py record NILAS SCALE FOLDER [--tables plain|position|vector|equality] [QUERY ...]
                                          real Spark's answers to FOLDER/answers (SPARK_PYTHON and ICEBERG_JAR name it)
    tpch.py check  NILAS SCALE FOLDER [--tables ...] [--memory SIZE|tenth] [--against spark|duckdb] [QUERY ...]
    tpch.py modes  NILAS SCALE FOLDER     checks in all MODES against Spark's answers, recorded where they are missing; a table

Rows are deleted in three ways (deleted_rows.py), always the same ones, so that one set of answers serves them all. A tenth of
memory is a tenth of what the plain tables' Parquet files take. answers.py says when two answers are the same.
"""
import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

import answers
import deleted_rows

MODES = [("plain", None), ("plain", "tenth"), ("position", None), ("equality", None), ("vector", None)]


@dataclass
class Suite:
    title: str
    plain: str                       # the namespace of the whole tables
    keys: dict                       # table to its primary key
    queries: Callable                # of a scale: name to text
    in_short: Callable               # does this name belong to the suite proper?
    generate: Callable               # (scale, folder): the tables as FOLDER/parquet/TABLE.parquet
    duckdb: Callable = lambda text: text   # a text as DuckDB reads it
    otherwise_in_spark: dict = None  # query to why DuckDB's answer is another one


# ---- the two engines

def connect(*extensions, file=":memory:"):
    """DuckDB with extensions out of their Python packages."""
    import duckdb
    database = duckdb.connect(file)
    for extension in extensions:
        folder = pathlib.Path(importlib.import_module(f"duckdb_extension_{extension}").__file__).parent
        file, = folder.glob(f"extensions/v{duckdb.__version__}/{extension}.duckdb_extension")
        database.execute(f"LOAD '{file}'")
    return database


def nilas_measured(nilas, folder, sql, *options):
    """Runs statements in FOLDER; rows as lists of texts, and the largest memory of the process in KiB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([nilas, "sql", "-S", *options, "-e", sql], cwd=folder, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        if process.returncode != 0:
            raise RuntimeError(err.read().strip()[:600] or f"exit code {process.returncode}")
        return [line.split("\t") for line in out.read().split("\n")[:-1]], used.ru_maxrss


def nilas_sql(nilas, folder, sql, *options):
    return nilas_measured(nilas, folder, sql, *options)[0]


def make_data(suite, o):
    done = o.folder / "complete"
    if done.exists():
        return
    (o.folder / "parquet").mkdir(parents=True, exist_ok=True)
    suite.generate(o.scale, o.folder)
    nilas_sql(o.nilas, o.folder, f"CREATE NAMESPACE IF NOT EXISTS {suite.plain}")
    for table in suite.keys:
        begin = time.perf_counter()
        nilas_sql(o.nilas, o.folder, f"CREATE TABLE {suite.plain}.{table} USING iceberg TBLPROPERTIES ('format-version' = '2') "
                                     f"AS SELECT * FROM parquet.`{o.folder}/parquet/{table}.parquet`")
        print(f"{table}: {time.perf_counter() - begin:.2f} s", flush=True)
    done.touch()


def make_tables(suite, o):
    make_data(suite, o)
    if o.tables != "plain":
        deleted_rows.make(lambda sql: nilas_sql(o.nilas, o.folder, sql), connect(), o.folder, suite.plain, suite.keys, o.tables)


def open_duckdb(suite, o):
    database = connect()
    database.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'; SET threads = 2")
    for table, keys in suite.keys.items():
        kept = f" WHERE NOT {deleted_rows.gone(keys)}" if o.tables != "plain" else ""
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{o.folder}/parquet/{table}.parquet'){kept}")
    return database


# ---- answers

class SparkAnswers:
    """Recorded ones; what is missing is asked of Spark and kept."""
    name = "spark"

    def __init__(self, suite, o, texts):
        self.folder, self.o, self.texts = o.folder / "answers" / ("plain" if o.tables == "plain" else "deleted"), o, texts
        self.namespace = suite.plain if o.tables == "plain" else o.tables

    def record(self, texts):
        missing = {name: text for name, text in texts.items() if not (self.folder / f"{name}.json").exists()}
        if missing:
            deleted_rows.spark_side(self.o.folder, missing, "record", self.namespace, self.folder)

    def of(self, name):
        rows, columns = answers.from_spark(self.folder / f"{name}.json")
        described = nilas_sql(self.o.nilas, self.o.folder, f"USE {self.namespace}; DESCRIBE QUERY {self.texts[name]}")
        have = [" ".join(cell.strip() for cell in row[:2]) for row in described]
        want = [" ".join(column.split(" ")[:-1]).strip() + " " + column.split(" ")[-1] for column in columns]
        if have != want:
            raise ValueError(f"columns {have} instead of {want}")
        return rows, [column.rsplit(" ", 1)[0] for column in columns]

    def unlimited(self, name):
        whole = f"{name}.unlimited"
        self.record({whole: answers.without_limit(self.texts[name])})
        return answers.from_spark(self.folder / f"{whole}.json")[0]


class DuckdbAnswers:
    name = "duckdb"

    def __init__(self, suite, o, texts):
        self.database, self.texts = open_duckdb(suite, o), {name: suite.duckdb(text) for name, text in texts.items()}

    def of(self, name):
        rows = self.database.execute(self.texts[name]).fetchall()
        return rows, [column[0] for column in self.database.description]

    def unlimited(self, name):
        return self.database.execute(answers.without_limit(self.texts[name])).fetchall()

    def has_no_quotient(self, name):
        return any(cell is None or cell != cell or cell in (float("inf"), float("-inf")) for row in self.of(name)[0] for cell in row)


def judge(suite, source, name, text, run):
    """What is wrong or None, a remark, and the number of rows."""
    try:
        rows = run(text)
    except RuntimeError as error:
        if source.name == "duckdb" and "[DIVIDE_BY_ZERO]" in str(error) and source.has_no_quotient(name):
            return None, "DIVIDE_BY_ZERO, where DuckDB gives NULL or no number", 0
        return str(error), "", 0
    try:
        expected, columns = source.of(name)
        fault, remark = answers.judge(expected, rows, columns, text, lambda: source.unlimited(name))
    except Exception as error:  # the other engine's
        fault, remark = f"no answer to compare with: {type(error).__name__} {str(error)[:300]}", ""
    if fault and source.name == "duckdb" and name in (suite.otherwise_in_spark or {}):
        fault, remark = None, suite.otherwise_in_spark[name]
    return fault, remark, len(rows)


def tenth_of(suite, folder):
    """In KiB, as an option."""
    files = (folder / "warehouse" / suite.plain).rglob("*.parquet")
    return f"{sum(file.stat().st_size for file in files) // 10240}k"


def check(suite, o, texts):
    """Prints a line a query, or only those that are wrong, and the sum; gives the numbers of it."""
    memory = tenth_of(suite, o.folder) if o.memory == "tenth" else o.memory
    options = ["--conf", f"spark.nilas.memory={memory}"] if memory else []
    namespace = suite.plain if o.tables == "plain" else o.tables
    source = (SparkAnswers if o.against == "spark" else DuckdbAnswers)(suite, o, texts)
    if o.against == "spark":
        source.record(texts)
    wrong, seconds, peaks = [], [], [0]

    def run(sql):
        begin = time.perf_counter()
        try:
            rows, peak = nilas_measured(o.nilas, o.folder, f"USE {namespace}; {sql}", *options)
        finally:
            seconds.append(time.perf_counter() - begin)
        peaks.append(peak)
        return rows

    for name, text in texts.items():
        fault, remark, row_count = judge(suite, source, name, text, run)
        if fault:
            wrong.append(name)
        if fault or not o.short:
            print(f"{name:10} {seconds[-1]:7.2f} s {row_count:6} rows  {fault or 'right'}{remark and ': ' + remark}", flush=True)
    right = f"{len(texts) - len(wrong)} of {len(texts)} right"
    print(f"{suite.title}: {right} at scale {o.scale}, tables {o.tables}, against {o.against}" + (f", with {memory}" if memory else "")
          + (f"; not: {' '.join(wrong)}" if wrong else ""), flush=True)
    return {"mode": o.tables + (f", {memory}iB of memory" if memory else ""), "right": right, "wrong": wrong, "seconds": sum(seconds),
            "peak": max(peaks) // 1024}


def check_modes(suite, o, texts):
    done, o.against, o.short = [], "spark", True
    for o.tables, o.memory in MODES:
        make_tables(suite, o)
        done.append(check(suite, o, texts))
    print(f"\n| {suite.title}, scale {o.scale} | against Spark's answers | seconds | largest process MiB | not |\n| --- | ---: | ---: | ---: | --- |")
    for mode in done:
        print(f"| {mode['mode']} | {mode['right']} | {mode['seconds']:.0f} | {mode['peak']} | {' '.join(mode['wrong'])} |", flush=True)
    return sum(len(mode["wrong"]) for mode in done)


def main(suite, more=None):
    """more: command to a function of (suite, options, texts) that this suite has beyond the others."""
    commands = {"data": None, "record": None, "check": check, "modes": check_modes, **(more or {})}
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=list(commands))
    parser.add_argument("nilas", type=os.path.abspath)
    parser.add_argument("scale")
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).absolute())
    parser.add_argument("names", nargs="*")
    parser.add_argument("--memory")
    parser.add_argument("--short", action="store_true", help="only the suite proper, and lines only of what is wrong")
    parser.add_argument("--tables", default="plain", choices=["plain", *deleted_rows.NAMESPACES])
    parser.add_argument("--against", default="duckdb", choices=["spark", "duckdb"])
    o = parser.parse_intermixed_args()
    make_tables(suite, o)
    texts = suite.queries(o.scale)
    only_proper = o.short or o.against == "spark" or o.command in ("modes", "record")
    texts = {name: text for name, text in texts.items() if (name in o.names if o.names else suite.in_short(name) or not only_proper)}
    if o.command == "record":
        SparkAnswers(suite, o, texts).record(texts)
    elif commands[o.command]:
        result = commands[o.command](suite, o, texts)
        sys.exit(bool(result["wrong"]) if isinstance(result, dict) else bool(result))
