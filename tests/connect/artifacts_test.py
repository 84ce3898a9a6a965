#!/usr/bin/env python3
"""artifacts_test.py NILAS - files of a session reach its functions in Python, and nobody else's; nothing is left of them."""
import glob
import logging
import os
import shutil
import signal
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib

import grpc
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.functions import udf

from server import Server, connected, serving
from wire_test import Client, check, info, refusal

logging.disable(logging.CRITICAL)
FOLDER = tempfile.mkdtemp(prefix="nilas-artifacts-")  # not the server's: workers import from there


SESSIONS_OF_KILLED = []


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def answer(spark, function):
    return spark.range(1).select(udf(function, "string")("id")).collect()[0][0]


def add_package(spark, folder):
    os.makedirs(os.path.join(folder, "package"))
    write(os.path.join(folder, "package", "__init__.py"), "NAME = 'of the zip'")
    path = os.path.join(folder, "package.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(os.path.join(folder, "package", "__init__.py"), "package/__init__.py")
    spark.addArtifacts(path, pyfile=True)


def test_modules_are_imported(server):
    spark = connected(server.url)
    check(answer(spark, lambda _: "warm") == "warm", "a worker is there before")
    spark.addArtifacts(write(os.path.join(FOLDER, "single.py"), "NAME = 'of the file'"), pyfile=True)

    def imported(_):
        import single
        return single.NAME

    check(answer(spark, imported) == "of the file", "a module")
    add_package(spark, FOLDER)

    def from_zip(_):
        import package
        return package.NAME

    check(answer(spark, from_zip) == "of the zip", "a package in a zip")
    spark.addArtifacts(os.path.join(FOLDER, "single.py"), pyfile=True)  # again, the same
    write(os.path.join(FOLDER, "single.py"), "NAME = 'another'")
    try:
        spark.addArtifacts(os.path.join(FOLDER, "single.py"), pyfile=True)
        raise AssertionError("an artifact is overwritten")
    except Exception as error:
        check("already exists" in str(error), str(error))
    other = connected(server.url)
    try:
        answer(other, imported)
        raise AssertionError("a module of another session is imported")
    except Exception as error:
        check("No module named 'single'" in str(error), str(error))
    spark.stop()
    other.stop()


def test_files_and_archives_are_found(server):
    spark = connected(server.url)
    spark.addArtifacts(write(os.path.join(FOLDER, "data.txt"), "some data"), file=True)
    write(os.path.join(FOLDER, "inner.txt"), "of an archive")
    for name, opened in (("a.zip", None), ("b.tar.gz", "w:gz")):
        path = os.path.join(FOLDER, name)
        if opened:
            with tarfile.open(path, opened) as archive:
                archive.add(os.path.join(FOLDER, "inner.txt"), "inner.txt")
        else:
            with zipfile.ZipFile(path, "w") as archive:
                archive.write(os.path.join(FOLDER, "inner.txt"), "inner.txt")
    spark.addArtifacts(os.path.join(FOLDER, "a.zip"), archive=True)
    spark.addArtifacts(os.path.join(FOLDER, "b.tar.gz") + "#named", archive=True)

    def read(name):
        def function(_):
            from pyspark import SparkFiles
            with open(SparkFiles.get(name), encoding="utf-8") as file:
                return file.read()
        return function

    check(answer(spark, read("data.txt")) == "some data", "a file")
    check(answer(spark, read("a.zip/inner.txt")) == "of an archive", "an archive")
    check(answer(spark, read("named/inner.txt")) == "of an archive", "an archive with a name")
    check(len(left_behind(server)) == 1, "one folder")
    spark.stop()
    wait_until(lambda: not left_behind(server), "the folder ends with its session")


def left_behind(server):
    return glob.glob(f"/tmp/nilas-files-{server.process.pid}-*")


def wait_until(condition, what, seconds=10):
    until = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < until, what)
        time.sleep(0.1)


def test_names_stay_in_their_folder(server):
    client = Client(server.port)
    names = ["../x", "files/../../x", "/etc/x", "files//x", "files/./x", "files/", "files/a\\b", "pyfiles/" + "n" * 300, "other/x", "", "files/x/../../../y", "archives/../x#y"]
    for name in names:
        def requests(name=name):
            request = client.fill(base.AddArtifactsRequest())
            request.batch.artifacts.add(name=name, data=base.AddArtifactsRequest.ArtifactChunk(data=b"x", crc=zlib.crc32(b"x")))
            yield request

        error = refusal(lambda: client.stub.AddArtifacts(requests()))
        check(error.code() == grpc.StatusCode.INTERNAL and "IllegalArgumentException" in info(error).reason, f"{name}: {error.details()}")
    check(not left_behind(server), "nothing was written")


def test_large_artifacts_cost_no_memory(server):
    client = Client(server.port)
    piece = os.urandom(1 << 20)
    before = server.memory_bytes()
    for i in range(100):
        def requests(i=i):
            request = client.fill(base.AddArtifactsRequest())
            data = bytes([i]) + piece
            request.batch.artifacts.add(name=f"cache/{i}", data=base.AddArtifactsRequest.ArtifactChunk(data=data, crc=zlib.crc32(data)))
            yield request

        client.stub.AddArtifacts(requests())
    check(server.memory_bytes() - before < 60 << 20, f"{(server.memory_bytes() - before) >> 20} MiB for 100 MiB of artifacts")
    check(client.stub.ArtifactStatus(client.fill(base.ArtifactStatusesRequest(names=["cache/99"]))).statuses["cache/99"].exists, "they are there")


def test_a_killed_server_leaves_no_folder(nilas):
    for has_worker in (True, False):
        server = Server(nilas, "--conf", f"spark.pyspark.python={sys.executable}")
        spark = connected(server.url)
        SESSIONS_OF_KILLED.append(spark)  # its end would wait for the server
        spark.addArtifacts(write(os.path.join(FOLDER, f"file{has_worker}.txt"), "x"), file=True)
        if has_worker:
            answer(spark, lambda _: "there")
        check(len(left_behind(server)) == 1, "a folder is there")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        if has_worker:
            wait_until(lambda: not left_behind(server), "its worker removes the folder")
        else:
            with serving(nilas):  # the next server does
                check(not left_behind(server), "the next server removes the folder")
        server.stop()


def main():
    nilas = sys.argv[1]
    tests = {name: test for name, test in globals().items() if name.startswith("test_") and (not sys.argv[2:] or name in sys.argv[2:])}
    failed = 0
    with serving(nilas, "--conf", f"spark.pyspark.python={sys.executable}") as server:
        for name, test in tests.items():
            try:
                test(server if test.__code__.co_varnames[0] == "server" else nilas)
            except Exception as error:
                failed += 1
                print(f"{name}: {type(error).__name__} {str(error)[:800]}")
            if not server.is_alive():
                print(f"the server has died in {name}: {server.read_log()}")
                return 1
    shutil.rmtree(FOLDER)
    print(f"{len(tests)} tests of artifacts, {failed} failed")
    sys.stdout.flush()
    os._exit(1 if failed else 0)  # sessions of killed servers would be asked to end


if __name__ == "__main__":
    main()
