#!/usr/bin/env python3
"""Ctrl-C in the shell, in the middle of each kind of work: the statement stops at once and leaves nothing behind.

    cancel_test.py NILAS [SECONDS]

A shell runs in a pseudo terminal. Each statement below is interrupted after some time of running (default 1 s); then the
shell must say OPERATION_CANCELED within LIMIT seconds, have as many open files as before, no spill file, no data file of
the interrupted write, and must run the next statement.
"""
import os
import pty
import select
import signal
import sys
import tempfile
import time

LIMIT = float(os.environ.get("CANCEL_LIMIT", "0.1"))

BIG = "range(0, 400000000)"
STATEMENTS = {
    "scan": "SELECT sum(a * 3 % 7) FROM lake.t.big a0 CROSS JOIN range(200)",
    "filter and project": f"SELECT count(*) FROM {BIG} WHERE hash(id, cast(id AS string)) % 1000000 = 1",
    "aggregate": f"SELECT count(*) FROM (SELECT id % 30000000 AS k, count(*) FROM {BIG} GROUP BY 1)",
    "distinct": f"SELECT count(DISTINCT concat(id, 'x')) FROM {BIG}",
    "sort": f"SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY hash(id)) AS n FROM {BIG})",
    "sort result": f"SELECT hash(id) AS h FROM {BIG} ORDER BY h",
    "join build": f"SELECT count(*) FROM range(10) a JOIN (SELECT concat(id, 'x') AS k FROM {BIG}) b ON concat(a.id, 'x') = b.k",
    "join probe": "SELECT count(*) FROM (SELECT id % 2 AS k FROM range(300000)) a JOIN (SELECT id % 2 AS k FROM range(300000)) b ON a.k = b.k",
    "nested loop": "SELECT count(*) FROM range(3000000) a JOIN range(3000000) b ON a.id * 2 > b.id + 1",
    "window": "SELECT max(s) FROM (SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 100000 PRECEDING AND 3 FOLLOWING) + max(id) OVER (ORDER BY id DESC "
              "ROWS BETWEEN 3 PRECEDING AND 70000 FOLLOWING) AS s FROM range(3000000))",
    "generate": "SELECT sum(e) FROM (SELECT explode(sequence(0, 100000)) AS e FROM range(100000))",
    "collect": f"SELECT max(size(l)) FROM (SELECT id % 1000 AS k, collect_list(id) AS l FROM {BIG} GROUP BY 1)",
    "write": f"INSERT INTO lake.t.target SELECT id, cast(hash(id) AS string) FROM {BIG}",
    "write partitions": f"INSERT INTO lake.t.parts SELECT id, hash(id) % 50 FROM {BIG}",
    "create table as": f"CREATE TABLE lake.t.made AS SELECT id, cast(hash(id) AS string) AS s FROM {BIG}",
    "delete": "DELETE FROM lake.t.big WHERE a % 3 = (SELECT max(id) % 3 FROM range(300000000))",
}


class Shell:
    def __init__(self, nilas, arguments, folder):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ["HOME"] = folder
            os.environ["TERM"] = "dumb"
            os.execv(nilas, [nilas, "sql"] + arguments)
        self.output = b""

    def read_until(self, wanted, seconds):
        """True when `wanted` was printed; forgets what came before its end."""
        end = time.monotonic() + seconds
        while True:
            at = self.output.find(wanted)
            if at >= 0:
                self.seen, self.output = self.output[: at + len(wanted)], self.output[at + len(wanted):]
                return True
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                return False
            try:
                self.output += os.read(self.terminal, 65536)
            except OSError:
                return False

    def send(self, text):
        os.write(self.terminal, text.encode())

    def run(self, sql, seconds=120):
        self.send(f"{sql};\nSELECT 'end' || '-mark';\n")
        is_done = self.read_until(b"end-mark", seconds) and self.read_until(b")> ", 10)
        time.sleep(0.05)
        while select.select([self.terminal], [], [], 0)[0]:
            os.read(self.terminal, 65536)
        self.output = b""
        return is_done

    def processor_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") / len(os.sched_getaffinity(0))

    def open_files(self):
        return sorted(os.readlink(f"/proc/{self.pid}/fd/{name}") for name in os.listdir(f"/proc/{self.pid}/fd"))


def data_files(folder):
    return sorted(os.path.join(base, name) for base, _, names in os.walk(folder) for name in names if name.endswith(".parquet") or "spill" in name)


def main():
    nilas, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    wanted = sys.argv[3:] or list(STATEMENTS)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        confs = ["spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type=hadoop",
                 f"spark.sql.catalog.lake.warehouse={folder}/lake", f"spark.local.dir={folder}", "spark.nilas.memory=400m"]
        shell = Shell(nilas, [word for conf in confs for word in ("--conf", conf)], folder)
        setup = ("CREATE TABLE lake.t.big AS SELECT id AS a, hash(id) AS b FROM range(3000000)", "CREATE TABLE lake.t.target (id bigint, s string)",
                 "CREATE TABLE lake.t.parts (id bigint, p int) PARTITIONED BY (p)")
        for sql in setup:
            if not shell.run(sql):
                sys.exit(f"no set-up: {shell.output.decode()}")
        for name in wanted:
            before, files = data_files(folder), shell.open_files()
            shell.send(STATEMENTS[name] + ";\n")
            ended = shell.read_until(b"Time taken", seconds) or b"SQLSTATE" in shell.output
            printed = shell.output.decode()
            started, used = time.monotonic(), shell.processor_seconds()
            shell.send("\x03")
            stopped = shell.read_until(b"OPERATION_CANCELED", 30)
            took = time.monotonic() - started
            worked = min(took, shell.processor_seconds() - used)
            problems = []
            if ended:
                problems.append(f"ended before it was interrupted: {printed[-300:]}")
            elif not stopped:
                problems.append("did not stop")
            elif worked > LIMIT:
                problems.append(f"worked on for {worked * 1000:.0f} ms")
            if not shell.run("SELECT 1"):
                problems.append("the shell does not go on")
                print(shell.output.decode()[-2000:])
            left = [path for path in data_files(folder) if path not in before]
            if left:
                problems.append(f"left {len(left)} files, {left[0]}")
            now = shell.open_files()
            if len(now) > len(files):
                problems.append(f"left open {sorted(set(now) - set(files))[:3]}")
            print(f"{name:20} {took * 1000:6.0f} ms {'; '.join(problems) or 'ok'}", flush=True)
            if problems:
                failed.append(name)
        os.kill(shell.pid, signal.SIGKILL)
        os.waitpid(shell.pid, 0)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


main()
