"""Broken tables, made from good ones: each must give an error that names the file, or the right answer, in under a second.

    python3 tests/bad/bad.py NILAS [--flips 20] [--seed S]

Every kind of file of a table (metadata JSON, plain and gzip; manifest list, data and delete manifest, Parquet data and
delete file, deletion vector) is removed, emptied, cut at several places, overwritten with text, and gets single bits
flipped. In a data file a flipped bit must be noticed or harmless: pages have checksums. Manifests, metadata and footers
have none: a bit that makes another valid number of them cannot be seen by anybody, and such answers are only counted.
Version hints that lie are not errors: readers find the newest metadata file by themselves, as Spark does.
"""
import argparse
import glob
import os
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crash"))
from support import Warehouse, local  # pylint: disable=wrong-import-position

TABLE = "lake.db.t"
QUERIES = [f"SELECT count(*), sum(id), max(s), sum(length(s)), sum(d), max(ts) FROM {TABLE}", f"SELECT count(*), sum(record_count) FROM {TABLE}.all_files"]
LIMIT_SECONDS = 1.0
CONDITIONS = ("NILAS_CORRUPT_FILE", "NILAS_IO_ERROR", "PATH_NOT_FOUND", "FAILED_READ_FILE", "NILAS_UNSUPPORTED", "TABLE_OR_VIEW_NOT_FOUND", "NILAS_VALIDATION_FAILED")


def make_table(warehouse, version):
    warehouse.query("CREATE NAMESPACE lake.db")
    warehouse.query(f"CREATE TABLE {TABLE} (id bigint, p int, s string, d decimal(12,2), ts timestamp) USING iceberg PARTITIONED BY (p) TBLPROPERTIES "
                    f"('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read')")
    for first in (0, 1000):
        warehouse.query(f"INSERT INTO {TABLE} SELECT id, CAST(id % 2 AS int), concat('row ', id * 7919), CAST(id AS decimal(12,2)) / 4, "
                        f"timestamp_seconds(id * 1000) FROM range({first}, {first + 1000})")
    warehouse.query(f"DELETE FROM {TABLE} WHERE id IN (3, 500, 1444)")


def kinds_of_files(warehouse):
    """What is broken: kind → path."""
    ((list_path,),) = warehouse.query(f"SELECT manifest_list FROM {TABLE}.snapshots ORDER BY committed_at DESC LIMIT 1")
    files = {"manifest list": local(list_path)}
    for content, path in warehouse.query(f"SELECT content, path FROM {TABLE}.manifests ORDER BY content"):
        files["delete manifest" if content == "1" else "manifest"] = local(path)
    for content, path in warehouse.query(f"SELECT content, file_path FROM {TABLE}.files ORDER BY content, file_path"):
        files["delete file" if content == "1" else "data file"] = local(path)
    files["metadata"] = max(glob.glob(os.path.join(warehouse.path, "db/t/metadata/v*.metadata.json")), key=os.path.getmtime)
    return files


def breakages(content, dice, flips):
    yield "empty", b""
    yield "one byte", content[:1]
    for part in (0.1, 0.5, 0.9):
        yield f"cut at {int(len(content) * part)}", content[:int(len(content) * part)]
    yield "cut by one", content[:-1]
    yield "cut by eight", content[:-8]
    yield "text", b"this is no such file\n" * 20
    yield "zeros", bytes(len(content))
    yield "doubled", content + content
    for _ in range(flips):
        at = dice.randrange(len(content))
        bit = dice.randrange(8)
        yield f"bit {bit} of byte {at} flipped", content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1:]


class Runner:
    def __init__(self, warehouse):
        self.warehouse = warehouse
        self.failures, self.passed, self.unnoticed, self.others, self.slowest = [], 0, 0, 0, 0.0
        self.wanted = [self.ask(query)[1] for query in QUERIES]

    def ask(self, query):
        name = self.warehouse.script([query])
        started = time.monotonic()
        done = subprocess.run(self.warehouse.command(name), capture_output=True, text=True, errors="replace", timeout=60, check=False)
        seconds = time.monotonic() - started
        os.unlink(name)
        return done.returncode, done.stdout, done.stderr, seconds

    def check(self, what, path, may_be_right, must_be_right=False, may_be_other=False):
        """path: what errors must name. may_be_other: nothing in the format could tell, so that another answer is only counted."""
        has_error = False
        for query, wanted in zip(QUERIES, self.wanted):
            code, out, errors, seconds = self.ask(query)
            self.slowest = max(self.slowest, seconds)
            if code < 0:
                self.failures.append(f"{what}: killed by signal {-code} on {query}\n    {errors[-2000:]}")
            elif code == 0 and out != wanted and may_be_other:
                self.others += 1
            elif code == 0 and out != wanted:
                self.failures.append(f"{what}: another answer to {query}\n    {out.strip()} instead of {wanted.strip()}")
            elif code != 0 and must_be_right:
                self.failures.append(f"{what}: {errors.strip()}")
            elif code != 0 and "which nilas cannot read" not in errors and not any(f"[{condition}]" in errors or f"[{condition}." in errors for condition in CONDITIONS):
                self.failures.append(f"{what}: a strange condition: {errors.strip()}")
            elif code != 0 and os.path.basename(path) not in errors and not (may_be_right and "PATH_NOT_FOUND" in errors): # a path in it was hit
                self.failures.append(f"{what}: the error does not name the file: {errors.strip()}")
            elif seconds > LIMIT_SECONDS and os.getloadavg()[0] < 3:
                self.failures.append(f"{what}: {seconds:.1f} s")
            has_error = has_error or code != 0
        if not has_error and not may_be_right:
            self.failures.append(f"{what}: nobody noticed")
        self.unnoticed += not has_error
        self.passed += 1


def break_files(runner, dice, flips, only=None):
    for kind, path in kinds_of_files(runner.warehouse).items():
        if only and kind != only:
            continue
        with open(path, "rb") as file:
            content = file.read()
        os.unlink(path)
        # Without its newest metadata file a table is what it was before: the hint points too high then.
        if kind != "metadata":
            runner.check(f"{kind} missing", path, False)
        for what, broken in breakages(content, dice, flips):
            with open(path, "wb") as file:
                file.write(broken)
            # A manifest list of no snapshot but the current one, data of no other: unread parts may be broken unseen.
            # Vectors are read by their place, which a cut may leave whole.
            harmless = "flipped" in what or what == "doubled" or (path.endswith(".puffin") and what.startswith("cut"))
            runner.check(f"{kind} {what}", path, harmless, may_be_other="flipped" in what and kind != "data file")
        with open(path, "wb") as file:
            file.write(content)


def lie_about_versions(runner):
    hint = os.path.join(runner.warehouse.path, "db/t/metadata/version-hint.text")
    with open(hint, "rb") as file:
        good = file.read()
    for what, text in (("empty", b""), ("garbage", b"garbage"), ("too high", b"99"), ("too low", b"1"), ("negative", b"-4"), ("huge", b"9" * 100),
                       ("a newline behind it", good + b"\n"), ("binary", bytes(range(64)))):
        with open(hint, "wb") as file:
            file.write(text)
        runner.check(f"version hint {what}", hint, True, True)
    os.unlink(hint)
    runner.check("version hint missing", hint, True, True)
    os.mkdir(hint)
    runner.check("version hint a folder", hint, True, True)
    os.rmdir(hint)
    with open(hint, "wb") as file:
        file.write(good)


def run_version(arguments, dice, version):
    warehouse = Warehouse(arguments.nilas)
    try:
        make_table(warehouse, version)
        runner = Runner(warehouse)
        if version == 2:
            lie_about_versions(runner)
            break_files(runner, dice, arguments.flips)
            warehouse.query(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('write.metadata.compression-codec' = 'gzip')")
            break_files(runner, dice, arguments.flips, only="metadata")
        else:
            break_files(runner, dice, arguments.flips * 3, only="delete file") # deletion vectors
    finally:
        shutil.rmtree(warehouse.path, ignore_errors=True)
    for failure in runner.failures:
        print(f"FAILED {failure}")
    print(f"bad: version {version}: {runner.passed} broken tables, {runner.unnoticed} harmless, {runner.others} other answers, {len(runner.failures)} failures, slowest {runner.slowest:.2f} s, "
          f"seed {arguments.seed}")
    return len(runner.failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nilas")
    parser.add_argument("--flips", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    failure_count = sum(run_version(arguments, dice, version) for version in (2, 3))
    sys.exit(1 if failure_count else 0)


if __name__ == "__main__":
    main()
