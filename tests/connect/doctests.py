"""PySpark's own doctests against a Spark Connect server: each docstring counts once.

    python tests/connect/doctests.py sc://localhost:15002 [MODULE ...] [--failures FILE] [--record FILE] [--against FILE]

--record FILE     writes the names of the docstrings that pass (made with a real Spark server)
--against FILE    counts only the docstrings named in FILE
--failures FILE   what failed, as doctest tells it
"""
import argparse
import doctest
import importlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time

MODULES = {
    "functions": "pyspark.sql.connect.functions.builtin",
    "partitioning": "pyspark.sql.connect.functions.partitioning",
    "dataframe": "pyspark.sql.dataframe",
    "column": "pyspark.sql.column",
    "group": "pyspark.sql.connect.group",
    "readwriter": "pyspark.sql.connect.readwriter",
    "catalog": "pyspark.sql.connect.catalog",
    "window": "pyspark.sql.connect.window",
    "conf": "pyspark.sql.connect.conf",
    "session": "pyspark.sql.connect.session",
    "tvf": "pyspark.sql.connect.tvf",
    "merge": "pyspark.sql.connect.merge",
    "observation": "pyspark.sql.connect.observation",
    "types": "pyspark.sql.types",
    "stream_query": "pyspark.sql.connect.streaming.query",
    "stream_rw": "pyspark.sql.connect.streaming.readwriter",
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
SECONDS_MAX = 30  # for one docstring


class TookTooLong(Exception):
    pass


def stop(*_):
    raise TookTooLong()


def run_one(test, report):
    out = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS_MAX)
    try:
        result = runner.run(test, out=out.write, clear_globs=True)
        is_good = result.failed == 0
    except TookTooLong:
        is_good = False
        out.write(f"File {test.filename}, in {test.name}: more than {SECONDS_MAX} s\n")
    finally:
        signal.alarm(0)
    if not is_good and report:
        report.write(out.getvalue() + "\n")
        report.flush()
    return is_good


def each_module(modules, options):
    """Every module in a process of its own: some docstrings stop the session."""
    passed = total = 0
    for option in ("failures", "record"):
        if getattr(options, option):
            open(getattr(options, option), "w").close()
    for module in modules:
        command = [sys.executable, os.path.abspath(__file__), options.url, module]
        for option in ("failures", "record", "against"):
            if getattr(options, option):
                command += ["--" + option, os.path.abspath(getattr(options, option))]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = [line.split() for line in done.stdout.splitlines()]
        print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("all ")), flush=True)
        for line in lines:
            if line and line[0] == "all":
                passed += int(line[1])
                total += int(line[3])
    print(f"{'all':13} {passed:4} of {total:4}")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--failures")
    parser.add_argument("--record")
    parser.add_argument("--against")
    options = parser.parse_args()
    modules = options.modules or list(MODULES)
    if len(modules) > 1:
        return each_module(modules, options)
    wanted = None
    if options.against:
        wanted = set(open(options.against).read().split("\n"))
    # Docstrings write into the folder they run in.
    options.failures = options.failures and os.path.abspath(options.failures)
    options.record = options.record and os.path.abspath(options.record)
    os.chdir(tempfile.mkdtemp(prefix="nilas-doctests-"))
    from pyspark.sql import SparkSession

    report = open(options.failures, "a") if options.failures else None
    passed, total, good = 0, 0, []
    for short in modules:
        module = importlib.import_module(MODULES[short])
        globs = module.__dict__.copy()
        globs["spark"] = SparkSession.builder.remote(options.url).getOrCreate()
        start, count, fine = time.time(), 0, 0
        for test in doctest.DocTestFinder().find(module, globs=globs):
            name = short + ":" + test.name.replace(MODULES[short] + ".", "", 1)
            if not test.examples or (wanted is not None and name not in wanted):
                continue
            count += 1
            if run_one(test, report):
                fine += 1
                good.append(name)
        print(f"{short:13} {fine:4} of {count:4}  ({time.time() - start:.1f} s)", flush=True)
        passed += fine
        total += count
        try:
            globs["spark"].stop()
        except Exception:
            pass
    print(f"{'all':13} {passed:4} of {total:4}")
    if options.record:
        with open(options.record, "a") as record:
            record.write("\n".join(good) + "\n")


if __name__ == "__main__":
    sys.exit(main())
