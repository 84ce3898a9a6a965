#!/usr/bin/env python3
"""`nilas up` killed with SIGKILL while many write: what was acknowledged is there after the restart, whole; the rest is
there whole or not at all; no file is left that nothing names.

    [SEED=…] [KILLS=3] [LOAD_SECONDS=5] tests/lakehouse/s3_crash_test.py path/to/nilas"""
import hashlib
import os
import random
import signal
import sqlite3
import sys
import threading
import time

import botocore.config

import support
from support import Lakehouse, check

SECONDS = float(os.environ.get("LOAD_SECONDS", 5))
KILLS = int(os.environ.get("KILLS", 3))
SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))
CONFIG = botocore.config.Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, connect_timeout=2, read_timeout=20)
SIZES = (0, 10, 1000, 65536, 65537, 300000)


class Writer(threading.Thread):
    """Puts, replaces, deletes, copies and completes under keys of its own. sure: what each key must hold; maybe: what it
    may hold as well, as the outcome of the last change is not known."""

    def __init__(self, lake, number, seed):
        super().__init__()
        self.random = random.Random(f"{seed}-{number}")
        self.client = lake.client("s3", config=CONFIG)
        self.number = number
        self.sure, self.maybe = {}, {}
        self.done, self.stopping = 0, False

    def body(self):
        return self.random.randbytes(self.random.choice(SIZES))

    def change(self, key):
        """Returns what the key holds afterwards, and the call that makes it so."""
        kind = self.random.random()
        if kind < 0.6:
            body = self.body()
            return body, lambda: self.client.put_object(Bucket="crash", Key=key, Body=body)
        if kind < 0.75:
            return None, lambda: self.client.delete_object(Bucket="crash", Key=key)
        if kind < 0.85 and self.sure:
            source = self.random.choice(list(self.sure))
            if source != key and source not in self.maybe:
                return self.sure[source], lambda: self.client.copy_object(Bucket="crash", Key=key, CopySource={"Bucket": "crash", "Key": source})
        parts = [self.random.randbytes(5 << 20), self.body()] if self.random.random() < 0.2 else [self.body()]

        def upload():
            up = {"Bucket": "crash", "Key": key, "UploadId": self.client.create_multipart_upload(Bucket="crash", Key=key)["UploadId"]}
            done = [{"PartNumber": n, "ETag": self.client.upload_part(PartNumber=n, Body=part, **up)["ETag"]} for n, part in enumerate(parts, 1)]
            self.client.complete_multipart_upload(MultipartUpload={"Parts": done}, **up)
        return b"".join(parts), upload

    def run(self):
        while not self.stopping:
            key = f"{self.number}/{self.random.randrange(40)}"
            after, call = self.change(key)
            try:
                call()
            except Exception:  # pylint: disable=broad-except
                self.maybe[key] = after
                return
            if after is None:
                self.sure.pop(key, None)
            else:
                self.sure[key] = after
            self.done += 1


def verify(lake, writers, text):
    client = lake.client("s3", config=CONFIG)
    held = {}
    for page in client.get_paginator("list_objects_v2").paginate(Bucket="crash"):
        for item in page.get("Contents", []):
            held[item["Key"]] = item["Size"]
    for writer in writers:
        for key in {*writer.sure, *writer.maybe, *(k for k in held if k.startswith(f"{writer.number}/"))}:
            allowed = [writer.sure.get(key)] + ([writer.maybe[key]] if key in writer.maybe else [])
            got = client.get_object(Bucket="crash", Key=key)["Body"].read() if key in held else None
            if not check(got in allowed, f"{text}: {key} holds {got is not None and len(got)} bytes, allowed {[a is not None and len(a) for a in allowed]}"):
                continue
            if got is None:
                writer.sure.pop(key, None)
            else:
                check(held[key] == len(got), f"{key} is listed with {held[key]} bytes")
                writer.sure[key] = got
        writer.maybe = {}


def verify_files(lake):
    """After a stop: the files below objects/ are those that rows name, of the length that they say."""
    root = lake.folder + "/data/objects"
    files = {os.path.basename(folder) + name if os.path.basename(folder) != "incoming" else name: os.path.getsize(f"{folder}/{name}") for folder, _, names in os.walk(root) for name in names}
    rows = sqlite3.connect(lake.folder + "/data/lakehouse.db").execute("SELECT file, max(file_offset + size) FROM s3_part WHERE file IS NOT NULL GROUP BY file").fetchall()
    check(dict(rows) == files, f"files and rows differ: only rows {sorted(set(dict(rows)) - set(files))}, only files {sorted(set(files) - set(dict(rows)))}")


def test_killed_under_load():
    print(f"SEED={SEED}", flush=True)
    chance = random.Random(SEED)
    acknowledged = 0
    with Lakehouse(names=["s3"]) as lake:
        lake.client("s3", config=CONFIG).create_bucket(Bucket="crash")
        writers = []
        for kill in range(KILLS):
            states = [(w.sure, w.maybe) for w in writers] or [({}, {})] * 8
            writers = [Writer(lake, n, f"{SEED}-{kill}") for n in range(8)]
            for writer, state in zip(writers, states):
                writer.sure, writer.maybe = dict(state[0]), dict(state[1])
            for writer in writers:
                writer.start()
            time.sleep(SECONDS * chance.uniform(0.5, 1))
            lake.stop(signal.SIGKILL)
            for writer in writers:
                writer.stopping = True
            for writer in writers:
                writer.join(60)
            acknowledged += sum(w.done for w in writers)
            begun = time.time()
            lake.start()
            check(time.time() - begun < 5, f"the restart took {time.time() - begun:.1f} s")
            verify(lake, writers, f"kill {kill}")
        lake.stop()
        verify_files(lake)
        lake.start()
    print(f"{acknowledged} changes acknowledged, {KILLS} kills", flush=True)


def test_killed_at_every_point():
    for point in ("s3.body.written", "s3.body.stored", "s3.put.indexed", "s3.part.indexed", "s3.complete.indexed"):
        with Lakehouse(names=["s3"]) as lake:
            client = lake.client("s3", config=CONFIG)
            client.create_bucket(Bucket="crash")
            client.put_object(Bucket="crash", Key="k", Body=b"o" * 100000)
            lake.stop()
            lake.environment["NILAS_CRASH"] = point
            lake.start()
            client = lake.client("s3", config=CONFIG)
            new = b"n" * 200000
            try:
                if "part" in point or "complete" in point:
                    up = {"Bucket": "crash", "Key": "k", "UploadId": client.create_multipart_upload(Bucket="crash", Key="k")["UploadId"]}
                    tag = client.upload_part(PartNumber=1, Body=new, **up)["ETag"]
                    client.complete_multipart_upload(MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]}, **up)
                else:
                    client.put_object(Bucket="crash", Key="k", Body=new)
                check(False, f"{point} was not reached")
            except Exception:  # pylint: disable=broad-except
                pass
            lake.process.wait(10)
            lake.environment.pop("NILAS_CRASH")
            lake.start()
            got = lake.client("s3", config=CONFIG).get_object(Bucket="crash", Key="k")["Body"].read()
            is_new = point in ("s3.put.indexed", "s3.complete.indexed")
            check(got == (new if is_new else b"o" * 100000), f"{point}: {hashlib.md5(got).hexdigest()}, {len(got)} bytes")
            lake.stop()
            verify_files(lake)
            lake.start()


if __name__ == "__main__":
    support.run_tests(sys.modules[__name__])
