#!/usr/bin/env python3
"""Statements over ten times more data than spark.nilas.memory: each ends, answers as with a large budget, and leaves nothing in spark.local.dir.

    budget.py NILAS [--rows N] [--budget 32m] [NAME …]

The table `w` holds N rows (260 bytes each in memory; 1,300,000 by default). A case is one or several statements; {T} stands for
a table of the case's own, so that writes with both budgets can be compared. Peak memory of the process is printed and
must stay within the budget and what a process takes besides. At the end a statement that spills ends by an error, by Ctrl-C and by kill -9.
"""
import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

BESIDE_BYTES = 160 << 20  # the program, its threads' stacks, what decoding and the allocator take, results on their way out
W = ("CREATE TABLE w AS SELECT id, CAST(IF(id % 10 < 4, 7, id % 250000) AS INT) AS skew, CASE WHEN id % 50 = 3 THEN NULL ELSE md5(CAST(id % 650000 AS STRING)) END AS k, "
     "concat(md5(CAST(id AS STRING)), repeat(CAST(hash(id) AS STRING), 10)) AS s, CAST(hash(id) % 100000 AS DECIMAL(12,2)) AS n, CAST(hash(id, 1) AS DOUBLE) AS d, "
     "timestamp_seconds(pmod(hash(id, 2), 40000000)) AS ts, CASE WHEN id % 9 = 1 THEN NULL ELSE array(id, id % 77) END AS arr FROM range({rows})")
H = "sum(coalesce(hash({}), 0))"


def hashed(columns):
    return f"count(*), {H.format(columns)}"


def window(expression, frame="", of="w"):
    return f"SELECT count(*), sum(coalesce(hash(id, x), 0)) FROM (SELECT id, {expression} OVER ({frame}) AS x, s FROM {of}) WHERE length(s) > 0"


JOINS = {name: f"SELECT {hashed('a.id, b.id' if with_right else 'a.id')}, sum(length(a.s)) FROM w a {kind} (SELECT id + 300000 AS id, k, s, skew FROM w) b ON {on}"
         for name, kind, on, with_right in [
             ("join inner", "JOIN", "a.id = b.id", True), ("join left", "LEFT JOIN", "a.id = b.id", True), ("join right", "RIGHT JOIN", "a.id = b.id AND length(b.s) > 60", True),
             ("join full", "FULL JOIN", "a.id = b.id", True), ("join full residual", "FULL JOIN", "a.k = b.k AND a.id > b.id", True), ("join semi", "LEFT SEMI JOIN", "a.k = b.k AND b.id % 3 = 1", False),
             ("join anti", "LEFT ANTI JOIN", "a.k = b.k AND b.id % 3 = 1", False), ("join text", "JOIN", "a.s = b.s", True)]}
CASES = {
    "sort": ["SELECT id, k FROM w ORDER BY k DESC, id"],
    "sort wide": ["SELECT id, s, arr FROM w ORDER BY d, id LIMIT 900000"],
    "sort nested": ["SELECT id, arr FROM w ORDER BY arr DESC NULLS FIRST, s, id LIMIT 1000 OFFSET 1000000"],
    **{name: [text] for name, text in JOINS.items()},
    "join skewed": ["SELECT count(*), sum(a.id), sum(length(b.s)), sum(length(a.s)) FROM w a JOIN (SELECT skew, id, s FROM w WHERE id % 20000 = 7) b ON a.skew = b.skew"],
    "join skewed left": ["SELECT count(*), sum(a.id), sum(length(b.s)), sum(length(a.s)) FROM (SELECT skew, id, s FROM w WHERE id % 20000 = 7) b LEFT JOIN w a ON a.skew = b.skew"],
    "join skewed both": ["SELECT count(*), sum(a.id + b.id), max(a.s), max(b.s) FROM (SELECT * FROM w WHERE id % 150 = 0) a FULL JOIN (SELECT * FROM w WHERE id % 151 = 0) b ON a.skew = b.skew"],
    "join three": ["SELECT count(*), sum(length(a.s) + length(b.s) + length(c.s)) FROM w a JOIN w b ON a.id = b.id JOIN w c ON b.s = c.s"],
    "not in": ["SELECT count(*), sum(id) FROM w WHERE s NOT IN (SELECT s FROM w WHERE id % 3 = 0)"],
    "exists": [f"SELECT {hashed('a.id')} FROM w a WHERE EXISTS (SELECT 1 FROM w b WHERE b.s = a.s AND b.id % 5 = 1 AND b.d <= a.d) OR a.id % 11 = 2"],
    "scalar subquery": ["SELECT count(*), sum(id), sum(m) FROM (SELECT id, (SELECT max(b.id) FROM w b WHERE b.k = a.k) AS m, s FROM w a) WHERE length(s) > 3"],
    "cte twice": ["WITH c AS (SELECT id, s, k, rand(3) AS r FROM w) SELECT count(*), sum(length(a.s)), count_if(a.r = b.r) FROM c a JOIN c b ON a.id = b.id"],
    "groups": [f"SELECT count(*), sum(c), {H.format('k, m')} FROM (SELECT k, count(*) AS c, max(s) AS m, sum(n) AS t FROM w GROUP BY k)"],
    "groups of text": [f"SELECT count(*), sum(c), {H.format('s')} FROM (SELECT s, count(*) AS c FROM w GROUP BY s)"],
    "groups rollup": [f"SELECT count(*), sum(c), {H.format('skew, r, t')} FROM (SELECT skew, id % 5 AS r, count(*) AS c, sum(n) AS t FROM w GROUP BY ROLLUP (skew, id % 5))"],
    "distinct": ["SELECT count(*), sum(length(s)) FROM (SELECT DISTINCT s, k FROM w)"],
    "count distinct": ["SELECT count(DISTINCT s), count(DISTINCT k), count(DISTINCT id, skew), sum(DISTINCT n) FROM w"],
    "count distinct groups": [f"SELECT count(*), {H.format('g, a, b')} FROM (SELECT id % 3000 AS g, count(DISTINCT s) AS a, count(DISTINCT k) AS b FROM w GROUP BY 1)"],
    "collect_list": ["SELECT count(*), sum(size(l)), sum(hash(array_sort(l))) FROM (SELECT k, collect_list(s) AS l FROM w GROUP BY k)"],
    "collect_list few groups": ["SELECT count(*), sum(size(l)), sum(length(l[0])) FROM (SELECT id % 100 AS g, collect_list(s) AS l FROM w GROUP BY 1)"],
    "collect_set": ["SELECT count(*), sum(size(l)) FROM (SELECT id % 400 AS g, collect_set(s) AS l FROM w GROUP BY 1)"],
    "listagg": ["SELECT count(*), sum(hash(l)) FROM (SELECT k, listagg(s, ',') WITHIN GROUP (ORDER BY id) AS l FROM w GROUP BY k)"],
    "percentile": ["SELECT percentile(id % 30000, array(0.1, 0.5, 0.99)), median(skew % 20000), percentile_cont(0.25) WITHIN GROUP (ORDER BY n % 20000) FROM w"],  # a group's different values lie in memory
    "percentile groups": [f"SELECT count(*), {H.format('g, p, m')} FROM (SELECT id % 50000 AS g, percentile(d, 0.5) AS p, median(n) AS m FROM w GROUP BY 1)"],
    "percentile few groups": [f"SELECT count(*), {H.format('g, p')} FROM (SELECT id % 3 AS g, percentile(n % 9000, 0.3) AS p FROM w GROUP BY 1)"],
    "approx groups": [f"SELECT count(*), {H.format('g, a')} FROM (SELECT id % 100000 AS g, approx_count_distinct(k) AS a FROM w GROUP BY 1)"],
    "mode": ["SELECT count(*), count(m) FROM (SELECT id % 2000 AS g, mode(s) AS m, max_by(s, d) AS y, histogram_numeric(id, 3) AS h FROM w GROUP BY 1)"],
    "pivot": ["SELECT count(*), sum(length(zero)), sum(length(one)) FROM (SELECT k, id % 2 AS r, s FROM w) PIVOT (max(s) FOR r IN (0 AS zero, 1 AS one))"],
    "explode": ["SELECT count(*), sum(e), sum(length(s)) FROM (SELECT s, explode(arr) AS e FROM w ORDER BY k, id)"],
    "set intersect": [f"SELECT {hashed('s, k')} FROM (SELECT s, k FROM w WHERE id % 3 < 2 INTERSECT SELECT s, k FROM w WHERE id % 3 > 0)"],
    "set intersect all": [f"SELECT {hashed('k, skew')} FROM (SELECT k, skew FROM w INTERSECT ALL SELECT k, skew FROM w WHERE id % 3 > 0)"],
    "set except": [f"SELECT {hashed('s')} FROM (SELECT s FROM w EXCEPT SELECT s FROM w WHERE id % 4 = 0)"],
    "set except all": [f"SELECT {hashed('k, skew')} FROM (SELECT k, skew FROM w EXCEPT ALL SELECT k, skew FROM w WHERE id % 4 = 0)"],
    "set union": [f"SELECT {hashed('s, k')} FROM (SELECT s, k FROM w WHERE id % 3 = 0 UNION SELECT s, k FROM w)"],
    "window range": [window("sum(n)", "ORDER BY id RANGE BETWEEN 30000 PRECEDING AND 20000 FOLLOWING")],
    "window range descending": [window("count(*)", "ORDER BY d DESC RANGE BETWEEN 1000000 PRECEDING AND CURRENT ROW")],
    "window range interval": [window("avg(id)", "ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL '2' DAY FOLLOWING")],
    "window range max": [window("max(s)", "ORDER BY id RANGE BETWEEN 50 PRECEDING AND 60 FOLLOWING")],
    "window range to the end": [window("sum(n)", "ORDER BY id RANGE BETWEEN 7 FOLLOWING AND UNBOUNDED FOLLOWING")],
    "window range peers": [window("collect_list(id % 10)", "PARTITION BY id % 2 ORDER BY id RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING")],
    "window rows": [window("sum(n)", "ORDER BY s ROWS BETWEEN 400000 PRECEDING AND 10 FOLLOWING")],
    "window rows max": [window("max(s)", "ORDER BY s ROWS BETWEEN 3 PRECEDING AND 100 FOLLOWING")],
    "window whole": [window("max(s)", "PARTITION BY id % 2")],
    "window running": [window("min(s)", "ORDER BY id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING")],
    "window ranks": ["SELECT count(*), sum(a), sum(b), sum(c), sum(round(u * 1000)), sum(length(s)) FROM (SELECT rank() OVER w AS a, dense_rank() OVER w AS b, ntile(13) OVER w AS c, percent_rank() OVER w AS u, s "
                     "FROM w WINDOW w AS (ORDER BY skew, k, id))"],
    "window values": ["SELECT count(*), sum(hash(a, b, c, e)) FROM (SELECT lag(s, 1000) OVER (ORDER BY id) AS a, lead(k, 3) IGNORE NULLS OVER (ORDER BY id) AS b, last_value(k) IGNORE NULLS OVER (ORDER BY id) AS c, "
                      "nth_value(s, 5) OVER (ORDER BY id) AS e FROM w)"],
    "window many": [window("row_number()", "PARTITION BY k ORDER BY s")],
    "window two orders": ["SELECT count(*), sum(hash(id, a, b)) FROM (SELECT id, s, row_number() OVER (PARTITION BY k ORDER BY s) AS a, sum(n) OVER (PARTITION BY skew ORDER BY d, id) AS b FROM w) WHERE length(s) > 1"],
    "create partitioned sorted": ["CREATE TABLE {T} PARTITIONED BY (p) AS SELECT *, id % 150 AS p FROM w ORDER BY p, s", f"SELECT {hashed('id, s, k, arr, p')} FROM {{T}}"],
    "insert distributed ordered": ["CREATE TABLE {T} (id BIGINT, s STRING, k STRING) PARTITIONED BY (bucket(40, id))", "ALTER TABLE {T} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY s",
                                   "INSERT INTO {T} SELECT id, s, k FROM w", f"SELECT {hashed('id, s, k')} FROM {{T}}", "SELECT count(*) <= 80 FROM db.{T}.files"],
    "insert overwrite": ["CREATE TABLE {T} (id BIGINT, s STRING, p BIGINT) PARTITIONED BY (p)", "INSERT INTO {T} SELECT id, s, id % 60 FROM w", "INSERT OVERWRITE {T} SELECT id, k, id % 60 FROM w WHERE id % 60 < 9",
                         f"SELECT {hashed('id, s, p')} FROM {{T}}"],
    "merge copy-on-write": ["CREATE TABLE {T} AS SELECT * FROM w", "MERGE INTO {T} t USING (SELECT id * 2 AS id, s, k FROM w) u ON t.id = u.id WHEN MATCHED AND t.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s = u.s "
                            "WHEN NOT MATCHED THEN INSERT (id, s, k) VALUES (u.id, u.s, u.k) WHEN NOT MATCHED BY SOURCE AND t.id % 5 = 1 THEN UPDATE SET k = 'gone'", f"SELECT {hashed('id, s, k, skew')} FROM {{T}}"],
    "merge merge-on-read": ["CREATE TABLE {T} TBLPROPERTIES ('write.merge.mode'='merge-on-read', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read') AS SELECT * FROM w",
                            "MERGE INTO {T} t USING (SELECT id * 2 AS id, s, k FROM w) u ON t.id = u.id WHEN MATCHED AND t.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s = u.s "
                            "WHEN NOT MATCHED THEN INSERT (id, s, k) VALUES (u.id, u.s, u.k)", "DELETE FROM {T} WHERE s IN (SELECT s FROM w WHERE id % 7 = 2)", "UPDATE {T} SET k = s WHERE id % 4 = 1",
                            f"SELECT {hashed('id, s, k, skew')} FROM {{T}}"],
    "rewrite": ["CREATE TABLE {T} AS SELECT * FROM w", "CALL local.system.rewrite_data_files(table => 'db.{T}', strategy => 'sort', sort_order => 'zorder(id, skew)', options => map('rewrite-all', 'true'))",
                f"SELECT {hashed('id, s, k, arr')} FROM {{T}}"],
    "cached": ["CACHE TABLE {T} AS SELECT id, s, k FROM w WHERE id % 2 = 0", f"SELECT {hashed('a.id, b.s')} FROM {{T}} a JOIN {{T}} b ON a.s = b.s", f"SELECT {hashed('id, k')} FROM {{T}}"],
}


class Runner:
    def __init__(self, nilas, folder, rows):
        self.nilas, self.folder, self.local = nilas, folder, os.path.join(folder, "spill")
        os.mkdir(self.local)
        self.start("6g", ["CREATE NAMESPACE db", "USE db", W.format(rows=rows)]).wait()

    def start(self, budget, statements, **kinds):
        return subprocess.Popen([self.nilas, "sql", "-S", "--conf", f"spark.nilas.memory={budget}", "--conf", f"spark.local.dir={self.local}", "-e", ";\n".join(statements)], cwd=self.folder, **kinds)

    def run(self, budget, statements):
        """What was printed (long: its hash), seconds, peak bytes."""
        begin = time.monotonic()
        with tempfile.TemporaryFile() as out:
            process = self.start(budget, ["USE db", *statements], stdout=out, stderr=subprocess.STDOUT)
            timer = threading.Timer(600, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            timer.cancel()
            text = digest(out)
        shown = text.decode(errors="replace").strip()
        shown = "\n".join(line for line in shown.splitlines() if line.count("\t") != 4)  # what a rewrite says of its files' sizes
        if process.returncode:
            shown = f"exit code {process.returncode}: {text[-600:].decode(errors='replace')}"
        return shown, time.monotonic() - begin, usage.ru_maxrss << 10

    def left(self):
        return os.listdir(self.local)


def digest(file):
    """What was printed; much of it: its length and hash. In pieces: a child's peak begins with what this process holds."""
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    if length < 4000:
        return file.read()
    total = hashlib.md5()
    while piece := file.read(1 << 20):
        total.update(piece)
    return f"{length} bytes, {total.hexdigest()}".encode()


def spilled(pid):
    """Bytes in the process's spill files, which have no name."""
    total = 0
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            if "(deleted)" in os.readlink(f"/proc/{pid}/fd/{name}"):
                total += os.stat(f"/proc/{pid}/fd/{name}").st_size
    except OSError:
        pass
    return total


def ends(runner, budget):
    """A statement that has spilled ends by an error, Ctrl-C, kill -9: nothing stays, and the next one runs."""
    big = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY s, e) AS r, e, s FROM (SELECT s, {} AS e FROM w a CROSS JOIN range(3)))"
    for name, extra, sign, code in [("error", "IF(a.id = (SELECT max(id) FROM w) - 5, CAST(s AS INT), 1)", None, 1), ("Ctrl-C", "1", signal.SIGINT, None), ("kill -9", "1", signal.SIGKILL, -9)]:
        text = big.format(extra) + " WHERE length(s) > 1 AND e = 1"
        process = runner.start(budget, ["USE db", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            most = max(most, spilled(process.pid))
            if sign and most > 20 << 20:
                process.send_signal(sign)
                break
            time.sleep(0.005)
        process.wait(60)
        answer = runner.run(budget, ["SELECT count(*) FROM (SELECT DISTINCT s FROM w)"])[0]
        problems = [f"left {runner.left()}"] * bool(runner.left()) + [f"exit code {process.returncode}"] * (code is not None and process.returncode != code)
        problems += [f"only {most} bytes were spilled"] * (most < 1 << 20) + [f"then {answer}"] * (not answer.isdigit())
        yield f"ends by {name}", "; ".join(problems), f"{most >> 20} MiB spilled before"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nilas")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=1300000)
    parser.add_argument("--budget", default="32m")
    arguments = parser.parse_intermixed_args()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(os.path.abspath(arguments.nilas), folder, arguments.rows)
        limit = (int(arguments.budget[:-1]) << 20) + BESIDE_BYTES
        for at, (name, statements) in enumerate(CASES.items()):
            if arguments.names and name not in arguments.names:
                continue
            want, quick, most = runner.run("6g", [text.replace("{T}", f"big{at}") for text in statements])
            got, took, peak = runner.run(arguments.budget, [text.replace("{T}", f"small{at}") for text in statements])
            problems = [f"DIFFERS\n  wanted {want}\n  got    {got}"] * (want != got) + [f"failed: {want}"] * want.startswith("exit code")
            problems += [f"peak {peak >> 20} MiB"] * (peak > limit) + [f"left {runner.left()}"] * bool(runner.left())
            print(f"{name:28} {quick:6.1f} s with {most >> 20} MiB; {took:6.1f} s with {peak >> 20} MiB  {'; '.join(problems) or 'equal'}", flush=True)
            failed += [name] * bool(problems)
            runner.run("1g", ["DROP TABLE IF EXISTS big%d PURGE" % at, "DROP TABLE IF EXISTS small%d PURGE" % at])
        for name, problem, note in ends(runner, arguments.budget) if not arguments.names or "ends" in arguments.names else []:
            print(f"{name:28} {note}  {problem or 'nothing left'}", flush=True)
            failed += [name] * bool(problem)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


main()
