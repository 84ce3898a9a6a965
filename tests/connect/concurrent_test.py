#!/usr/bin/env python3
"""concurrent_test.py NILAS [SECONDS] - many sessions of one server at once on the same tables, while others commit to them.

Each commit leaves a table of which every snapshot keeps the same promise: rows come in hundreds whose values have a known sum. Queries of
many kinds (scans, joins, aggregates, sorts, windows, spilled or not) must never see anything else, whatever is in the caches.
"""
import logging
import os
import random
import sys
import threading
import time
import traceback

from server import connected, serving
from wire_test import check

logging.disable(logging.CRITICAL)
HUNDRED = "SELECT g * 100 + id AS id, g, concat('value ', id) AS s, CAST(id AS DECIMAL(10,2)) AS n FROM range(100) CROSS JOIN (SELECT CAST({} AS BIGINT) AS g)"
PROMISES = [  # each gives true, or no row, of every snapshot
    "SELECT count(*) % 100 = 0 AND sum(n) = count(*) / 100 * 4950 FROM db.t",
    "SELECT bool_and(c = 100 AND v = 4950) FROM (SELECT g, count(*) AS c, sum(n) AS v FROM db.t GROUP BY g)",
    "SELECT count(*) = sum(w) / 100 FROM (SELECT count(*) OVER (PARTITION BY g) AS w FROM db.t)",
    "SELECT bool_and(r = id % 100 + 1) FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY n) AS r FROM db.t)",
    "SELECT count(DISTINCT g) * 100 = count(*) FROM db.t",
    "SELECT count(*) % 100 = 0 FROM (SELECT * FROM db.t ORDER BY s DESC, id)",
    "SELECT count(*) % 2 = 0 FROM (SELECT a.id FROM db.t a JOIN range(50) b ON a.n = b.id)",
    "SELECT count(*) = 0 FROM db.t WHERE s NOT IN (SELECT concat('value ', id) FROM range(100))",
    "SELECT count(*) % 100 = 0 FROM (SELECT g, s FROM db.t INTERSECT SELECT g, concat('value ', CAST(n AS INT)) FROM db.t)",
    "SELECT max(record_count) >= 0 FROM db.t.files",
]


class Run:
    def __init__(self, url, catalog, seconds):
        self.url, self.catalog, self.end = url, catalog, time.monotonic() + seconds
        self.problems, self.queries, self.commits, self.next, self.lock = [], 0, 0, 10, threading.Lock()

    def read(self, seed):
        spark, choose = connected(self.url), random.Random(seed)
        spark.conf.set("nilas.debug.spill", "true" if seed % 3 == 0 else "false")
        while time.monotonic() < self.end and not self.problems:
            text = choose.choice(PROMISES)
            rows = spark.sql(text).collect()
            if any(row[0] is False for row in rows):
                self.problems.append(f"{text}: {rows}")
            with self.lock:
                self.queries += 1

    def write(self, seed):
        spark, choose = connected(self.url), random.Random(seed)
        while time.monotonic() < self.end and not self.problems:
            with self.lock:
                self.next += 1
                g = self.next
            kind = choose.choice(["insert", "insert", "delete", "merge", "update", "rewrite"])
            text = {"insert": f"INSERT INTO db.t {HUNDRED.format(g)}", "delete": f"DELETE FROM db.t WHERE g % 7 = {g % 7}",
                    "update": f"UPDATE db.t SET n = 99 - n WHERE g % 5 = {g % 5} AND s <> ''", "rewrite": f"CALL {self.catalog}.system.rewrite_data_files(table => 'db.t')",
                    "merge": f"MERGE INTO db.t t USING ({HUNDRED.format(g % 8)}) u ON t.id = u.id WHEN MATCHED THEN UPDATE SET n = u.n WHEN NOT MATCHED THEN INSERT *"}[kind]
            if kind == "update":
                text = f"UPDATE db.t SET s = concat('value ', id % 100) WHERE g % 5 = {g % 5}"
            try:
                spark.sql(text).collect()
                with self.lock:
                    self.commits += 1
            except Exception as error:
                if not any(word in str(error) for word in ("onflict", "COMMIT", "issing data files", "issing required files", "found new")):  # lost to another writer: nothing has changed
                    self.problems.append(f"{text}: {error}")

    def guard(self, work, seed):
        try:
            work(seed)
        except Exception as error:
            self.problems.append(repr(error)[:2000])


def main():
    nilas, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 6
    with serving(nilas, "--conf", "spark.master=local[4]") as server:
        spark = connected(server.url)
        catalog = spark.sql("SELECT current_catalog()").collect()[0][0]
        spark.sql("CREATE NAMESPACE db").collect()
        spark.sql("CREATE TABLE db.t (id BIGINT, g BIGINT, s STRING, n DECIMAL(10,2)) USING iceberg PARTITIONED BY (bucket(2, g)) TBLPROPERTIES ('write.delete.mode'='merge-on-read', "
                  "'write.merge.mode'='merge-on-read', 'commit.retry.num-retries'='20')").collect()
        for g in range(8):
            spark.sql(f"INSERT INTO db.t {HUNDRED.format(g)}").collect()
        run = Run(server.url, catalog, seconds)
        for at, text in enumerate(PROMISES):
            check(all(row[0] is not False for row in spark.sql(text).collect()), f"promise {at} holds before")
        threads = [threading.Thread(target=run.guard, args=(run.read, seed)) for seed in range(5)]
        threads += [threading.Thread(target=run.guard, args=(run.write, seed)) for seed in range(100, 103)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not run.problems, f"every snapshot keeps its promises: {run.problems[:2]}")
        check(run.queries > 10 and run.commits > 3, f"much was done at once: {run.queries} queries, {run.commits} commits")
        check(server.is_alive(), "the server lives")
        print(f"concurrent: {run.queries} queries, {run.commits} commits in {catalog}")


if __name__ == "__main__":
    status = 0
    try:
        main()
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    os._exit(status)  # sessions would wait minutes to tell the server, which has stopped, that they end
