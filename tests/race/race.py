"""Many nilas processes write one hadoop table at once; every acknowledged row must be there exactly once.

    python3 tests/race/race.py NILAS [--writers 8] [--commits 50] [--bank 4]

Writers append rows of their own, one commit each. Judged by the snapshot log: acknowledged appends are there once, failed
ones never, unknown ones at most once; the history is one line in which every snapshot has its parent's rows and its own; a
writer's commits come in its order. Then a bank: processes move money between accounts by UPDATE (serializable); the sum
is the same in every snapshot, and each acknowledged transfer happened once.
"""
import argparse
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crash"))
from support import Warehouse  # pylint: disable=wrong-import-position


class Writer(threading.Thread):
    """Runs statements in a nilas process; goes on behind one that fails with a new process."""

    def __init__(self, warehouse, statements):
        super().__init__()
        self.warehouse, self.statements = warehouse, statements
        self.acknowledged, self.failed, self.unknown, self.messages = set(), set(), set(), []

    def run(self):
        at = 0
        while at < len(self.statements):
            name = self.warehouse.script(self.statements[at:])
            done = subprocess.run(self.warehouse.command(name), capture_output=True, text=True, check=False)
            os.unlink(name)
            count = sum(line.startswith("ack-") for line in done.stdout.splitlines())
            self.acknowledged.update(range(at, at + count))
            at += count
            if at < len(self.statements):
                (self.unknown if "UNKNOWN" in done.stderr else self.failed).add(at)
                self.messages.append(done.stderr.strip())
                at += 1


def run_all(warehouse, scripts):
    writers = [Writer(warehouse, statements) for statements in scripts]
    started = time.monotonic()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return writers, time.monotonic() - started


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def appends(warehouse, writer_count, commit_count):
    table = "lake.db.race"
    warehouse.query(f"CREATE TABLE {table} (writer int, number int, v string) USING iceberg TBLPROPERTIES ('commit.retry.num-retries' = '100', "
                    "'commit.retry.min-wait-ms' = '5', 'commit.retry.max-wait-ms' = '200')")
    scripts = [[f"INSERT INTO {table} VALUES ({writer}, {number}, 'a{writer}-{number}')" for number in range(commit_count)] for writer in range(writer_count)]
    writers, seconds = run_all(warehouse, scripts)
    rows = {}
    for writer, number, value in warehouse.query(f"SELECT writer, number, v FROM {table}"):
        key = (int(writer), int(number))
        check(key not in rows, f"row {key} is there twice")
        check(value == f"a{key[0]}-{key[1]}", f"row {key} holds {value}")
        rows[key] = value
    for number, writer in enumerate(writers):
        for commit in writer.acknowledged:
            check((number, commit) in rows, f"acknowledged row {commit} of writer {number} is lost")
        for commit in writer.failed:
            check((number, commit) not in rows, f"row {commit} of writer {number} is there although it failed")
    acknowledged = sum(len(writer.acknowledged) for writer in writers)
    check(len(rows) <= acknowledged + sum(len(writer.unknown) for writer in writers), "there are more rows than were written")
    parents = {}
    total = 0
    for snapshot, parent, added, records in warehouse.query(
            f"SELECT snapshot_id, parent_id, summary['added-records'], summary['total-records'] FROM {table}.snapshots ORDER BY summary['total-records'] + 0"):
        total += int(added)
        check(int(records) == total, f"snapshot {snapshot} says {records} rows, its history gives {total}")
        check(parent not in parents, f"snapshots {snapshot} and {parents.get(parent)} have one parent")
        parents[parent] = snapshot
    check(total == len(rows), f"the log tells of {total} rows, {len(rows)} are there")
    order = {}
    for writer, number, sequence in warehouse.query(f"SELECT d.writer, d.number, e.sequence_number FROM (SELECT writer, number, input_file AS f FROM "
                                                   f"(SELECT writer, number, _file AS input_file FROM {table})) d JOIN {table}.entries e ON e.data_file.file_path = d.f"):
        order.setdefault(int(writer), []).append((int(sequence), int(number)))
    for writer, seen in order.items():
        numbers = [number for _, number in sorted(seen)]
        check(numbers == sorted(numbers), f"commits of writer {writer} are out of order")
    warehouse.check_files(table)
    failed = sum(len(writer.failed) for writer in writers)
    print(f"race: {writer_count} writers x {commit_count} appends: {acknowledged} acknowledged, {failed} failed, {seconds:.1f} s, "
          f"{acknowledged / seconds:.0f} commits/s, every row once")


def bank(warehouse, writer_count, transfer_count, mode, version):
    table, accounts, money = f"lake.db.bank_{mode.replace('-', '_')}_{version}", 4, 1000
    warehouse.query(f"CREATE TABLE {table} (id int, amount bigint, transfers int) USING iceberg TBLPROPERTIES ('commit.retry.num-retries' = '20', "
                    f"'commit.retry.min-wait-ms' = '5', 'commit.retry.max-wait-ms' = '100', 'format-version' = '{version}', 'write.update.mode' = '{mode}')")
    warehouse.query(f"INSERT INTO {table} VALUES " + ", ".join(f"({account}, {money}, 0)" for account in range(accounts)))
    scripts = []
    for writer in range(writer_count):
        script = []
        for number in range(transfer_count):
            source, target, amount = (writer + number) % accounts, (writer + number + 1) % accounts, writer + number + 1
            script.append(f"UPDATE {table} SET amount = amount + CASE id WHEN {source} THEN -{amount} ELSE {amount} END, transfers = transfers + 1 "
                          f"WHERE id IN ({source}, {target})")
        scripts.append(script)
    writers, seconds = run_all(warehouse, scripts)
    snapshots = [snapshot for (snapshot,) in warehouse.query(f"SELECT snapshot_id FROM {table}.snapshots")]
    sums = warehouse.queries([f"SELECT sum(amount), count(*) FROM {table} VERSION AS OF {snapshot}" for snapshot in snapshots])
    for snapshot, ((total, count),) in zip(snapshots, sums):
        check(int(total) == accounts * money and int(count) == accounts, f"snapshot {snapshot} holds {total} in {count} accounts")
    ((transfers,),) = warehouse.query(f"SELECT sum(transfers) FROM {table}")
    acknowledged = sum(len(writer.acknowledged) for writer in writers)
    unknown = sum(len(writer.unknown) for writer in writers)
    check(2 * acknowledged <= int(transfers) <= 2 * (acknowledged + unknown), f"{acknowledged} transfers were acknowledged, {int(transfers) / 2} happened")
    failed = sum(len(writer.failed) for writer in writers)
    warehouse.check_files(table)
    print(f"bank, {mode}, version {version}: {writer_count} writers x {transfer_count} transfers: {acknowledged} acknowledged, {failed} refused as conflicts, "
          f"{seconds:.1f} s, sum constant")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nilas")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--commits", type=int, default=50)
    parser.add_argument("--bank", type=int, default=10, help="transfers per writer; 0: no bank")
    arguments = parser.parse_args()
    warehouse = Warehouse(arguments.nilas)
    try:
        warehouse.query("CREATE NAMESPACE lake.db")
        appends(warehouse, arguments.writers, arguments.commits)
        if arguments.bank:
            for mode, version in (("copy-on-write", 2), ("merge-on-read", 2), ("merge-on-read", 3)):
                bank(warehouse, min(arguments.writers, 4), arguments.bank, mode, version)
    except AssertionError as failure:
        print(f"FAILED: {failure}\nkept: {warehouse.path}")
        sys.exit(1)
    warehouse.remove()


if __name__ == "__main__":
    main()
