#!/usr/bin/env python3
"""Every catalog over a bad network: real servers (`nilas up`, SQLite; PostgreSQL with --postgres, a Hive metastore with --hive), and a proxy that lets the n-th
request of a statement go wrong in each way of proxy.py.

    catalogs.py NILAS [--seconds S] [--seed N] [--only CATALOG,…] [--operation NAME] [--step N --fault NAME] [--postgres] [--hive] [--verbose]

For each catalog, statement, request and fault one run: a statement that was acknowledged is there, exactly once; one that failed
cleanly has left nothing; one whose outcome is unknown says so, and is there wholly or not at all. Then everything is read
without the proxy, by nilas and, where it is installed, by PyIceberg. Without --seconds all runs are made; with it as many, in an order
that hangs on the seed, as fit.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy import ALL, Plan, Proxy  # noqa: E402

FAST = ("'commit.retry.min-wait-ms' = '1', 'commit.status-check.min-wait-ms' = '1', 'commit.status-check.num-retries' = '2'")
# Statements that are tried: how the table is made ready (without faults), what is run, and how it is looked for: rows expected
# when it was done, and when it was not. {n} is a number that no other run has.
OPERATIONS = {
    "append": (None, "INSERT INTO {c}.db.t VALUES ({n})", "SELECT count(*) FROM {c}.db.t WHERE id = {n}", "1", "0"),
    "create": (None, "CREATE TABLE {c}.db.c{n} (id int) USING iceberg TBLPROPERTIES (%s)" % FAST, "SHOW TABLES IN {c}.db LIKE 'c{n}'", "name", ""),
    "ctas": (None, "CREATE TABLE {c}.db.q{n} USING iceberg TBLPROPERTIES (%s) AS SELECT {n} AS id" % FAST, "SHOW TABLES IN {c}.db LIKE 'q{n}'", "name", ""),
    "delete": ("INSERT INTO {c}.db.t VALUES ({n})", "DELETE FROM {c}.db.t WHERE id = {n}", "SELECT count(*) FROM {c}.db.t WHERE id = {n}", "0", "1"),
    "property": (None, "ALTER TABLE {c}.db.t SET TBLPROPERTIES ('p{n}' = 'set')", "SHOW TBLPROPERTIES {c}.db.t ('p{n}')", "set", "does not have"),
    "rename": ("CREATE TABLE {c}.db.r{n} USING iceberg AS SELECT {n} AS id", "ALTER TABLE {c}.db.r{n} RENAME TO {c}.db.s{n}",
               "SHOW TABLES IN {c}.db LIKE 's{n}'", "name", ""),
    "drop": ("CREATE TABLE {c}.db.e{n} USING iceberg AS SELECT {n} AS id", "DROP TABLE {c}.db.e{n}", "SHOW TABLES IN {c}.db LIKE 'e{n}'", "", "name"),
    "view": (None, "CREATE VIEW {c}.db.v{n} AS SELECT {n} AS id", "SHOW VIEWS IN {c}.db LIKE 'v{n}'", "name", ""),
    "namespace": (None, "CREATE NAMESPACE {c}.n{n}", "SHOW NAMESPACES IN {c} LIKE 'n{n}'", "name", ""),
    "purge": ("CREATE TABLE {c}.db.d{n} USING iceberg AS SELECT {n} AS id", "DROP TABLE {c}.db.d{n} PURGE", "SHOW TABLES IN {c}.db LIKE 'd{n}'", "", "name"),
}
# A commit by metadata alone that is sent again changes nothing the second time.
failures = []
lock = threading.Lock()
numbers = iter(range(1000, 10**9))


def free_ports(count):
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def complain(text):
    with lock:
        failures.append(text)
        print(f"FAILED {text}", flush=True)


class Lakehouse:
    def __init__(self, program, folder):
        names = ("s3", "rest", "glue")
        self.ports = dict(zip(names, free_ports(len(names))))
        self.log = open(f"{folder}/up.log", "wb")
        self.process = subprocess.Popen([program, "up", *names, "--data", f"{folder}/data", "--no-configure", "--no-maintenance",
                                         *(word for name, port in self.ports.items() for word in ("--port", f"{name}={port}"))],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if "Ctrl-C stops it" in line:
                break
        else:
            raise RuntimeError("nilas up does not start")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.ports['s3']}/faults", method="PUT"), timeout=10).read()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


class Catalog:
    """One kind of catalog, with a plan and proxies of its own."""

    def __init__(self, kind, program, lake, folder, postgres=None, metastore=None):
        self.kind, self.program, self.plan, self.postgres, self.metastore = kind, program, Plan(), postgres, metastore
        self.folder = folder
        self.proxies = {name: Proxy(port, self.plan, name=name) for name, port in lake.ports.items()}
        if postgres:
            self.proxies["postgres"] = Proxy(postgres.port, self.plan, is_http=False, name="postgres")
        if metastore:
            self.proxies["metastore"] = Proxy(metastore.port, self.plan, is_http=False, name="metastore")
        through = {name: proxy.port for name, proxy in self.proxies.items()}
        direct = {**lake.ports, **({"postgres": postgres.port} if postgres else {}), **({"metastore": metastore.port} if metastore else {})}
        self.through, self.direct = self.confs(through), self.confs(direct)
        self.steps = {}
        self.store = f"http://127.0.0.1:{lake.ports['s3']}"
        self.place = ("warehouse", "db/") if kind == "rest" else ("faults", f"{kind}/db")

    def data_files(self):
        """Names of all data files below the catalog's warehouse."""
        names, token = set(), None
        if self.metastore:  # which makes folders itself, and knows local ones only
            return {f"{place}/{name}" for place, _, found in os.walk(self.metastore.warehouse) for name in found if name.endswith(".parquet")}
        while True:
            query = {"list-type": "2", "prefix": self.place[1], **({"continuation-token": token} if token else {})}
            text = urllib.request.urlopen(f"{self.store}/{self.place[0]}?{urllib.parse.urlencode(query)}", timeout=30).read().decode()
            names.update(re.findall(r"<Key>([^<]*\.parquet)</Key>", text))
            token = next(iter(re.findall(r"<NextContinuationToken>([^<]*)<", text)), None)
            if not token:
                return names

    def confs(self, ports):
        confs = {"": "org.apache.iceberg.spark.SparkCatalog", "warehouse": f"s3://faults/{self.kind}", "s3.endpoint": f"http://127.0.0.1:{ports['s3']}",
                 "s3.path-style-access": "true", "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas", "client.region": "us-east-1", "cache-enabled": "false",
                 "s3.retry.num-retries": "2", "s3.retry.min-wait-ms": "5", "s3.retry.max-wait-ms": "20", "http-client.apache.socket-timeout-ms": "700",
                 "rest.client.socket-timeout-ms": "700"}
        confs.update({
            "hadoop": {"type": "hadoop"},
            "rest": {"type": "rest", "uri": f"http://127.0.0.1:{ports['rest']}", "warehouse": "warehouse", "rest-metrics-reporting-enabled": "false"},
            "glue": {"type": "glue", "glue.endpoint": f"http://127.0.0.1:{ports['glue']}", "glue.access-key-id": "nilas", "glue.secret-access-key": "nilas"},
            "sqlite": {"type": "jdbc", "uri": f"jdbc:sqlite:{self.folder}/catalog.db", "jdbc.schema-version": "V1"},
            "postgres": {"type": "jdbc", "uri": f"jdbc:postgresql://127.0.0.1:{ports.get('postgres')}/postgres", "jdbc.user": "postgres", "jdbc.password": "postgres",
                         "jdbc.schema-version": "V1", "jdbc.socketTimeout": "1", "jdbc.connectTimeout": "2"},
            # Without Hive's locks: one whose answer is lost is held until the metastore ends it, minutes later. The entry's metadata_location decides.
            "hive": {"type": "hive", "uri": f"thrift://127.0.0.1:{ports.get('metastore')}", "warehouse": self.metastore and self.metastore.warehouse,
                     "hadoop.iceberg.engine.hive.lock-enabled": "false", "hadoop.hive.metastore.client.socket.timeout": "60s" if self.metastore and ports.get("metastore") == self.metastore.port else "12s",
                     "hadoop.hive.metastore.client.connect.retry.delay": "1s"},
        }[self.kind])
        return [word for key, value in confs.items() for word in ("--conf", f"spark.sql.catalog.{self.kind}{'.' if key else ''}{key}={value}")]

    def sql(self, statement, confs):
        environment = {**os.environ, "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}
        return subprocess.run([self.program, "sql", "-S", *confs, "-e", statement], capture_output=True, text=True, timeout=120, check=False, env=environment)

    def run(self, statement):
        done = self.sql(statement, self.direct)
        if done.returncode != 0:
            raise RuntimeError(f"{self.kind}: {statement}: {done.stderr}")
        return done.stdout

    def prepare(self):
        self.run(f"CREATE NAMESPACE {self.kind}.db;\nCREATE TABLE {self.kind}.db.t (id int) USING iceberg TBLPROPERTIES ({FAST}, 'write.delete.mode' = 'merge-on-read')")
        self.run(f"INSERT INTO {self.kind}.db.t VALUES (1)")

    def operations(self):
        missing = {"hadoop": ("rename", "view"), "glue": ("view",)}.get(self.kind, ())
        return [name for name in OPERATIONS if name not in missing]

    def count_steps(self, operation):
        ready, statement, _, _, _ = OPERATIONS[operation]
        n = next(numbers)
        if ready:
            self.run(ready.format(c=self.kind, n=n))
        self.plan.disarm()
        done = self.sql(statement.format(c=self.kind, n=n), self.through)
        if done.returncode != 0:
            raise RuntimeError(f"{self.kind} {operation} fails by itself: {done.stderr}")
        self.steps[operation] = self.plan.count
        return self.plan.count

    def state(self, operation, n):
        """done, absent, or what else was found."""
        _, _, question, if_done, if_not = OPERATIONS[operation]
        found = self.sql(question.format(c=self.kind, n=n), self.direct)
        text = found.stdout + (found.stderr if operation != "property" else "")
        is_done = bool(text.strip()) if if_done == "name" else if_done in text if if_done else not text.strip()
        is_absent = bool(text.strip()) if if_not == "name" else if_not in text if if_not else not text.strip()
        if operation in ("append", "delete"):
            is_done, is_absent = text.strip() == if_done, text.strip() == if_not
        return "done" if is_done and not is_absent else "absent" if is_absent and not is_done else f"something else: {text.strip()[:300]}"

    def trial(self, operation, step, fault, verbose):
        ready, statement, _, _, _ = OPERATIONS[operation]
        n = next(numbers)
        name = f"{self.kind} {operation}, request {step} {fault}"
        if ready:
            self.run(ready.format(c=self.kind, n=n))
        files = self.data_files()
        self.plan.arm(step, fault)
        start = time.monotonic()
        try:
            done = self.sql(statement.format(c=self.kind, n=n), self.through)
        except subprocess.TimeoutExpired:
            complain(f"{name}: no end within two minutes")
            return "late"
        seconds = time.monotonic() - start
        met, seen = self.plan.has_struck, list(self.plan.seen)
        self.plan.disarm()
        for proxy in self.proxies.values():
            proxy.release()
        error = done.stderr.strip()
        outcome = "done" if done.returncode == 0 else "unknown" if "NILAS_COMMIT_STATE_UNKNOWN" in error or "Cannot say whether" in error else "failed"
        state = self.state(operation, n)
        if verbose:
            print(f"{name}: {outcome}, {state}, {seconds:.1f} s{'' if met else ' (not met)'} {error[:200]}", flush=True)
        hint = f"\n    {error[:600]}\n    " + "\n    ".join(seen[:60])
        if state not in ("done", "absent"):
            complain(f"{name}: {outcome}, and found {state}{hint}")
        elif (outcome == "done" and state != "done") or (outcome == "failed" and state == "done"):
            complain(f"{name}: was reported as {outcome}, and is {state}{hint}")
        elif outcome == "failed" and fault != "gone" and self.data_files() - files:
            complaint = sorted(self.data_files() - files)
            complain(f"{name}: has failed, and left {complaint}{hint}")
        elif operation == "purge" and outcome == "done" and self.kind != "rest" and not error and any(f"/d{n}" in file for file in self.data_files()):
            complain(f"{name}: was done without a word, and data files are still there{hint}")
        elif "INTERNAL_ERROR" in error:
            complain(f"{name}: an internal error{hint}")
        if operation == "rename" and state in ("done", "absent"):
            self.check_rename(name, n, outcome, hint)
        return outcome

    def check_rename(self, name, n, outcome, hint):
        """Whatever became of it, the table has a name, and its row."""
        found = []
        for letter in "rs":
            read = self.sql(f"SELECT id FROM {self.kind}.db.{letter}{n}", self.direct)
            if read.returncode == 0:
                found.append(read.stdout.strip())
        if not found or set(found) != {str(n)} or (len(found) == 2 and outcome == "done"):
            complain(f"{name}: {outcome}, and under its names is {found}{hint}")

    def check_everything(self):
        """All that is left can be read, also by another reader."""
        tables = self.run(f"SHOW TABLES IN {self.kind}.db").split()
        script = ";\n".join(f"SELECT count(*), count(id) FROM {self.kind}.db.{table}" for table in tables)
        done = self.sql(script, self.direct)
        if done.returncode != 0:
            complain(f"{self.kind}: something cannot be read afterwards: {done.stderr.strip()[:1000]}")
        history = self.sql(f"SELECT count(*) FROM {self.kind}.db.t.all_data_files", self.direct)
        if history.returncode != 0:
            complain(f"{self.kind}: the history cannot be read afterwards: {history.stderr.strip()[:1000]}")
        return len(tables), self.read_with_pyiceberg()

    def read_with_pyiceberg(self):
        try:
            from pyiceberg.table import StaticTable
        except ImportError:
            return None
        ends = self.run(f"SELECT file FROM {self.kind}.db.t.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").strip()
        port = next(word for word in self.direct if ".s3.endpoint=" in word).split("=", 1)[1]
        table = StaticTable.from_metadata(ends, {"s3.endpoint": port, "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas", "s3.region": "us-east-1"})
        theirs = sorted(table.scan().to_arrow()["id"].to_pylist())
        ours = sorted(int(line) for line in self.run(f"SELECT id FROM {self.kind}.db.t").split())
        if theirs != ours:
            complain(f"{self.kind}: PyIceberg reads other rows: {len(theirs)} and {len(ours)}")
        return len(theirs)

    def stop(self):
        for proxy in self.proxies.values():
            proxy.stop()


def sweep(catalog, arguments, seed, deadline, totals):
    catalog.prepare()
    wanted = [name for name in catalog.operations() if not arguments.operation or name in arguments.operation.split(",")]
    runs = []
    for operation in wanted:
        steps = range(1, catalog.count_steps(operation) + 1) if not arguments.step else [arguments.step]
        runs += [(operation, step, fault) for step in steps for fault in ([arguments.fault] if arguments.fault else ALL)]
    random.Random(seed).shuffle(runs)
    counts = {}
    for number, (operation, step, fault) in enumerate(runs):
        if deadline and time.monotonic() > deadline:
            break
        outcome = catalog.trial(operation, step, fault, arguments.verbose)
        counts[outcome] = counts.get(outcome, 0) + 1
    tables, rows = catalog.check_everything()
    with lock:
        totals.append(sum(counts.values()))
        print(f"{catalog.kind:8} {sum(counts.values()):4} of {len(runs)} runs: {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}; "
              f"{tables} tables read, requests {catalog.steps}{'' if rows is None else f'; PyIceberg reads {rows} rows'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nilas")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--operation", help="one or several, with commas")
    parser.add_argument("--step", type=int)
    parser.add_argument("--fault")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--hive", action="store_true", help="needs java and pyspark")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    program = os.path.abspath(arguments.nilas)
    folder = tempfile.mkdtemp(prefix="nilas-faults-")
    kinds = arguments.only.split(",") if arguments.only else ["hadoop", "rest", "glue", "sqlite"] + (["postgres"] if arguments.postgres else []) + (["hive"] if arguments.hive else [])
    deadline = time.monotonic() + arguments.seconds if arguments.seconds else None
    lake, postgres, metastore, totals = Lakehouse(program, folder), None, None, []
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "catalogs"))
    try:
        if "postgres" in kinds:
            from postgres import Postgres
            postgres = Postgres()
        if "hive" in kinds:
            from metastore import Metastore
            metastore = Metastore(f"{folder}/metastore")
        catalogs = [Catalog(kind, program, lake, folder, postgres if kind == "postgres" else None, metastore if kind == "hive" else None) for kind in kinds]
        with concurrent.futures.ThreadPoolExecutor(len(catalogs)) as pool:
            for future in [pool.submit(sweep, catalog, arguments, seed, deadline, totals) for catalog in catalogs]:
                future.result()
        for catalog in catalogs:
            catalog.stop()
    finally:
        lake.stop()
        if postgres:
            postgres.stop()
        if metastore:
            metastore.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(totals)} runs, {len(failures)} failures, seed {seed}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
