"""Kills nilas with SIGKILL, at named places and at random times, while it writes, and looks at what is left.

    python3 tests/crash/crash.py NILAS [--runs 200] [--seed S] [--reader PYTHON_WITH_PYICEBERG]

Each run: a process executes a few random statements (append, merge, delete, update, overwrite, compaction, expiry) against a
copy-on-write or a merge-on-read table, or one with deletion vectors, and dies. Then every acknowledged statement must be there, the one that was under
way wholly or not at all; every file that metadata names exists with its length; a new process reads the table within a
second of being started. At the end remove_orphan_files must find all that the killed ones left, but hidden temporary
files. A failing seed is printed with the command that replays it.
"""
import argparse
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import Warehouse  # pylint: disable=wrong-import-position

POINTS = ["write.data-file-written", "commit.manifests-written", "commit.list-written", "commit.before-swap", "commit.after-swap", "expire.before-delete",
          "local.written", "local.synced", "local.published", "local.durable"]
MODES = {"lake.db.cow": ("copy-on-write", 2), "lake.db.mor": ("merge-on-read", 2), "lake.db.vectors": ("merge-on-read", 3)}


class Model:
    """The table as the acknowledged statements leave it: id → (p, value). Every change is (statement, function)."""

    def __init__(self, dice):
        self.dice = dice
        self.next_id = 0

    def rows(self, count):
        first, self.next_id = self.next_id, self.next_id + count
        value = f"v{self.dice.randrange(10 ** 6)}"
        return {number: (str(number % 3), value) for number in range(first, first + count)}

    def append(self, table, state):
        new = self.rows(self.dice.randrange(1, 40))
        first, value = min(new), next(iter(new.values()))[1]
        sql = f"INSERT INTO {table} SELECT id, CAST(id % 3 AS int), '{value}' FROM range({first}, {first + len(new)})"
        return sql, {**state, **new}

    def merge(self, table, state):
        known = self.dice.sample(sorted(state), min(len(state), 8))
        gone, changed, new = known[:2], known[2:], self.rows(3)
        value = f"m{self.dice.randrange(10 ** 6)}"
        ids = ", ".join(f"({number}L)" for number in known + list(new))
        drop = f"s.id IN ({', '.join(map(str, gone))})" if gone else "false"
        sql = (f"MERGE INTO {table} t USING (SELECT id FROM VALUES {ids} AS v(id)) s ON t.id = s.id WHEN MATCHED AND {drop} THEN DELETE "
               f"WHEN MATCHED THEN UPDATE SET v = '{value}' WHEN NOT MATCHED THEN INSERT (id, p, v) VALUES (s.id, CAST(s.id % 3 AS int), '{value}')")
        after = {number: row for number, row in state.items() if number not in gone}
        after.update({number: (after[number][0], value) for number in changed})
        after.update({number: (str(number % 3), value) for number in new})
        return sql, after

    def delete(self, table, state):
        gone = set(self.dice.sample(sorted(state), min(len(state), 5)))
        sql = f"DELETE FROM {table} WHERE id IN ({', '.join(map(str, sorted(gone))) or '-1'})"
        return sql, {number: row for number, row in state.items() if number not in gone}

    def update(self, table, state):
        which, value = self.dice.randrange(7), f"u{self.dice.randrange(10 ** 6)}"
        return (f"UPDATE {table} SET v = '{value}' WHERE id % 7 = {which}",
                {number: (row[0], value) if number % 7 == which else row for number, row in state.items()})

    def overwrite(self, table, state):
        which = self.dice.randrange(3)
        new = {number: row for number, row in self.rows(9).items() if int(row[0]) == which}
        values = ", ".join(f"({number}L, '{row[1]}')" for number, row in new.items())
        sql = f"INSERT OVERWRITE {table} PARTITION (p = {which}) (id, v) SELECT id, v FROM VALUES {values} AS x(id, v)"
        after = {number: row for number, row in state.items() if int(row[0]) != which}
        return sql, {**after, **new}

    def compact(self, table, state):
        return f"CALL lake.system.rewrite_data_files(table => '{table}', options => map('min-input-files', '2'))", state

    def expire(self, table, state):
        return f"CALL lake.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 2)", state

    def statement(self, table, state):
        kinds = [self.append] * 3 + [self.merge] * 2 + [self.delete, self.update, self.overwrite, self.compact, self.expire]
        return self.dice.choice(kinds)(table, state)


def read_state(warehouse, table):
    """id → (p, v), and that no id is there twice."""
    state = {}
    for number, partition, value in warehouse.query(f"SELECT id, p, v FROM {table}"):
        if int(number) in state:
            raise AssertionError(f"row {number} is in {table} twice")
        state[int(number)] = (partition, value)
    return state


def one_run(warehouse, model, dice, states, durations):
    """Returns where the process died, and how many statements had been acknowledged."""
    table = dice.choice(sorted(MODES))
    statements, expected = [], [states[table]]
    for _ in range(dice.randrange(2, 6)):
        sql, after = model.statement(table, expected[-1])
        statements.append(sql)
        expected.append(after)
    environment = dict(os.environ)
    place, wait = None, None
    if dice.random() < 0.6:
        point = dice.choice(POINTS)
        place = f"{point}:{1 if point.startswith('expire') else dice.choice([1, 1, 2, 3, 5, 8])}"
        if point.startswith("expire"): # only an expiry comes there
            sql, after = model.expire(table, expected[-1])
            statements.append(sql)
            expected.append(after)
        environment["NILAS_CRASH"] = place
    else:
        wait = dice.random() * durations[len(durations) // 2] if durations else 0.05
    name = warehouse.script(statements)
    started = time.monotonic()
    process = subprocess.Popen(warehouse.command(name), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, errors = process.communicate(timeout=wait or 60)
        if wait is None and process.returncode == 0:
            durations.append(time.monotonic() - started)
            durations.sort()
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
    os.unlink(name)
    acknowledged = sum(line.startswith("ack-") for line in out.splitlines())
    if process.returncode not in (0, -9):
        raise AssertionError(f"statement {acknowledged} failed by itself: {statements[min(acknowledged, len(statements) - 1)]}\n{errors}")
    started = time.monotonic()
    state = read_state(warehouse, table)
    seconds = time.monotonic() - started
    if seconds > 1 and os.getloadavg()[0] < 4:
        raise AssertionError(f"reading {table} after the crash took {seconds:.2f} s")
    possible = expected[acknowledged:acknowledged + 2] if process.returncode else expected[-1:]
    if state not in possible:
        raise AssertionError(f"{table} after {place or 'a kill'}: {acknowledged} of {len(statements)} statements were acknowledged, "
                             f"the table is neither as after them nor as after the next\n{statements}\n"
                             f"missing {sorted(possible[0].items() - state.items())[:5]}, too many {sorted(state.items() - possible[0].items())[:5]}")
    warehouse.check_files(table)
    states[table] = state
    return place or ("kill" if process.returncode else "finished"), process.returncode != 0


def check_orphans(warehouse, table, state):
    """remove_orphan_files finds what the dead left, and takes nothing else."""
    past = time.time() - 10 * 86400
    for path in warehouse.files_of(table):
        os.utime(path, (past, past))
    found = warehouse.query(f"CALL lake.system.remove_orphan_files(table => '{table}')")
    named = warehouse.named_files(table)
    left = [path for path in warehouse.files_of(table) if path not in named and not os.path.basename(path).startswith(".") and not path.endswith("version-hint.text")]
    if left:
        raise AssertionError(f"remove_orphan_files left {left[:5]}")
    warehouse.check_files(table)
    if read_state(warehouse, table) != state:
        raise AssertionError("remove_orphan_files changed the table")
    return len(found)


def other_reader(python, warehouse, table, state):
    """PyIceberg's view of the newest metadata file."""
    code = ("import sys, glob, os, re\nfrom pyiceberg.table import StaticTable\n"
            "files = glob.glob(os.path.join(sys.argv[1], 'metadata', 'v*.metadata.json'))\n"
            "newest = max(files, key=lambda f: int(re.search(r'/v(\\d+)\\.', f).group(1)))\n"
            "for row in StaticTable.from_metadata(newest).scan().to_arrow().to_pylist(): print(row['id'], row['p'], row['v'], sep='\\t')")
    folder = os.path.join(warehouse.path, *table.split(".")[1:])
    lines = subprocess.run([python, "-c", code, folder], capture_output=True, text=True, check=True).stdout.splitlines()
    seen = {int(line.split("\t")[0]): tuple(line.split("\t")[1:]) for line in lines}
    if seen != state or len(lines) != len(state):
        raise AssertionError(f"PyIceberg reads {len(lines)} rows of {table}, {len(state)} are there")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nilas")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this long; 0: never")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10 ** 9))
    parser.add_argument("--reader", help="a Python with PyIceberg, to read the tables at the end")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    warehouse = Warehouse(arguments.nilas)
    model = Model(dice)
    states = {table: {} for table in MODES}
    durations, places, deaths, done = [], {}, 0, 0
    started = time.monotonic()
    try:
        warehouse.query("CREATE NAMESPACE lake.db")
        for table, (mode, version) in MODES.items():
            warehouse.query(f"CREATE TABLE {table} (id bigint, p int, v string) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '{version}', "
                            f"'write.delete.mode' = '{mode}', "
                            f"'write.update.mode' = '{mode}', 'write.merge.mode' = '{mode}')")
        for done in range(1, arguments.runs + 1):
            place, died = one_run(warehouse, model, dice, states, durations)
            deaths += died
            name = place.split(":")[0]
            places[name] = places.get(name, 0) + died
            if arguments.seconds and time.monotonic() - started > arguments.seconds:
                break
        orphans = sum(check_orphans(warehouse, table, state) for table, state in states.items())
        if arguments.reader:
            for table, state in states.items():
                other_reader(arguments.reader, warehouse, table, state)
    except AssertionError as failure:
        print(f"FAILED in run {done}: {failure}\nreplay: python3 tests/crash/crash.py {arguments.nilas} --runs {done} --seed {arguments.seed}\nkept: {warehouse.path}")
        sys.exit(1)
    warehouse.remove()
    print(f"crash: {done} runs, {deaths} deaths, {orphans} orphans found, {sum(map(len, states.values()))} rows, {time.monotonic() - started:.0f} s, seed {arguments.seed}")
    print("  died at: " + ", ".join(f"{name} {count}" for name, count in sorted(places.items())))


if __name__ == "__main__":
    main()
