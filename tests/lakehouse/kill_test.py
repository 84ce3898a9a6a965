#!/usr/bin/env python3
"""`nilas up` killed with SIGKILL at random while eight clients write: what was acknowledged is there, nothing is there by half.

    tests/lakehouse/kill_test.py NILAS [--rounds N]

Objects (small, large, and in parts) through S3; commits to tables through the Iceberg REST catalog. Needs boto3.
"""
import hashlib
import http.client
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time

import botocore.config
import botocore.exceptions

from support import Lakehouse, check, equal

ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 5
SIZES = (10, 5000, 70000, 900000)


def body_of(key):
    """What an object of that name has inside: told by the name alone."""
    seed, size = hashlib.sha256(key.encode()).digest(), SIZES[int(key.rsplit("/", 1)[1]) % len(SIZES)]
    return (seed * (size // 32 + 1))[:size]


class Writers:
    def __init__(self, lake, number):
        self.lake, self.number, self.is_ending = lake, number, False
        self.objects, self.properties, self.lock = set(), {}, threading.Lock()
        self.threads = [threading.Thread(target=self.put, args=(writer,)) for writer in range(4)] + [threading.Thread(target=self.commit, args=(writer,)) for writer in range(4)]
        for thread in self.threads:
            thread.start()

    def put(self, writer):
        s3 = self.lake.client("s3", config=botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=5, read_timeout=20))
        for count in range(10 ** 9):
            key = f"{self.number}/{writer}/{count}"
            try:
                if count % 7 == 3:
                    upload = s3.create_multipart_upload(Bucket="kept", Key=key)["UploadId"]
                    part = s3.upload_part(Bucket="kept", Key=key, UploadId=upload, PartNumber=1, Body=body_of(key))
                    s3.complete_multipart_upload(Bucket="kept", Key=key, UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
                else:
                    s3.put_object(Bucket="kept", Key=key, Body=body_of(key))
            except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError, OSError) as problem:
                if not self.is_ending:
                    check(False, f"PUT {key}: {problem}")
                return
            with self.lock:
                self.objects.add(key)

    def commit(self, writer):
        table = f"t{writer % 2}"
        connection = http.client.HTTPConnection("localhost", self.lake.ports["rest"], timeout=20)
        for count in range(10 ** 9):
            name = f"r{self.number}w{writer}n{count}"
            body = json.dumps({"requirements": [], "updates": [{"action": "set-properties", "updates": {name: "x"}}]})
            try:
                connection.request("POST", f"/v1/warehouse/namespaces/ns/tables/{table}", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException) as problem:
                if not self.is_ending:
                    check(False, f"commit {name}: {problem}")
                return
            if answer.status == 409:
                continue
            check(answer.status == 200, f"commit {name}: {answer.status} {text[:300]}")
            with self.lock:
                self.properties.setdefault(table, set()).add(name)
            if count > 300:
                return

    def wait(self):
        for thread in self.threads:
            thread.join(60)


def ask(lake, method, path, body=None):
    connection = http.client.HTTPConnection("localhost", lake.ports["rest"], timeout=20)
    connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def make_tables(lake):
    lake.client("s3").create_bucket(Bucket="kept")
    equal(ask(lake, "POST", "/v1/warehouse/namespaces", {"namespace": ["ns"]})[0], 200)
    for name in ("t0", "t1"):
        schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "a", "type": "long", "required": False}]}
        properties = {"write.metadata.previous-versions-max": "3", "write.metadata.delete-after-commit.enabled": "true"}
        equal(ask(lake, "POST", "/v1/warehouse/namespaces/ns/tables", {"name": name, "schema": schema, "properties": properties})[0], 200)


def examine(lake, objects, properties):
    s3 = lake.client("s3")
    found = {entry["Key"]: entry["Size"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket="kept") for entry in page.get("Contents", [])}
    equal(sorted(objects - set(found)), [], "acknowledged objects are there")
    some = random.sample(sorted(found), min(len(found), 150)) + sorted(set(found) - objects)
    for key in some:
        equal(s3.get_object(Bucket="kept", Key=key)["Body"].read() == body_of(key), True, f"{key} is whole")
    for table in ("t0", "t1"):
        status, answer = ask(lake, "GET", f"/v1/warehouse/namespaces/ns/tables/{table}")
        equal(status, 200, f"{table}: {answer}")
        equal(sorted(properties.get(table, set()) - set(answer["metadata"]["properties"])), [], f"acknowledged commits of {table} are there")
    equal(os.listdir(lake.folder + "/data/uploads"), [], "nothing is left of uploads")


def main():
    lake = Lakehouse(folder=tempfile.mkdtemp(prefix="nilas-kill-"))
    objects, properties = set(), {}
    seed = random.randrange(2 ** 32)
    print(f"seed {seed}")
    random.seed(seed)
    lake.start()
    make_tables(lake)
    for number in range(ROUNDS):
        writers = Writers(lake, number)
        time.sleep(random.uniform(1.5, 4))
        writers.is_ending = True
        lake.stop(signal.SIGKILL)
        writers.wait()
        objects |= writers.objects
        for table, names in writers.properties.items():
            properties.setdefault(table, set()).update(names)
        lake.start()
        check(lake.ready_seconds < 5, f"restarted after {lake.ready_seconds:.1f} s")
        examine(lake, objects, properties)
    lake.stop()
    print(f"{ROUNDS} kills: {len(objects)} objects and {sum(map(len, properties.values()))} commits acknowledged, none lost")


if __name__ == "__main__":
    import support
    main()
    sys.exit(1 if support.failures else 0)
