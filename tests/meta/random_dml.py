#!/usr/bin/env python3
"""The same random changes on tables of different layout must leave the same rows.

    tests/meta/random_dml.py NILAS [--seed N] [--steps N] [--rounds N]

Each round makes one table per layout (copy-on-write and merge-on-read, format 1 and 2, partitioned or not), then applies
random INSERT, UPDATE, DELETE, MERGE, INSERT OVERWRITE, schema and partition changes, compaction and other maintenance to
all of them in one script. After each step every table must hold the same rows, and at the end tags must still show what
the tables held when they were made. Maintenance differs between the tables on purpose.
"""
import argparse
import random
import subprocess
import sys
import tempfile

MOR = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
LAYOUTS = [
    ("cow", "", "'format-version'='2'"),
    ("v1", "PARTITIONED BY (truncate(2, name))", "'format-version'='1'"),
    ("days", "PARTITIONED BY (days(ts), bucket(3, id))", "'format-version'='2', 'write.target-file-size-bytes'='4096'"),
    ("mor", "", "'format-version'='2', " + MOR),
    ("mor_part", "PARTITIONED BY (name)", "'format-version'='2', 'write.delete.granularity'='partition', " + MOR),
    ("mor_months", "PARTITIONED BY (months(ts), truncate(10, id))", "'format-version'='2', 'write.distribution-mode'='none', " + MOR),
]
NAMES = ["ann", "bob", "", "Zoë", "a b/c=d", "NULL", "x%41"]


def text(value):
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


class Round:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.next_id = 1
        self.columns = {"id": "BIGINT", "name": "STRING", "amount": "DECIMAL(10,2)", "ts": "TIMESTAMP", "n": "INT"}
        self.added = 0
        self.checks = 0
        self.script = []
        self.fields = [{} for _ in LAYOUTS]  # partition fields that were added: their names by their transforms
        self.tagged = {}  # check -> the columns of that time

    def value(self, kind):
        if self.random.random() < 0.12:
            return "NULL"
        if kind == "STRING":
            return text(self.random.choice(NAMES))
        if kind == "DECIMAL(10,2)":
            return f"CAST({self.random.randint(-99999, 99999) / 100} AS DECIMAL(10,2))"
        if kind == "TIMESTAMP":
            return f"TIMESTAMP '202{self.random.randint(3, 5)}-0{self.random.randint(1, 9)}-1{self.random.randint(0, 9)} 0{self.random.randint(0, 9)}:00:00'"
        if kind == "DOUBLE":
            return self.random.choice(["1.5D", "-0.25D", "CAST('NaN' AS DOUBLE)", "1e300D"])
        if kind == "ARRAY<INT>":
            return self.random.choice(["array(1, NULL, 3)", "CAST(array() AS ARRAY<INT>)", "array(7)"])
        return f"CAST({self.random.randint(-50, 50)} AS {kind})"

    def rows(self, count):
        out = []
        for _ in range(count):
            values = [f"CAST({self.next_id} AS BIGINT)"] + [self.value(kind) for name, kind in self.columns.items() if name != "id"]
            self.next_id += 1
            out.append("(" + ", ".join(values) + ")")
        return ", ".join(out)

    def condition(self, prefix=""):
        high = max(self.next_id, 2)
        return self.random.choice([
            lambda: f"{prefix}id = {self.random.randint(1, high)}",
            lambda: f"{prefix}id BETWEEN {self.random.randint(1, high)} AND {self.random.randint(1, high)}",
            lambda: f"{prefix}id % {self.random.randint(2, 5)} = 0",
            lambda: f"{prefix}name = {text(self.random.choice(NAMES))}",
            lambda: f"{prefix}name IS NULL",
            lambda: f"{prefix}ts < TIMESTAMP '2024-0{self.random.randint(1, 9)}-01 00:00:00'",
            lambda: f"{prefix}ts >= '2025-01-01' AND {prefix}amount > 0",
            lambda: f"{prefix}n > {self.random.randint(-50, 50)} OR {prefix}amount IS NULL",
            lambda: f"{prefix}n IN (1, 2, 3, -7)",
            lambda: f"NOT ({prefix}n < 0)",
        ])()

    def assignment(self, prefix="", source=None):
        name = self.random.choice([name for name in self.columns if name != "id"])
        kind = self.columns[name]
        if source and self.random.random() < 0.6:
            return f"{prefix}{name} = {source}.{name}"
        if name == "n" and self.random.random() < 0.5:
            return f"{prefix}n = {prefix}n + 1"
        return f"{prefix}{name} = {self.value(kind)}"

    def step(self):
        """One change, with {t} for the table; or a list for the tables of LAYOUTS."""
        kind = self.random.choices(["insert", "update", "delete", "merge", "overwrite", "column", "partition", "maintain", "expire"],
                                   [6, 5, 5, 5, 1, 2, 2, 5, 1])[0]
        return getattr(self, kind)()

    def insert(self):
        return "INSERT INTO {t} VALUES " + self.rows(self.random.randint(1, 12))

    def update(self):
        return "UPDATE {t} SET " + self.assignment() + " WHERE " + self.condition()

    def delete(self):
        return "DELETE FROM {t} WHERE " + self.condition()

    def merge(self):
        ids = self.random.sample(range(1, self.next_id + 6), min(self.random.randint(1, 9), self.next_id))
        self.next_id += 6
        names = list(self.columns)
        rows = ", ".join("(" + ", ".join([f"CAST({key} AS BIGINT)"] + [self.value(self.columns[name]) for name in names if name != "id"]) + ")"
                         for key in ids)
        clauses = []
        if self.random.random() < 0.4:
            clauses.append(f"WHEN MATCHED AND {self.condition('t.')} THEN DELETE")
        if self.random.random() < 0.8:
            clauses.append("WHEN MATCHED THEN UPDATE SET " + self.random.choice(["*", self.assignment("t.", "s")]))
        if self.random.random() < 0.7 or not clauses:
            clauses.append("WHEN NOT MATCHED THEN INSERT *")
        if self.random.random() < 0.3:
            by_source = self.random.choice(["DELETE", "UPDATE SET " + self.assignment("t.")])
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {self.condition('t.')} THEN {by_source}")
        return (f"MERGE INTO {{t}} t USING (SELECT * FROM VALUES {rows} AS v({', '.join(names)})) s ON t.id = s.id "
                + " ".join(clauses))

    def overwrite(self):
        return "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE " + self.condition()

    def column(self):
        if self.added and self.random.random() < 0.4:
            name = self.random.choice([name for name in self.columns if name.startswith("extra")] or ["extra0"])
            if name in self.columns and self.random.random() < 0.5:
                del self.columns[name]
                return f"ALTER TABLE {{t}} DROP COLUMN {name}"
            if name in self.columns:
                self.added += 1
                kinds = dict(self.columns)
                self.columns = {(f"extra{self.added}" if key == name else key): kind for key, kind in kinds.items()}
                return f"ALTER TABLE {{t}} RENAME COLUMN {name} TO extra{self.added}"
        if self.columns["n"] == "INT" and self.random.random() < 0.2:
            self.columns["n"] = "BIGINT"
            return "ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT"
        self.added += 1
        kind = self.random.choice(["INT", "STRING", "DOUBLE", "ARRAY<INT>", "TIMESTAMP"])
        self.columns[f"extra{self.added}"] = kind
        return f"ALTER TABLE {{t}} ADD COLUMN extra{self.added} {kind}"

    def partition(self):
        out = []
        for used in self.fields:
            field = self.random.choice(["bucket(4, id)", "truncate(3, name)", "years(ts)", "n", "truncate(5, id)", "hours(ts)"])
            if self.random.random() < 0.6:
                out.append("")
            elif field in used:
                out.append(f"ALTER TABLE {{t}} DROP PARTITION FIELD {used.pop(field)}")
            else:
                self.added += 1
                used[field] = f"p{self.added}"
                out.append(f"ALTER TABLE {{t}} ADD PARTITION FIELD {field} AS p{self.added}")
        return out

    def maintain(self):
        calls = ["CALL local.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
                 "CALL local.system.rewrite_data_files(table => '{t}', options => map('min-input-files', '2', 'delete-file-threshold', '1'))",
                 "CALL local.system.rewrite_data_files(table => '{t}', strategy => 'sort', sort_order => 'name, id DESC', options => map('rewrite-all', 'true'))",
                 "CALL local.system.rewrite_data_files(table => '{t}', strategy => 'sort', sort_order => 'zorder(id, n)', options => map('rewrite-all', 'true'))",
                 "CALL local.system.rewrite_data_files(table => '{t}', where => 'id > 5')",
                 "CALL local.system.rewrite_manifests('{t}')", "ALTER TABLE {t} WRITE ORDERED BY name DESC, id",
                 "ALTER TABLE {t} SET TBLPROPERTIES ('commit.manifest.min-count-to-merge'='2')"]
        return [self.random.choice(calls) if self.random.random() < 0.7 else "" for _ in LAYOUTS]

    def expire(self):
        return "CALL local.system.expire_snapshots(table => '{t}', older_than => now(), retain_last => 1)"

    def emit(self, step):
        for at, (name, _, _) in enumerate(LAYOUTS):
            statement = step if isinstance(step, str) else step[at]
            if statement:
                self.script.append(statement.format(t=f"db.{name}") + ";")

    def check(self):
        names = ", ".join(self.columns)
        for name, _, _ in LAYOUTS:
            self.script.append(f"SELECT '=== {self.checks} {name}';")
            self.script.append(f"SELECT {names} FROM db.{name} ORDER BY id;")
            self.script.append(f"SELECT '--- count', count(*), count(DISTINCT id), sum(amount), min(ts), max(n) FROM db.{name};")
            if self.checks % 4 == 0:
                self.script.append(f"ALTER TABLE db.{name} CREATE TAG check{self.checks};")
        if self.checks % 4 == 0:
            self.tagged[self.checks] = names
        self.checks += 1

    def text(self, steps):
        self.script.append("CREATE NAMESPACE IF NOT EXISTS db;")
        for name, partitioning, properties in LAYOUTS:
            columns = ", ".join(f"{column} {kind}" for column, kind in self.columns.items())
            self.script.append(f"CREATE TABLE db.{name} ({columns}) USING iceberg {partitioning} TBLPROPERTIES ({properties});")
        self.emit(self.insert())
        self.check()
        for at in range(1, steps + 1):
            self.emit(self.step())
            if at % 4 == 0:  # a tag shows the schema of its snapshot: let that be the present one
                self.emit(self.insert())
            self.check()
        for check, names in self.tagged.items():
            for name, _, _ in LAYOUTS:
                self.script.append(f"SELECT '=== {check} {name} then';")
                self.script.append(f"SELECT {names} FROM db.{name} VERSION AS OF 'check{check}' ORDER BY id;")
                self.script.append(f"SELECT '--- count', count(*), count(DISTINCT id), sum(amount), min(ts), max(n) FROM db.{name} VERSION AS OF 'check{check}';")
        return "\n".join(self.script) + "\n"


def parts(output):
    """The text between the markers: {(check, table, "now" or "then"): rows}."""
    found, key, lines = {}, None, []
    for line in output.splitlines():
        if line.startswith("=== "):
            if key:
                found[key] = lines
            key, lines = tuple((line.split() + ["now"])[1:4]), []
        else:
            lines.append(line)
    found[key] = lines
    return found


def judge(seed, wanted_checks, output):
    """How many tables hold other rows than the first table did at that check."""
    found = parts(output)
    faults = 0
    missing = [key for key in wanted_checks if not found.get(key)]
    if missing:
        print(f"seed {seed}: no rows were printed for {missing[0]}")
        return 1
    for (check, name, time), rows in found.items():
        wanted = found[(check, LAYOUTS[0][0], "now")]
        if rows == wanted:
            continue
        faults += 1
        if faults == 1:
            print(f"seed {seed}, check {check}: {name} {time} differs from {LAYOUTS[0][0]}")
            for line in sorted(set(wanted) ^ set(rows))[:10]:
                print("   ", "+" if line in rows else "-", line)
    return faults


def run_round(nilas, seed, steps):
    round_ = Round(seed)
    script = round_.text(steps)
    wanted = [(str(check), name, "now") for check in range(steps + 1) for name, _, _ in LAYOUTS]
    wanted += [(str(check), name, "then") for check in round_.tagged for name, _, _ in LAYOUTS]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/steps.sql"
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        done = subprocess.run([nilas, "sql", "-S", "-f", path], cwd=folder, capture_output=True, text=True, timeout=600)
        if done.returncode:
            print(f"seed {seed}: exit code {done.returncode}\n{done.stderr[-2000:]}")
            return 1
        output = keep_checks(done.stdout)
        faults = judge(seed, wanted, output)
        if faults:
            kept = f"/tmp/random_dml_{seed}.sql"
            with open(kept, "w", encoding="utf-8") as file:
                file.write(script)
            print(f"    the script is kept as {kept}")
        return faults


def keep_checks(output):
    """Drops what CALL prints: lines after the count line of a check and before the next marker."""
    kept, is_open = [], False
    for line in output.splitlines():
        if line.startswith("=== "):
            is_open = True
        if is_open:
            kept.append(line)
        if line.startswith("--- count"):
            is_open = False
    return "\n".join(kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nilas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    total = 0
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        total += run_round(arguments.nilas, seed, arguments.steps)
    print(f"random_dml: {arguments.rounds} rounds of {arguments.steps} steps from seed {arguments.seed}: {total} differences")
    sys.exit(1 if total else 0)
