#!/usr/bin/env python3
"""Random predicates whose answers are known without another engine.

    tests/meta/random_oracles.py NILAS [--seed N] [--count N] [--seconds S] [--equality]

Tables of some thousand rows of awkward values lie in Iceberg with small row groups and pages, partitions, deletes. For each
predicate p of random_queries.py one of these is asked (tests/meta/README.md):

  partition   rows where p, where NOT p, where p IS NULL are together all rows; so for sums, DISTINCT, HAVING, joins
  row by row  count(*) WHERE p = the rows for which p, computed in the select list, is true
  pivot       a row that was picked is found by the predicate that is true for it
  pairs       two statements that mean the same: equivalences.py (grouping sets, joins, subqueries, sets, windows, limits, nested)
  roads       any of them, and joins and aggregations, give the same without the optimizer or one of its rules, spilled, in small
              batches, by one or three workers, with little memory, without what is kept unpacked, and on each table's layout

The seed replays a run. A query that raises an error of evaluation on any road (ANSI) is passed over.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from equivalences import Equivalences  # noqa: E402

POOLS = [  # a column's name, type and the values that its rows take by hash
    ("i", "INT", "NULL, 0, 1, 2, 3, -1, 7, 2147483647, -2147483648, 100, 5, NULL"),
    ("l", "BIGINT", "NULL, 0L, 10L, -10L, 9223372036854775807L, -9223372036854775807L, 3L, 5L"),
    ("d", "DOUBLE", "NULL, 0.0D, -0.0D, 1.5D, 2.5D, double('NaN'), double('Infinity'), double('-Infinity'), 1e10D"),
    ("n", "DECIMAL(4,2)", "NULL, 1.25BD, -1.25BD, 0.00BD, 99.99BD, -99.99BD, 7.50BD, 0.01BD"),
    ("s", "STRING", "NULL, '', 'x', 'X', 'abc', ' pad', 'äé', 'abcabcabc', 'b', '%b_'"),
    ("dt", "DATE", "NULL, DATE '2024-02-29', DATE '1969-12-31', DATE '0001-01-01', DATE '9999-12-31', DATE '2024-03-31'"),
    ("ts", "TIMESTAMP", "NULL, TIMESTAMP '2024-02-29 12:30:00', TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMP '2024-03-31 02:30:00', TIMESTAMP '1900-01-01 00:00:00'"),
    ("b", "BOOLEAN", "NULL, true, false, true"),
    ("arr", "ARRAY<INT>", "NULL, array(1, NULL, 3), CAST(array() AS ARRAY<INT>), array(2, 2, 7), array(NULL), array(1, 2, 3, 4, 5)"),
    ("m", "MAP<STRING, INT>", "NULL, map('k', 1, 'x', NULL), CAST(map() AS MAP<STRING, INT>), map('', 2147483647), map('x', 1, 'y', 2)"),
    ("st", "STRUCT<a: INT, b: STRING, c: ARRAY<STRUCT<x: INT, y: STRING>>>",
     "NULL, named_struct('a', 1, 'b', 'x', 'c', array(named_struct('x', 1, 'y', 'p'), NULL)), named_struct('a', NULL, 'b', NULL, 'c', NULL), named_struct('a', 7, 'b', '', 'c', array(named_struct('x', NULL, 'y', NULL))), "
     "named_struct('a', 2, 'b', 'abc', 'c', array(named_struct('x', 5, 'y', 'äé'), named_struct('x', 6, 'y', 'x'))), NULL"),
]
ROWS = 3000
SMALL = "'write.parquet.row-group-size-bytes'='20000', 'write.parquet.page-row-limit'='100'"
MOR = "'write.delete.mode'='merge-on-read', "
LAYOUTS = [  # partitions, properties, and what is done after the first of three inserts
    ("", SMALL, []), ("PARTITIONED BY (b, truncate(1, s))", SMALL, []), ("PARTITIONED BY (bucket(3, i))", MOR + SMALL, []), ("", "'format-version'='1'", []),
    ("PARTITIONED BY (years(dt))", "'format-version'='3', " + MOR + SMALL, []),
    ("PARTITIONED BY (truncate(2, i), months(ts))", MOR + SMALL, ["DROP PARTITION FIELD months(ts)", "ADD PARTITION FIELD bucket(4, s)", "WRITE ORDERED BY d DESC, id"]),
]
DEBUG, RULES = "nilas.debug.", [1, 4, 9, 10, 12, 13, 14, 15, 16, 17, 18, 20]  # the places in optimize.c of the rules that may be left out
ROADS = [[], [f"{DEBUG}disabledRules=-1"], [f"{DEBUG}spill=true"], [f"{DEBUG}batchRows=3"], ["spark.master=local"], ["spark.master=local[3]"], [f"{DEBUG}batchRows=1"],
         [f"{DEBUG}spill=true", f"{DEBUG}batchRows=2"], ["spark.nilas.memory=24m"], ["spark.nilas.objectCache.pages=false"], ["spark.nilas.objectCache.size=0", "spark.master=local[5]"]]
HASHED = "coalesce(hash(id, i, l, d, n, s, dt, ts, b, arr, st), 0)"
EVALUATION = ("DATATYPE_MISMATCH", "INVALID_FORMAT", "java.lang.", "ARITHMETIC_OVERFLOW", "DIVIDE_BY_ZERO", "CAST_", "INVALID_ARRAY_INDEX", "NUMERIC_VALUE", "REMAINDER_BY_ZERO", "DATETIME_OVERFLOW", "INTERVAL", "BINARY_ARITHMETIC", "INVALID_INDEX",
              "INVALID_PARAMETER_VALUE", "BITWISE", "MAP_KEY", "DUPLICATED_MAP_KEY", "NULL_MAP_KEY", "COLLECTION_SIZE", "SCALAR_SUBQUERY", "SEQUENCE", "[DATE", "out of range", "exceed", "Illegal sequence")


def statements():
    """What makes the tables: t0 … t3 of one content, and a small one to join."""
    items = ", ".join(f"element_at(array({values}), 1 + pmod(hash(id, {at}), size(array({values})))) AS {name}" for at, (name, _, values) in enumerate(POOLS))
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in POOLS)
    names = ", ".join(name for name, _, _ in POOLS)
    out = ["CREATE NAMESPACE db", "USE db"]
    for at, (partitioned, properties, changes) in enumerate(LAYOUTS):
        out.append(f"CREATE TABLE t{at} (id BIGINT, {columns}) USING iceberg {partitioned} TBLPROPERTIES ({properties})")
        for piece in range(3):
            out.append(f"INSERT INTO t{at} SELECT id, {names} FROM (SELECT id, {items} FROM range({ROWS}) WHERE id % 3 = {piece})")
            if not piece:
                out += [f"ALTER TABLE t{at} {change}" for change in changes]
        out += [f"INSERT INTO t{at} SELECT id + {ROWS}, {names} FROM (SELECT id, {items} FROM range(200))", f"DELETE FROM t{at} WHERE id >= {ROWS}"]
    out += [f"CREATE TABLE c (cid BIGINT, {columns}) USING iceberg", f"INSERT INTO c SELECT id, {names} FROM (SELECT id, {items} FROM range(7, 60))"]
    return out


class Oracles(Equivalences):
    tables = [f"t{at}" for at in range(len(LAYOUTS))]

    def table(self):
        return self.random.choice(self.tables)

    def partition(self):
        """Two statements that must answer alike."""
        p, table = self.predicate("t."), self.table()
        three = [f"({p})", f"NOT ({p})", f"({p}) IS NULL"]
        key = self.random.choice(["i", "s", "b", "dt", "n", "d"])
        forms = [
            (f"SELECT count(*), sum({HASHED}) FROM {table} t",
             "SELECT sum(n), sum(h) FROM (" + " UNION ALL ".join(f"SELECT count(*) AS n, sum({HASHED}) AS h FROM {table} t WHERE {q}" for q in three) + ")"),
            (f"SELECT count(l), min(l), max(l), min(s), max(ts), sum(n), max(d), count(DISTINCT s) > 0 FROM {table} t",
             "SELECT sum(a), min(b), max(c), min(e), max(f), sum(g), max(h), true FROM (" + " UNION ALL ".join(
                 f"SELECT count(l) a, min(l) b, max(l) c, min(s) e, max(ts) f, sum(n) g, max(d) h FROM {table} t WHERE {q}" for q in three) + ")"),
            (f"SELECT DISTINCT {key}, b FROM {table} t", " UNION ".join(f"SELECT {key}, b FROM {table} t WHERE {q}" for q in three)),
            (f"SELECT {key}, count(*), sum(n), max(id) FROM {table} t GROUP BY {key}",
             f"SELECT {key}, sum(x), sum(y), max(z) FROM (" + " UNION ALL ".join(
                 f"SELECT {key}, count(*) x, sum(n) y, max(id) z FROM {table} t WHERE {q} GROUP BY {key}" for q in three) + f") GROUP BY {key}"),
        ]
        q = self.expression("boolean", 2, "g.")
        grouped = f"SELECT i, l, d, n, s, dt, ts, b, arr, m, st FROM (SELECT {key} AS k, max(i) i, max(l) l, max(d) d, min(n) n, min(s) s, max(dt) dt, min(ts) ts, max(b) b, max(arr) arr, CAST(NULL AS MAP<STRING, INT>) m, max(st) st FROM {table} GROUP BY {key})"
        forms.append((f"SELECT count(*) FROM ({grouped}) g",
                      "SELECT sum(n) FROM (" + " UNION ALL ".join(f"SELECT count(*) n FROM ({grouped}) g WHERE {r}" for r in [f"({q})", f"NOT ({q})", f"({q}) IS NULL"]) + ")"))
        kind = self.random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        on = self.random.choice(["t.i = c.i", "t.s = c.s AND t.b = c.b", "t.id = c.cid", "t.dt = c.dt AND t.i > c.i", "t.i <=> c.i"])
        forms.append((f"SELECT count(*), sum(coalesce(hash(t.id, c.cid), 0)) FROM {table} t {kind} c ON {on}",
                      "SELECT sum(n), sum(h) FROM (" + " UNION ALL ".join(
                          f"SELECT count(*) AS n, sum(coalesce(hash(t.id, c.cid), 0)) AS h FROM {table} t {kind} c ON {on} WHERE {r}" for r in three) + ")"))
        return [([], text) for text in self.random.choice(forms)]

    def row_by_row(self):
        p, table = self.predicate("t."), self.table()
        kind = self.random.choice(["", " JOIN c ON t.i = c.i", " LEFT JOIN c ON t.s = c.s AND c.i > 1", " LEFT SEMI JOIN c ON t.i = c.i", " LEFT ANTI JOIN c ON t.id = c.cid"])
        return [([], f"SELECT count(*) FROM {table} t{kind} WHERE {p}"),
                ([], f"SELECT coalesce(sum(x), 0) FROM (SELECT CASE WHEN p THEN 1 ELSE 0 END AS x FROM (SELECT {p} AS p FROM {table} t{kind}))")]

    def pivot(self):
        p, table, row = self.predicate("t."), self.table(), self.random.randrange(ROWS)
        value = f"(SELECT {p} FROM {table} t WHERE id = {row})"
        return [([], f"SELECT 1, CASE WHEN {value} IS NULL THEN 'null' WHEN {value} THEN 'true' ELSE 'false' END"),
                ([], f"SELECT count(*), max(v) FROM (SELECT 'true' AS v, id FROM {table} t WHERE {p} UNION ALL SELECT 'false', id FROM {table} t WHERE NOT ({p}) "
                     f"UNION ALL SELECT 'null', id FROM {table} t WHERE ({p}) IS NULL) WHERE id = {row}")]

    def roads(self):
        table, other = self.table(), self.table()
        p, q = self.predicate("t."), self.expression("boolean", 2, "u.")
        joins = [
            f"SELECT count(*), sum(coalesce(hash(t.id, u.id, c.cid), 0)) FROM {table} t JOIN {other} u ON t.id = u.id JOIN c ON c.i = t.i WHERE {p} AND {q}",
            f"SELECT count(*), sum(coalesce(hash(t.id, u.id), 0)) FROM {table} t LEFT JOIN (SELECT * FROM {other} u WHERE {q}) u ON t.id = u.id AND t.s = u.s WHERE {p}",
            f"SELECT t.s, c.b, count(*), sum(t.n), min(t.id) FROM {table} t JOIN c ON t.dt = c.dt WHERE {p} GROUP BY t.s, c.b",
            f"SELECT count(*), sum(t.id) FROM {table} t WHERE t.i IN (SELECT i FROM {other} u WHERE {q}) AND ({p})",
            f"SELECT count(*), sum(t.id) FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.s = t.s AND c.i > t.i) AND ({p})",
            f"SELECT count(*), sum(t.id) FROM {table} t WHERE t.id > (SELECT avg(cid) FROM c WHERE c.b = t.b) AND ({p})",
            f"SELECT s, sum(r), max(w) FROM (SELECT s, rank() OVER (PARTITION BY b ORDER BY id) r, count(*) OVER (PARTITION BY s) w FROM {table} t WHERE {p}) GROUP BY s",
            f"SELECT i, s, count(*), count(DISTINCT dt), sum(n) FROM {table} t WHERE {p} GROUP BY ROLLUP (i, s)",
            f"SELECT id, s, d FROM {table} t WHERE {p} ORDER BY d DESC, s, id LIMIT 20",
        ]
        return self.on_roads(self.random.choice(joins))

    def on_roads(self, text, count=4):
        rule = [f"{DEBUG}disabledRules={1 << self.random.choice(RULES)}"]
        return [([], text)] + [(road, self.on_other_tables(text)) for road in self.random.sample(ROADS + [rule], count)]

    def on_other_tables(self, text):
        """The same rows lie in all of them."""
        return re.sub(r"\b(FROM|JOIN) t[0-9]+\b", lambda found: f"{found[1]} {self.table()}", text) if self.random.random() < 0.6 else text

    def pairs(self):
        one, other = self.equivalence()
        if self.random.random() < 0.6:
            return [([], one), ([], other)]
        return self.on_roads(one, 3) + [(self.random.choice(ROADS), other)]

    def check(self):
        pairs = self.random.choices([self.partition, self.row_by_row, self.pivot, self.roads, self.pairs], [3, 2, 2, 3, 8])[0]()
        ansi = [] if self.random.random() < 0.3 else ["spark.sql.ansi.enabled=false"]  # without it fewer statements end in an error of evaluation
        return [(road + ansi, text) for road, text in pairs]


def answer(nilas, folder, road, text):
    confs = [word for conf in road for word in ("--conf", conf)]
    done = subprocess.run([nilas, "sql", "-S", *confs, "-e", f"USE db;\n{text}"], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return done.stderr.strip() or f"exit code {done.returncode}", done.returncode == 1
    lines = done.stdout.splitlines()
    return "\n".join(lines if " ORDER BY " in text and " LIMIT " in text else sorted(lines)), False


def run(nilas, folder, check):
    """What differs; None: nothing; "": an error of evaluation."""
    answers = [answer(nilas, folder, road, text) for road, text in check]
    for (text, is_error), (road, statement) in zip(answers, check):
        if is_error and not any(word in text for word in EVALUATION):
            return f"{' '.join(road)} {statement}\n{text}"
    if any(is_error for _, is_error in answers):
        return ""
    for (text, _), (road, statement) in zip(answers[1:], check[1:]):
        if text != answers[0][0]:
            return f"{check[0][1]}\n{answers[0][0][:2000]}\n--- {' '.join(road)}\n{statement}\n{text[:2000]}"
    return None


def add_equality(nilas, folder):
    """A table of the same rows, some of which were written twice: equality delete files of id and of (id, s) take the first ones."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
    from deleted_rows import spark_side
    name = f"t{len(LAYOUTS)}"

    def sql(*texts):
        subprocess.run([nilas, "sql", "-S", "-e", ";\n".join(["USE db", *texts])], cwd=folder, check=True, timeout=300)

    columns, names = ", ".join(f"{name} {kind}" for name, kind, _ in POOLS), ", ".join(name for name, _, _ in POOLS)
    sql(f"CREATE TABLE {name} (id BIGINT, {columns}) USING iceberg TBLPROPERTIES ({SMALL})", f"INSERT INTO {name} SELECT * FROM t0 WHERE id % 4 < 3",
        f"INSERT INTO {name} SELECT id + {ROWS}, {names} FROM t0 WHERE id < 500")
    for at, keys in enumerate(["id", "id, s"]):  # the columns' ids are 1 to 6 in both tables
        sql(f"CREATE TABLE keys{at} (id BIGINT" + ", i INT, l BIGINT, d DOUBLE, n DECIMAL(4,2), s STRING" * at + ") USING iceberg",
            f"INSERT INTO keys{at} SELECT {'id, i, l, d, n, s' if at else 'id'} FROM {name} WHERE id >= {ROWS} AND id % 2 = {at} OR id % 5 = {at}")
        warehouse = pathlib.Path(folder) / "warehouse" / "db"
        target = warehouse / name / "data" / f"gone{at}.parquet"
        shutil.copy(next((warehouse / f"keys{at}" / "data").glob("*.parquet")), target)
        rows = int(subprocess.run([nilas, "sql", "-S", "-e", f"SELECT count(*) FROM db.keys{at}"], cwd=folder, capture_output=True, text=True, check=True).stdout)
        spark_side(folder, {name: {"path": str(target), "rows": rows, "columns": keys.split(", ")}}, "deletes", "db")
    sql(f"INSERT INTO {name} SELECT * FROM t0 WHERE id % 4 = 3 OR id % 5 < 2")
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nilas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=0, help="goes on with new checks for so long")
    parser.add_argument("--equality", action="store_true", help="one table more, with rows deleted by equality: needs Spark, as bench/deleted_rows.py does")
    arguments = parser.parse_args()
    nilas = os.path.abspath(arguments.nilas)
    generator = Oracles(arguments.seed)
    total = faults = errors = 0
    end = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([nilas, "sql", "-S", "-e", ";\n".join(statements())], cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode:
            sys.exit(f"cannot make the tables: {done.stderr}")
        if arguments.equality:
            Oracles.tables = [*Oracles.tables, add_equality(nilas, folder)]
        with ThreadPoolExecutor(2) as pool:
            while total < arguments.count or time.monotonic() < end:
                checks = [generator.check() for _ in range(20)]
                for found in pool.map(lambda check: run(nilas, folder, check), checks):
                    errors += found == ""
                    faults += bool(found)
                    if found:
                        print(f"{found}\n", flush=True)
                total += len(checks)
    print(f"random_oracles: {total} checks of seed {arguments.seed}: {faults} differences, {errors} errors of evaluation")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
