#!/usr/bin/env python3
"""Managed maintenance of table buckets: small files are compacted in the background while writers go on, by the settings that
the S3 Tables API takes, and switched off by them.

    tests/lakehouse/maintenance_test.py NILAS [test_name…]

Needs boto3 and PyIceberg.
"""
import sys
import threading
import time

import pyarrow
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException

from support import Lakehouse, check, equal, run_tests

ROWS = pyarrow.table({"id": pyarrow.array(range(100), pyarrow.int64()), "name": ["x"] * 100})


def open_bucket(lake, name="lakehouse"):
    tables = lake.client("s3tables")
    arn = tables.create_table_bucket(name=name)["arn"]
    catalog = load_catalog("lake", **{
        "type": "rest", "uri": lake.url("s3tables") + "/iceberg", "warehouse": arn, "rest.sigv4-enabled": "true", "rest.signing-name": "s3tables", "rest.signing-region": "us-east-1",
        "s3.endpoint": lake.url("s3"), "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas", "s3.region": "us-east-1", "client.access-key-id": "nilas", "client.secret-access-key": "nilas"})
    catalog.create_namespace("sales")
    return tables, arn, catalog


def fill(catalog, name, times):
    table = catalog.create_table(name, schema=ROWS.schema)
    for _ in range(times):
        table.append(ROWS)
    return table


def files_of(catalog, name):
    return len(catalog.load_table(name).inspect.files())


def wait_for(condition, seconds=40):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.3)
    return False


def status_of(tables, arn, name, kind="icebergCompaction"):
    return tables.get_table_maintenance_job_status(tableBucketARN=arn, namespace="sales", name=name)["status"][kind]


def test_small_files_are_compacted_and_the_status_is_told():
    with Lakehouse("--maintenance-every", "1") as lake:
        tables, arn, catalog = open_bucket(lake)
        fill(catalog, "sales.orders", 8)
        check(wait_for(lambda: files_of(catalog, "sales.orders") == 1), f"still {files_of(catalog, 'sales.orders')} files: {lake.stderr()}")
        equal(catalog.load_table("sales.orders").scan().to_arrow().num_rows, 800, "the rows stay")
        for kind in ("icebergCompaction", "icebergSnapshotManagement", "icebergUnreferencedFileRemoval"):
            check(wait_for(lambda kind=kind: status_of(tables, arn, "orders", kind)["status"] == "Successful", 10), f"{kind}: {status_of(tables, arn, 'orders', kind)}")
        check(status_of(tables, arn, "orders").get("lastRunTimestamp"), "when it ran is told")
        snapshots = len(catalog.load_table("sales.orders").snapshots())
        time.sleep(3)
        equal(len(catalog.load_table("sales.orders").snapshots()), snapshots, "a table in good shape is left alone")


def test_what_is_disabled_does_not_run():
    with Lakehouse("--maintenance-every", "1") as lake:
        tables, arn, catalog = open_bucket(lake)
        for name in ("off", "other"):
            catalog.create_table(f"sales.{name}", schema=ROWS.schema)
        tables.put_table_maintenance_configuration(tableBucketARN=arn, namespace="sales", name="off", type="icebergCompaction", value={"status": "disabled"})
        for name in ("off", "other"):
            table = catalog.load_table(f"sales.{name}")
            for _ in range(6):
                table.append(ROWS)
        check(wait_for(lambda: files_of(catalog, "sales.other") == 1), "the other one is compacted")
        time.sleep(2)
        equal(files_of(catalog, "sales.off"), 6, "the disabled one is not")
        equal(status_of(tables, arn, "off")["status"], "Disabled")


def test_the_switch():
    with Lakehouse("--maintenance-every", "1", "--no-maintenance") as lake:
        _, _, catalog = open_bucket(lake)
        fill(catalog, "sales.orders", 6)
        time.sleep(3)
        equal(files_of(catalog, "sales.orders"), 6)


def test_writers_lose_nothing_while_it_runs():
    with Lakehouse("--maintenance-every", "1") as lake:
        _, _, catalog = open_bucket(lake)
        catalog.create_table("sales.busy", schema=ROWS.schema)
        written = [0]
        lock = threading.Lock()

        def write():
            for count in range(12):
                while True:
                    try:
                        catalog.load_table("sales.busy").append(ROWS)
                        break
                    except CommitFailedException:
                        continue
                with lock:
                    written[0] += 100
                time.sleep(1.3 if count % 4 == 3 else 0.05)

        threads = [threading.Thread(target=write) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(wait_for(lambda: files_of(catalog, "sales.busy") <= 4), "compacted in the end")
        equal(catalog.load_table("sales.busy").scan().to_arrow().num_rows, written[0], "every acknowledged row is there once")


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
