"""A disk that fills up under nilas up: what was acknowledged is there, what was refused is not, and deleting makes room.

The disk is a tmpfs in a mount namespace of the test's own, for which the test starts itself again when it may not mount one."""
import concurrent.futures
import hashlib
import os
import subprocess
import sys
import tempfile
import threading



def may_mount():
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode != 0:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


if "NILAS_FULL_DISK" not in os.environ and not may_mount():
    os.environ["NILAS_FULL_DISK"] = "1"
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", sys.executable, *sys.argv])

import json
import urllib.error
import urllib.request

import botocore.exceptions
from botocore.config import Config

from support import Lakehouse, check, equal, run_tests

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "required": True, "type": "long"}]}


class SmallDisk:
    """with SmallDisk(24) as lake: a lakehouse whose data folder has so many MiB."""

    def __init__(self, size_mib):
        self.size_mib = size_mib

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="nilas-full-disk-")
        os.mkdir(self.folder + "/data")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size_mib}m,mode=0700", "tmpfs", self.folder + "/data"], check=True)
        self.lake = Lakehouse(folder=self.folder)
        return self.lake.start()

    def __exit__(self, *_):
        self.lake.stop()
        subprocess.run(["umount", "-l", self.folder + "/data"], check=True)
        subprocess.run(["rm", "-rf", self.folder], check=True)


def impatient(lake, name):
    return lake.client(name, config=Config(retries={"max_attempts": 0}))


def refusal(function, **arguments):
    """The code and status of the refusal; None when there was none."""
    try:
        function(**arguments)
        return None
    except botocore.exceptions.ClientError as problem:
        return problem.response["Error"]["Code"], problem.response["ResponseMetadata"]["HTTPStatusCode"]


def body_of(key, size):
    return hashlib.sha256(key.encode()).digest() * (size // 32) + b"x" * (size % 32)


def fill(s3, sizes, tag, acknowledged, workers=4):
    """Puts objects until each size is refused; fills the last gaps with the smallest."""
    lock = threading.Lock()

    def put(size, worker):
        for number in range(100000):
            key = f"{tag}/{size}-{worker}-{number}"
            told = refusal(s3.put_object, Bucket="full", Key=key, Body=body_of(key, size))
            if told:
                equal(told, ("SlowDown", 503), key)
                return
            with lock:
                acknowledged[key] = size

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for size in sizes:
            list(pool.map(lambda worker: put(size, worker), range(workers)))


def verify(s3, acknowledged):
    """All that was acknowledged is there whole, and nothing else."""
    found = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket="full"):
        found.update({entry["Key"]: entry["Size"] for entry in page.get("Contents", [])})
    equal(found, acknowledged, "keys and sizes")
    for key, size in acknowledged.items():
        check(s3.get_object(Bucket="full", Key=key)["Body"].read() == body_of(key, size), f"{key} is not what was put")


def no_leftovers(lake):
    equal(os.listdir(lake.folder + "/data/objects/incoming") + os.listdir(lake.folder + "/data/uploads"), [], "files on their way")


def test_objects():
    with SmallDisk(32) as lake:
        s3 = impatient(lake, "s3")
        acknowledged = {}
        s3.create_bucket(Bucket="full")
        upload = s3.create_multipart_upload(Bucket="full", Key="parts")["UploadId"]
        part = s3.upload_part(Bucket="full", Key="parts", UploadId=upload, PartNumber=1, Body=b"p" * 300000)["ETag"]
        for number in range(4):  # one of these is deleted by each round below
            s3.put_object(Bucket="full", Key=f"first-{number}", Body=body_of(f"first-{number}", 500000))
            acknowledged[f"first-{number}"] = 500000
        fill(s3, (1 << 20, 100000, 3000, 10), "a", acknowledged)
        verify(s3, acknowledged)
        no_leftovers(lake)
        equal(refusal(s3.upload_part, Bucket="full", Key="parts", UploadId=upload, PartNumber=2, Body=b"p" * (6 << 20)), ("SlowDown", 503))
        equal(refusal(s3.put_object, Bucket="full", Key="large", Body=b"x" * (8 << 20)), ("SlowDown", 503))
        no_leftovers(lake)
        # Little by little: what a deletion frees is filled up again, and the next deletion still works.
        for number in range(4):
            equal(refusal(s3.delete_object, Bucket="full", Key=f"first-{number}"), None, f"deletion {number}")
            del acknowledged[f"first-{number}"]
            fill(s3, (100000, 3000, 10), f"again-{number}", acknowledged, workers=2)
            verify(s3, acknowledged)
            no_leftovers(lake)
        equal(s3.list_parts(Bucket="full", Key="parts", UploadId=upload)["Parts"][0]["ETag"], part)
        equal(refusal(s3.abort_multipart_upload, Bucket="full", Key="parts", UploadId=upload), None, "abort")
        # A start finds no room either.
        for how in (15, 9):
            lake.stop(how)
            lake.start()
            s3 = impatient(lake, "s3")
            verify(s3, acknowledged)
            key = next(iter(acknowledged))
            equal(refusal(s3.delete_object, Bucket="full", Key=key), None, f"deletion after a start ({how})")
            del acknowledged[key]
        keys = list(acknowledged)
        for begin in range(0, len(keys), 1000):
            told = s3.delete_objects(Bucket="full", Delete={"Objects": [{"Key": key} for key in keys[begin:begin + 1000]]})
            check("Errors" not in told, told.get("Errors"))
        equal(s3.list_objects_v2(Bucket="full").get("Contents", []), [])
        acknowledged.clear()
        fill(s3, (1 << 20,), "after", acknowledged)
        check(len(acknowledged) > 15, f"{len(acknowledged)} MiB found room after all was deleted")
        for key in acknowledged:
            s3.delete_object(Bucket="full", Key=key)
        equal(refusal(s3.delete_bucket, Bucket="full"), None)


def test_versions():
    with SmallDisk(24) as lake:
        s3 = impatient(lake, "s3")
        s3.create_bucket(Bucket="full")
        s3.put_bucket_versioning(Bucket="full", VersioningConfiguration={"Status": "Enabled"})
        told = None
        while not told:
            told = refusal(s3.put_object, Bucket="full", Key="k", Body=b"v" * 700000)
        while not refusal(s3.put_object, Bucket="full", Key="k", Body=b"v" * 3000):
            pass
        versions = s3.list_object_versions(Bucket="full")["Versions"]
        check(len(versions) > 15 and {entry["Size"] for entry in versions} == {700000, 3000}, versions[:3])
        equal(refusal(s3.delete_object, Bucket="full", Key="k"), None, "a delete marker")
        for entry in versions:
            equal(refusal(s3.delete_object, Bucket="full", Key="k", VersionId=entry["VersionId"]), None)
        equal(refusal(s3.put_object, Bucket="full", Key="k", Body=b"v" * 700000), None, "there is room again")


def rest(lake, method, path, body=None):
    request = urllib.request.Request(lake.url("rest") + "/v1" + path, method=method, data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            text = reply.read()
            return reply.status, json.loads(text) if text else None
    except urllib.error.HTTPError as problem:
        return problem.code, json.loads(problem.read())


def refused_for_the_disk(function, **arguments):
    """False: done. What is refused is refused as something that may pass, and says why."""
    try:
        function(**arguments)
        return False
    except botocore.exceptions.ClientError as problem:
        equal(problem.response["ResponseMetadata"]["HTTPStatusCode"], 503)
        check(problem.response["Error"]["Code"].startswith("InternalServ") and "full" in problem.response["Error"]["Message"], problem)
        return True


def glue_and_athena(glue, athena):
    """Whatever is answered is so: done or not at all. Small writes may still find room in the database."""
    large = {"Parameters": {"filler": "x" * 100000}}
    for number in range(20):
        is_refused = refused_for_the_disk(glue.create_table, DatabaseName="db", TableInput={"Name": f"t{number}", **large})
        found = [table["Name"] for table in glue.get_tables(DatabaseName="db")["TableList"]]
        equal(f"t{number}" in found, not is_refused, found)
        if is_refused:
            break
    check(is_refused, "the disk is full, and two MB found room in the catalog")
    before = glue.get_table(DatabaseName="db", Name="kept")["Table"]["Parameters"]["n"]
    is_refused = refused_for_the_disk(glue.update_table, DatabaseName="db", TableInput={"Name": "kept", "Parameters": {"n": "1", "filler": "y" * 100000}})
    equal(glue.get_table(DatabaseName="db", Name="kept")["Table"]["Parameters"]["n"], before if is_refused else "1")
    is_refused = refused_for_the_disk(athena.create_named_query, Name="q", Database="db", QueryString="SELECT '" + "x" * 100000 + "'")
    equal(len(athena.list_named_queries()["NamedQueryIds"]), 0 if is_refused else 1)
    for table in glue.get_tables(DatabaseName="db")["TableList"]:
        if table["Name"] != "kept":
            glue.delete_table(DatabaseName="db", Name=table["Name"])
    for query in athena.list_named_queries()["NamedQueryIds"]:
        athena.delete_named_query(NamedQueryId=query)


def pair_is_whole(lake):
    """A commit to two tables finds room for both or for none."""
    for number in range(1, 200):
        changes = [{"identifier": {"namespace": ["ns"], "name": name}, "requirements": [], "updates": [{"action": "set-properties", "updates": {"pair": str(number), "filler": "z" * 60000}}]} for name in ("t", "pair")]
        status, answer = rest(lake, "POST", "/transactions/commit", {"table-changes": changes})
        found = [rest(lake, "GET", f"/namespaces/ns/tables/{name}")[1]["metadata"]["properties"].get("pair", "0") for name in ("t", "pair")]
        equal(found, [str(number - (status != 204))] * 2, f"after {status}")
        if status != 204:
            equal((status, answer["error"]["type"]), (503, "ServiceUnavailableException"))
            return
    check(False, "the disk does not fill up")


def test_tables():
    with SmallDisk(20) as lake:
        s3 = impatient(lake, "s3")
        tables = impatient(lake, "s3tables")
        arn = tables.create_table_bucket(name="lakehouse")["arn"]
        tables.create_namespace(tableBucketARN=arn, namespace=["ns"])
        glue, athena = impatient(lake, "glue"), impatient(lake, "athena")
        glue.create_database(DatabaseInput={"Name": "db"})
        glue.create_table(DatabaseName="db", TableInput={"Name": "kept", "Parameters": {"n": "0"}})
        tables.create_table(tableBucketARN=arn, namespace="ns", name="managed", format="ICEBERG", metadata={"iceberg": {"schema": {"fields": [{"name": "a", "type": "int"}]}}})
        rest(lake, "POST", "/namespaces", {"namespace": ["ns"]})
        rest(lake, "POST", "/namespaces/ns/tables", {"name": "t", "schema": SCHEMA})
        rest(lake, "POST", "/namespaces/ns/tables", {"name": "pair", "schema": SCHEMA})
        s3.create_bucket(Bucket="full")
        acknowledged = {}
        fill(s3, (1 << 20, 100000), "a", acknowledged)
        last = 0
        for number in range(1, 100000):
            status, answer = rest(lake, "POST", "/namespaces/ns/tables/t", {"updates": [{"action": "set-properties", "updates": {"n": str(number), "filler": "x" * 2000}}]})
            if status != 200:
                equal((status, answer["error"]["type"]), (503, "ServiceUnavailableException"), answer)
                break
            last = number
        pair_is_whole(lake)
        fill(s3, (10,), "b", acknowledged)
        more = other = None
        for number in range(2):
            status, answer = rest(lake, "GET", "/namespaces/ns/tables/t")
            equal((status, answer["metadata"]["properties"].get("n")), (200, str(last) if last else None), "the last commit that was acknowledged")
            # The database may have found some room in itself meanwhile: whatever is answered is so.
            more = rest(lake, "POST", "/namespaces", {"namespace": [f"more{number}"]})[0]
            other = rest(lake, "POST", "/namespaces/ns/tables", {"name": f"u{number}", "schema": SCHEMA})[0]
            check({more, other} <= {200, 503}, (more, other))
            equal(rest(lake, "GET", f"/namespaces/more{number}")[0], {200: 200, 503: 404}[more], "the namespace")
            equal(rest(lake, "GET", f"/namespaces/ns/tables/u{number}")[0], {200: 200, 503: 404}[other], "the table")
            rest(lake, "DELETE", f"/namespaces/ns/tables/u{number}")
            told = refusal(tables.create_table, tableBucketARN=arn, namespace="ns", name="other", format="ICEBERG")
            check(told in (None, ("InternalServerErrorException", 503)), told)
            glue_and_athena(glue, athena)
            equal([entry["name"] for entry in tables.list_tables(tableBucketARN=arn)["tables"]], ["managed"] if told else ["managed", "other"])
            if not told:
                equal(refusal(tables.delete_table, tableBucketARN=arn, namespace="ns", name="other"), None)
            lake.stop(9)
            lake.start()
            s3, tables, glue, athena = (impatient(lake, name) for name in ("s3", "s3tables", "glue", "athena"))
        verify(s3, acknowledged)
        for name in ("t", "pair"):
            equal(rest(lake, "DELETE", f"/namespaces/ns/tables/{name}?purgeRequested=true")[0], 204)
        equal(refusal(tables.delete_table, tableBucketARN=arn, namespace="ns", name="managed"), None)
        equal(rest(lake, "DELETE", "/namespaces/ns")[0], 204)
        equal(refusal(tables.delete_namespace, tableBucketARN=arn, namespace="ns"), None)
        equal(refusal(tables.delete_table_bucket, tableBucketARN=arn), None)
        for key in acknowledged:
            equal(refusal(s3.delete_object, Bucket="full", Key=key), None)
        equal(rest(lake, "POST", "/namespaces", {"namespace": ["more"]})[0], 200)


run_tests(sys.modules[__name__])
