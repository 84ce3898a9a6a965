#!/usr/bin/env python3
"""`nilas up` measured: ready, memory, S3 against moto's server, commits over REST. Prints Markdown.

    bench/lakehouse.py NILAS [--moto PYTHON] [--clients 4] [--seconds 5]

--moto names a Python that has moto's server (`pip install "moto[server]"`); without it S3 is measured alone. Clients are
processes with one connection each and plain HTTP requests, so that no SDK is measured; they share the machine with the server.
"""
import argparse
import http.client
import json
import multiprocessing
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# moto wants to see a signature, and does not look at it.
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}
signed_ports = set()


def request(connection, method, path, body=None, headers=None):
    connection.request(method, path, body, headers or (SIGNED if connection.port in signed_ports else {}))
    answer = connection.getresponse()
    data = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {data[:200]}")
    return data


class Nilas:
    name = "nilas"

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="nilas-bench-")
        self.ports = {name: free_port() for name in re.findall(r"^  (\w+) +:\d+", subprocess.run([program, "up", "--help"], capture_output=True, text=True, check=True).stdout, re.M)}
        self.command = [program, "up", "--detach", "--no-configure", "--no-maintenance", "--data", self.folder, *[flag for pair in self.ports.items() for flag in ("--port", "%s=%d" % pair)]]
        self.program = program
        self.ready = []
        for _ in range(5):
            begun = time.perf_counter()
            subprocess.run(self.command, check=True, stdout=subprocess.DEVNULL)
            self.ready.append(time.perf_counter() - begun)
            if len(self.ready) < 5:
                subprocess.run([program, "down", "--data", self.folder], check=True, stdout=subprocess.DEVNULL)
        with open(f"{self.folder}/lock") as lock:
            self.pid = int(lock.read())
        self.idle = self.memory()
        self.s3 = self.ports["s3"]

    def memory(self):
        with open(f"/proc/{self.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    def stop(self):
        subprocess.run([self.program, "down", "--data", self.folder], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(self.folder)


class Moto:
    name = "moto"

    def __init__(self, python):
        self.s3 = free_port()
        signed_ports.add(self.s3)
        self.process = subprocess.Popen([python, "-m", "moto.server", "-p", str(self.s3)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.time() + 60
        while time.time() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.s3), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("moto's server does not answer")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


# ---- What clients do: each gives the number of operations of one step.

def put_small(connection, client, step):
    request(connection, "PUT", f"/bench/small/{client}/{step % 1000}", b"x" * 1024)
    return 1


def get_small(connection, client, step):
    request(connection, "GET", f"/bench/small/{client}/{step % 100}")
    return 1


def list_page(connection, client, step):
    request(connection, "GET", "/bench?list-type=2&prefix=small/&max-keys=1000")
    return 1


def put_large(connection, client, step):
    request(connection, "PUT", f"/bench/large/{client}", b"y" * (32 << 20))
    return 32


def get_large(connection, client, step):
    request(connection, "GET", f"/bench/large/{client}")
    return 32


def commit(connection, client, step):
    """One snapshot more on the client's own table. What it names as manifest list is not looked at by the server."""
    snapshot = {"snapshot-id": step + 1, "sequence-number": step + 1, "timestamp-ms": int(time.time() * 1000), "schema-id": 0, "manifest-list": "s3://warehouse/none.avro",
                "summary": {"operation": "append", "added-records": "1"}}
    if step:
        snapshot["parent-snapshot-id"] = step
    body = {"requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": step or None}],
            "updates": [{"action": "add-snapshot", "snapshot": snapshot}, {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": step + 1}]}
    request(connection, "POST", f"/v1/warehouse/namespaces/bench/tables/t{client}", json.dumps(body), {"Content-Type": "application/json"})
    return 1


def client_loop(arguments):
    port, work, client, seconds = arguments
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    done, step, end = 0, 0, time.time() + seconds
    while time.time() < end:
        done += work(connection, client, step)
        step += 1
    return done


def rate(port, work, clients, seconds):
    with multiprocessing.Pool(clients) as pool:
        begun = time.time()
        done = sum(pool.map(client_loop, [(port, work, client, seconds) for client in range(clients)], chunksize=1))
        return done / (time.time() - begun)


def make_tables(port, clients):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    json_header = {"Content-Type": "application/json"}
    request(connection, "POST", "/v1/warehouse/namespaces", json.dumps({"namespace": ["bench"]}), json_header)
    for client in range(clients):
        schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "a", "type": "long", "required": False}]}
        properties = {"write.metadata.previous-versions-max": "5", "write.metadata.delete-after-commit.enabled": "true"}
        request(connection, "POST", "/v1/warehouse/namespaces/bench/tables", json.dumps({"name": f"t{client}", "schema": schema, "properties": properties}), json_header)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nilas")
    parser.add_argument("--moto")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    nilas = Nilas(os.path.realpath(options.nilas))
    servers = [nilas] + ([Moto(options.moto)] if options.moto else [])
    print(f"`nilas up` with {len(nilas.ports)} services: ready after {min(nilas.ready) * 1000:.0f} ms at best, {sorted(nilas.ready)[2] * 1000:.0f} ms in the middle of five; "
          f"{nilas.idle:.1f} MiB resident when idle\n")
    print("| S3, " + f"{options.clients} clients | " + " | ".join(server.name for server in servers) + " |\n| --- |" + " ---: |" * len(servers))
    for server in servers:
        request(http.client.HTTPConnection("127.0.0.1", server.s3), "PUT", "/bench")
    for text, work, clients in [("PUT of 1 KiB, a second", put_small, options.clients), ("GET of 1 KiB, a second", get_small, options.clients),
                                ("LIST of 1,000 keys, a second", list_page, options.clients), ("PUT of 32 MiB, MiB/s, one client", put_large, 1), ("GET of 32 MiB, MiB/s, one client", get_large, 1)]:
        print(f"| {text} | " + " | ".join(f"{rate(server.s3, work, clients, options.seconds):,.0f}" for server in servers) + " |", flush=True)
    make_tables(nilas.ports["rest"], options.clients)
    print(f"\nOne-snapshot commits over REST, {options.clients} clients on tables of their own: {rate(nilas.ports['rest'], commit, options.clients, options.seconds):,.0f} a second. "
          f"Resident afterwards: {nilas.memory():.1f} MiB")
    for server in servers:
        server.stop()


if __name__ == "__main__":
    main()
