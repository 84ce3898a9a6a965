#!/usr/bin/env python3
"""`nilas up` killed with SIGKILL while every service writes and maintenance compacts: what was acknowledged is there after the restart,
what was under way is there whole or not at all, and files and rows agree.

    tests/lakehouse/kill_all_test.py NILAS [--rounds N]

kill_test.py and s3_crash_test.py do plain objects and commits; here are versions, uploads that live through a kill, bulk deletions, S3
Tables, Glue, Athena's INSERTs into a table that is compacted meanwhile, and requests repeated under their Idempotency-Key. Needs boto3
and PyIceberg.
"""
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

import botocore.config
from pyiceberg.catalog import load_catalog

import support
from s3_crash_test import verify_files
from support import Lakehouse, check, equal

ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 1
CONFIG = botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=5, read_timeout=20)
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "a", "type": "long", "required": False}]}


class Killed(Exception):
    """The outcome of the last call is not known."""


class Writer(threading.Thread):
    """One client with things of its own. change() makes one change by told(), and records it once that returned; what the last one
    would have recorded is in self.maybe when the server was killed under it."""

    def __init__(self, lake, state=None):
        super().__init__()
        self.lake, self.state, self.is_ending, self.count, self.maybe = lake, state or {}, False, 0, None
        self.random = random.Random(random.random())

    def client(self, name):
        return self.lake.client(name, config=CONFIG)

    def told(self, call, **arguments):
        try:
            return call(**arguments)
        except Exception as problem:  # pylint: disable=broad-except
            response = getattr(problem, "response", None)
            if response and response["ResponseMetadata"].get("HTTPStatusCode", 500) < 500:
                check(False, f"{type(self).__name__}: {problem}")
            elif not self.is_ending:
                check(False, f"{type(self).__name__}: {problem}")
            raise Killed from problem

    def run(self):
        try:
            self.open()
            while not self.is_ending:
                self.maybe = None
                self.change()
                self.maybe = None
                self.count += 1
        except Killed:
            pass
        except Exception as problem:  # pylint: disable=broad-except
            check(self.is_ending, f"{type(self).__name__}: {problem!r}")


class Versions(Writer):
    """state: key -> {version: body, None for a marker}; maybe: (key, what the change was)."""

    def open(self):
        self.s3 = self.client("s3")

    def change(self):
        key = f"k{self.random.randrange(5)}"
        versions = self.state.setdefault(key, {})
        kind = self.random.random()
        self.maybe = key
        if kind < 0.6 or not versions:
            body = self.random.randbytes(self.random.choice((10, 3000, 100000)))
            versions[self.told(self.s3.put_object, Bucket="versions", Key=key, Body=body)["VersionId"]] = body
        elif kind < 0.75:
            versions[self.told(self.s3.delete_object, Bucket="versions", Key=key)["VersionId"]] = None
        else:
            self.doomed = (key, self.random.choice(list(versions)))
            self.told(self.s3.delete_object, Bucket="versions", Key=key, VersionId=self.doomed[1])
            del versions[self.doomed[1]]
        self.doomed = None

    def verify(self, lake):
        s3 = lake.client("s3")
        found = {}
        for page in s3.get_paginator("list_object_versions").paginate(Bucket="versions"):
            for entry in page.get("Versions", []) + page.get("DeleteMarkers", []):
                found.setdefault(entry["Key"], {})[entry["VersionId"]] = "Size" in entry
        doomed = getattr(self, "doomed", None)
        for key in {*found, *self.state}:
            sure, held = self.state.setdefault(key, {}), found.get(key, {})
            lost = {version for version in sure if version not in held} - ({doomed[1]} if doomed and doomed[0] == key else set())
            equal(lost, set(), f"versions of {key}")
            more = [version for version in held if version not in sure]
            check(len(more) <= (1 if self.maybe == key else 0), f"{key} has versions that nobody was told: {more}")
            for version, is_object in held.items():
                body = s3.get_object(Bucket="versions", Key=key, VersionId=version)["Body"].read() if is_object else None
                check(version not in sure or body == sure[version], f"{key} {version} is not what was put")
                sure[version] = body
            for version in set(sure) - set(held):
                del sure[version]


class Uploads(Writer):
    """state: upload -> {number: (tag, body)}; uploads live through kills and are completed one or two rounds later."""

    def open(self):
        self.s3 = self.client("s3")
        self.state.setdefault("open", {})
        self.state.setdefault("done", {})

    def change(self):
        uploads = self.state["open"]
        kind = self.random.random()
        if kind < 0.3 or not uploads:
            key = "u" + uuid.uuid4().hex
            upload = self.told(self.s3.create_multipart_upload, Bucket="parts", Key=key)["UploadId"]
            uploads[(key, upload)] = {}
            return
        key, upload = place = self.random.choice(list(uploads))
        parts = uploads[place]
        if kind < 0.8 or not parts:
            number, body = len(parts) + 1, self.random.randbytes(5 << 20 if self.random.random() < 0.1 else 70000)
            if any(len(part) < 5 << 20 for _, part in parts.values()):
                number, body = self.random.choice(list(parts)), self.random.randbytes(70000)  # only the last part may be small
            self.maybe = (place, number, body)
            parts[number] = (self.told(self.s3.upload_part, Bucket="parts", Key=key, UploadId=upload, PartNumber=number, Body=body)["ETag"], body)
        elif kind < 0.9:
            self.maybe = place
            self.told(self.s3.abort_multipart_upload, Bucket="parts", Key=key, UploadId=upload)
            del uploads[place]
        else:
            self.maybe = place
            self.complete(self.s3, place, self.told)
            del uploads[place]

    def complete(self, s3, place, call):
        key, upload = place
        parts = self.state["open"][place]
        whole = [{"PartNumber": number, "ETag": parts[number][0]} for number in sorted(parts)]
        body = b"".join(parts[number][1] for number in sorted(parts))
        if not all(len(parts[number][1]) >= 5 << 20 for number in sorted(parts)[:-1]):
            return
        call(s3.complete_multipart_upload, Bucket="parts", Key=key, UploadId=upload, MultipartUpload={"Parts": whole})
        self.state["done"][key] = body

    def verify(self, lake):
        s3 = lake.client("s3")
        present = {(entry["Key"], entry["UploadId"]) for page in s3.get_paginator("list_multipart_uploads").paginate(Bucket="parts") for entry in page.get("Uploads", [])}
        for place, parts in list(self.state.get("open", {}).items()):
            if place not in present:
                check(self.maybe == place, f"the upload {place} is lost")
                del self.state["open"][place]
                continue
            held = {part["PartNumber"]: part["ETag"] for part in s3.list_parts(Bucket="parts", Key=place[0], UploadId=place[1]).get("Parts", [])}
            for number in {*held, *parts}:
                if isinstance(self.maybe, tuple) and len(self.maybe) == 3 and self.maybe[:2] == (place, number) and held.get(number) != parts.get(number, (None,))[0]:
                    parts[number] = (held[number], self.maybe[2])
                    continue
                equal(held.get(number), parts.get(number, (None,))[0], f"part {number} of {place}")
        self.maybe = None
        for place in list(self.state.get("open", {}))[:3]:
            if self.state["open"][place]:
                self.complete(s3, place, lambda call, **arguments: call(**arguments))
                if place[0] in self.state["done"]:
                    del self.state["open"][place]
        for key, body in self.state.get("done", {}).items():
            check(s3.get_object(Bucket="parts", Key=key)["Body"].read() == body, f"{key} is not its parts")


class Bulk(Writer):
    """state: keys that are there; twenty come and go together."""

    def open(self):
        self.s3 = self.client("s3")
        self.state.setdefault("keys", set())

    def change(self):
        keys = [uuid.uuid4().hex for _ in range(20)]
        for key in keys:
            self.maybe = {key}
            self.told(self.s3.put_object, Bucket="bulk", Key=key, Body=key.encode() * 3000)
            self.state["keys"].add(key)
        gone = self.random.sample(sorted(self.state["keys"]), 15)
        self.maybe = set(gone)
        self.told(self.s3.delete_objects, Bucket="bulk", Delete={"Objects": [{"Key": key} for key in gone]})
        self.state["keys"] -= set(gone)

    def verify(self, lake):
        s3 = lake.client("s3")
        found = {entry["Key"]: entry["Size"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket="bulk") for entry in page.get("Contents", [])}
        keys = self.state.setdefault("keys", set())
        equal(set(found) ^ keys - (self.maybe or set()) and (set(found) ^ keys) - (self.maybe or set()), set(), "bulk keys")
        for key in self.random.sample(sorted(found), min(20, len(found))):
            check(s3.get_object(Bucket="bulk", Key=key)["Body"].read() == key.encode() * 3000, f"{key} is not whole")
        self.state["keys"] = set(found)


class Buckets(Writer):
    """Tables of a table bucket by the S3 Tables API. state: names -> version token."""

    def open(self):
        self.tables = self.client("s3tables")
        self.state.setdefault("names", {})

    def change(self):
        names = self.state["names"]
        place = {"tableBucketARN": self.lake.arn, "namespace": "made"}
        kind = self.random.random()
        if kind < 0.5 or not names:
            name = "t" + uuid.uuid4().hex
            self.maybe = {name}
            names[name] = self.told(self.tables.create_table, **place, name=name, format="ICEBERG", metadata={"iceberg": {"schema": {"fields": [{"name": "a", "type": "int"}]}}})["versionToken"]
            return
        name = self.random.choice(list(names))
        if kind < 0.75:
            new = "r" + uuid.uuid4().hex
            self.maybe = {name, new}
            self.told(self.tables.rename_table, **place, name=name, newName=new)
            names[new] = names.pop(name)
        else:
            self.maybe = {name}
            self.told(self.tables.delete_table, **place, name=name)
            del names[name]

    def verify(self, lake):
        tables, s3 = lake.client("s3tables"), lake.client("s3")
        place = {"tableBucketARN": lake.arn, "namespace": "made"}
        found = {entry["name"] for page in tables.get_paginator("list_tables").paginate(**place) for entry in page["tables"]}
        names, maybe = self.state.setdefault("names", {}), self.maybe or set()
        equal((found ^ set(names)) - maybe, set(), "tables of S3 Tables")
        if len(maybe) == 2:
            equal(len(maybe & found), 1, "a rename is whole")
        for name in found:
            location = tables.get_table_metadata_location(**place, name=name)["metadataLocation"]
            bucket, key = location.removeprefix("s3://").split("/", 1)
            check(json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())["location"], f"{name} has its metadata")
        self.state["names"] = {name: None for name in found}


class Glue(Writer):
    """state: tables -> (comment, partitions)."""

    def open(self):
        self.glue = self.client("glue")
        self.state.setdefault("tables", {})

    def describe(self, name, comment):
        return {"Name": name, "Description": comment, "PartitionKeys": [{"Name": "p", "Type": "string"}], "StorageDescriptor": {"Columns": [{"Name": "a", "Type": "int"}], "Location": f"s3://bulk/{name}"}}

    def change(self):
        tables = self.state["tables"]
        kind = self.random.random()
        if kind < 0.3 or not tables:
            name = "t" + uuid.uuid4().hex
            self.maybe = name
            self.told(self.glue.create_table, DatabaseName="killed", TableInput=self.describe(name, "first"))
            tables[name] = ("first", set())
            return
        name = self.maybe = self.random.choice(list(tables))
        comment, partitions = tables[name]
        if kind < 0.55:
            self.next = (uuid.uuid4().hex, partitions)
            self.told(self.glue.update_table, DatabaseName="killed", TableInput=self.describe(name, self.next[0]))
            tables[name] = self.next
        elif kind < 0.85:
            values = {uuid.uuid4().hex for _ in range(10)}
            self.next = (comment, partitions | values)
            self.told(self.glue.batch_create_partition, DatabaseName="killed", TableName=name, PartitionInputList=[{"Values": [value], "StorageDescriptor": {"Location": "s3://bulk/x"}} for value in values])
            tables[name] = self.next
        else:
            self.next = None
            self.told(self.glue.delete_table, DatabaseName="killed", Name=name)
            del tables[name]

    def verify(self, lake):
        glue = lake.client("glue")
        found = {table["Name"]: table["Description"] for page in glue.get_paginator("get_tables").paginate(DatabaseName="killed") for table in page["TableList"]}
        tables = self.state.setdefault("tables", {})
        equal({name for name in set(found) ^ set(tables)} - {self.maybe}, set(), "tables of Glue")
        for name in list(found):
            values = {partition["Values"][0] for page in glue.get_paginator("get_partitions").paginate(DatabaseName="killed", TableName=name) for partition in page["Partitions"]}
            now = (found[name], values)
            allowed = [tables.get(name)] + ([getattr(self, "next", None), ("first", set())] if name == self.maybe else [])
            check(now in allowed, f"Glue: {name} is {now}, should be {allowed}")
            tables[name] = now
        for name in set(tables) - set(found):
            del tables[name]


class Athena(Writer):
    """INSERTs into a table of the table bucket that maintenance compacts meanwhile. state: numbers that are in it."""

    def open(self):
        self.athena = self.client("athena")
        self.state.setdefault("numbers", set())
        self.state.setdefault("next", 0)

    def change(self):
        self.state["next"] += 1
        number = self.maybe = self.state["next"]
        execution = self.told(self.athena.start_query_execution, QueryString=f"INSERT INTO events VALUES ({number}, 'n{number}')", QueryExecutionContext={"Catalog": "s3tablescatalog/lakehouse", "Database": "made"},
                              ResultConfiguration={"OutputLocation": "s3://bulk-results/"})["QueryExecutionId"]
        while True:
            status = self.told(self.athena.get_query_execution, QueryExecutionId=execution)["QueryExecution"]["Status"]
            if status["State"] in ("SUCCEEDED", "FAILED", "CANCELLED"):
                break
            time.sleep(0.01)
        if check(status["State"] == "SUCCEEDED" or self.is_ending, f"Athena: {status}") and status["State"] == "SUCCEEDED":
            self.state["numbers"].add(number)
        else:
            raise Killed

    def verify(self, lake):
        catalog = lake.catalog()
        rows = catalog.load_table("made.events").scan().to_arrow().to_pylist()
        numbers = [row["a"] for row in rows]
        equal(len(numbers), len(set(numbers)), "no row is there twice")
        equal((set(numbers) ^ self.state.setdefault("numbers", set())) - {self.maybe}, set(), "rows of INSERTs that succeeded")
        check(all(row["b"] == f"n{row['a']}" for row in rows), "rows are whole")
        self.state["numbers"] = set(numbers)


class Repeated(Writer):
    """Namespaces under an Idempotency-Key. The request whose answer the kill took is sent once more."""

    def open(self):
        self.state.setdefault("names", set())

    def ask(self, lake, key, name):
        request = urllib.request.Request(lake.url("rest") + "/v1/namespaces", method="POST", data=json.dumps({"namespace": [name], "properties": {"key": key}}).encode(),
                                         headers={"Content-Type": "application/json", "Idempotency-Key": key})
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.loads(reply.read())

    def change(self):
        key, name = str(uuid.uuid4()), "n" + uuid.uuid4().hex
        self.maybe = (key, name)
        self.told(self.ask, lake=self.lake, key=key, name=name)
        self.state["names"].add(name)

    def verify(self, lake):
        if self.maybe:
            equal(self.ask(lake, *self.maybe)["properties"], {"key": self.maybe[0]}, "the repeated request")
            self.state["names"].add(self.maybe[1])
        with urllib.request.urlopen(lake.url("rest") + "/v1/namespaces", timeout=20) as reply:
            found = {levels[0] for levels in json.loads(reply.read())["namespaces"]}
        equal(found - {"default", "pair"}, self.state.setdefault("names", set()), "namespaces")


class Transactions(Writer):
    """Commits to two tables at once over REST: both have the number, or neither; now and then one whose second half is refused."""

    def open(self):
        self.state.setdefault("number", 0)

    def ask(self, lake, path, body=None):
        request = urllib.request.Request(f"{lake.url('rest')}/v1{path}", data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                text = reply.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as problem:
            if problem.code == 409:
                return problem.code
            raise

    def change(self):
        number = self.state["number"] + 1
        is_bad = number % 5 == 0 and not self.state.get("was_bad")
        changes = [{"identifier": {"namespace": ["pair"], "name": name}, "requirements": [], "updates": [{"action": "set-properties", "updates": {"n": "bad" if is_bad else str(number)}}]}
                   for name in self.random.sample(("a", "b"), 2)]
        if is_bad:
            changes[1]["requirements"] = [{"type": "assert-table-uuid", "uuid": str(uuid.uuid4())}]
        self.maybe = None if is_bad else number
        answer = self.told(self.ask, lake=self.lake, path="/transactions/commit", body={"table-changes": changes})
        equal(answer, 409 if is_bad else None, "the answer to a transaction")
        self.state["was_bad"] = is_bad
        if not is_bad:
            self.state["number"] = number

    def verify(self, lake):
        found = [self.ask(lake, f"/namespaces/pair/tables/{name}")["metadata"]["properties"].get("n", "0") for name in ("a", "b")]
        equal(found[0], found[1], "a transaction over two tables")
        check(int(found[0]) in (self.state.get("number", 0), self.maybe), f"{found} after {self.state.get('number')}, perhaps {self.maybe}")
        self.state["number"] = int(found[0])


class Killable(Lakehouse):
    arn = "arn:aws:s3tables:us-east-1:123456789012:bucket/lakehouse"

    def catalog(self):
        return load_catalog("lake", **{"type": "rest", "uri": self.url("s3tables") + "/iceberg", "warehouse": self.arn, "s3.endpoint": self.url("s3"), "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas", "s3.region": "us-east-1"})


def prepare(lake):
    s3, tables = lake.client("s3"), lake.client("s3tables")
    for bucket in ("versions", "parts", "bulk", "bulk-results"):
        s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    equal(tables.create_table_bucket(name="lakehouse")["arn"], lake.arn)
    tables.create_namespace(tableBucketARN=lake.arn, namespace=["made"])
    tables.create_table(tableBucketARN=lake.arn, namespace="made", name="events", format="ICEBERG", metadata={"iceberg": {"schema": {"fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]}}})
    for path, body in (("/namespaces", {"namespace": ["pair"]}), *(("/namespaces/pair/tables", {"name": name, "schema": {"type": "struct", "fields": []}}) for name in ("a", "b"))):
        urllib.request.urlopen(urllib.request.Request(f"{lake.url('rest')}/v1{path}", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}), timeout=20).read()
    lake.client("glue").create_database(DatabaseInput={"Name": "killed"})


def main():
    seed = int(os.environ.get("SEED", random.randrange(2 ** 32)))
    print(f"SEED={seed}", flush=True)
    random.seed(seed)
    lake = Killable("--maintenance-every", "1", folder=tempfile.mkdtemp(prefix="nilas-kill-all-"))
    lake.start()
    prepare(lake)
    kinds = (Versions, Uploads, Bulk, Buckets, Glue, Athena, Repeated, Transactions)
    states = {kind: {} for kind in kinds}
    counts = dict.fromkeys(kinds, 0)
    compactions = 0
    states[Buckets]["names"] = {"events": None}
    for number in range(ROUNDS):
        states[Buckets]["names"].pop("events", None)
        writers = [kind(lake, states[kind]) for kind in kinds]
        for writer in writers:
            writer.start()
        time.sleep(random.uniform(3, 6))
        for writer in writers:
            writer.is_ending = True
        lake.stop(signal.SIGKILL)
        for writer in writers:
            writer.join(60)
            counts[type(writer)] += writer.count
        lake.start()
        check(lake.ready_seconds < 5, f"restarted after {lake.ready_seconds:.1f} s")
        states[Buckets]["names"]["events"] = None
        for writer in writers:
            try:
                writer.verify(lake)
            except Exception as problem:  # pylint: disable=broad-except
                import traceback
                traceback.print_exc()
                check(False, f"round {number}: {type(writer).__name__}: {problem!r}")
            states[type(writer)] = writer.state
        compactions += sum(snapshot.summary.operation.value == "replace" for snapshot in lake.catalog().load_table("made.events").snapshots())
        lake.stop()
        verify_files(lake)
        lake.start()
    lake.stop()
    print(f"{ROUNDS} kills: " + ", ".join(f"{kind.__name__.lower()} {count}" for kind, count in counts.items()) + f" changes acknowledged; {compactions} compactions seen", flush=True)


if __name__ == "__main__":
    main()
    sys.exit(1 if support.failures else 0)
