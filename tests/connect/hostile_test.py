#!/usr/bin/env python3
"""hostile_test.py NILAS [ROUNDS] - raw HTTP/2, gRPC and plans as no client makes them, among 100 sessions: the server answers
or hangs up, stays as it was, and serves the others."""
import logging
import os
import random
import socket
import struct
import sys
import threading
import time
import uuid

import grpc
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import expressions_pb2 as expressions
from pyspark.sql.connect.proto import relations_pb2 as relations

from server import serving
from wire_test import PREFACE, Client, check, frame, kinds, refusal, varint

logging.disable(logging.CRITICAL)
SETTINGS = frame(4, 0, 0, b"")
SERVICE = "/spark.connect.SparkConnectService/"


def literal(name, value):
    """A header of HPACK without any table."""
    def number(length, prefix):
        if length < (1 << prefix) - 1:
            return bytes([length])
        out, length = [(1 << prefix) - 1], length - ((1 << prefix) - 1)
        while length > 127:
            out.append(length & 127 | 128)
            length >>= 7
        return bytes(out + [length])

    return b"\x00" + number(len(name), 7) + name + number(len(value), 7) + value


def head(method, *more):
    names = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", (SERVICE + method).encode()), (b"content-type", b"application/grpc"), (b"te", b"trailers")]
    return b"".join(literal(n, v) for n, v in [*names, *more])


def message(data, flag=0):
    return bytes([flag]) + struct.pack(">I", len(data)) + data


def request(method, body, stream=1, more=()):
    """A whole call in frames."""
    out = frame(1, 4, stream, head(method, *more))
    pieces = [body[at : at + 16384] for at in range(0, len(body), 16384)] or [b""]
    return out + b"".join(frame(0, int(i == len(pieces) - 1), stream, piece) for i, piece in enumerate(pieces))


def config():
    made = base.ConfigRequest(session_id=str(uuid.uuid4()))
    made.operation.get_all.SetInParent()
    return made.SerializeToString()


class Raw:
    def __init__(self, server, greeting=PREFACE + SETTINGS):
        self.socket = socket.create_connection(("localhost", server.port))
        self.socket.settimeout(5)
        self.send(greeting)

    def send(self, data):
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def read(self, seconds=0.3):
        """What comes within that time; None after the end."""
        out = b""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.socket.settimeout(max(0.01, until - time.monotonic()))
            try:
                piece = self.socket.recv(1 << 16)
            except socket.timeout:
                break
            except OSError:
                return None
            if not piece:
                return out or None
            out += piece
        return out

    def is_closed(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.read(0.2) is None:
                return True
        return False

    def close(self):
        self.socket.close()


def raw(server, data):
    connection = Raw(server)
    connection.send(data)
    answer = connection.read()
    connection.close()
    return answer


def test_bad_frames(server):
    good = request("Config", message(config()))
    pieces = [
        frame(1, 4, 0, head("Config")), frame(1, 4, 2, head("Config")), frame(1, 0, 1, head("Config")) + frame(0, 1, 1, b"x"), frame(9, 4, 1, b"x"),
        frame(2, 0, 1, b"123"), frame(3, 0, 1, b"1"), frame(3, 0, 99, b"1234"), frame(4, 0, 1, b""), frame(4, 1, 0, b"123456"), frame(4, 0, 0, b"12345"),
        frame(4, 0, 0, struct.pack(">HI", 4, 0xFFFFFFFF)), frame(4, 0, 0, struct.pack(">HI", 5, 1)), frame(5, 4, 1, b""), frame(6, 0, 0, b"123"),
        frame(6, 0, 1, b"12345678"), frame(7, 0, 0, b"1"), frame(8, 0, 0, b"\0\0\0\0"), frame(8, 0, 1, b"\0\0\0\0"), frame(8, 0, 0, b"\x7f\xff\xff\xff") * 2,
        frame(0, 0, 0, b"x"), frame(0, 8, 1, b"\xff"), frame(255, 255, 1, b"x"), b"\xff\xff\xff\x00\x00\x00\x00\x00\x01", frame(0, 0, 1, bytes(20000)),
        good + frame(0, 1, 1, b"more"), good + good, frame(1, 4, 1, b"\x80"), frame(1, 4, 1, b"\xff" * 50), frame(1, 4, 1, b"\x00\xff\xff\xff\xff\x7f"),
        frame(1, 4, 1, b"\x3f\xff\xff\xff\xff\x7f"), frame(1, 0x2C, 1, b"\x00\x00\x00\x00\x01" + head("Config")),
    ]
    for piece in pieces:
        raw(server, piece)
    check(b"grpc-status" in (raw(server, good) or b"") or raw(server, good), "a good one is answered")


def test_huge_heads(server):
    raw(server, request("Config", message(config()), more=[(b"x-large", b"v" * 100000)]))
    raw(server, request("Config", message(config()), more=[(b"x-%d" % i, b"v" * 50) for i in range(5000)]))
    connection = Raw(server)  # a head that never ends
    connection.send(frame(1, 0, 1, literal(b"a", b"b")))
    for _ in range(3000):
        if not connection.send(frame(9, 0, 1, literal(b"name", b"v" * 10000))):
            break
    check(connection.is_closed(5), "a head without an end is given up")
    connection.close()
    connection = Raw(server)  # one indexed large header, again and again
    block = b"\x40\x04bomb\x7f\x81\x1e" + b"v" * 3968
    connection.send(frame(1, 4, 1, block + b"\xbe" * 12000))
    connection.read()
    connection.close()


def test_half_messages(server):
    body = message(config())
    for cut in (0, 1, 4, 5, 6, len(body) - 1):
        raw(server, request("Config", body[:cut]))
    raw(server, request("Config", struct.pack(">BI", 0, 0xFFFFFFFF) + b"x"))
    raw(server, request("Config", struct.pack(">BI", 0, 128 << 20) + b"x" * 100000))
    raw(server, request("Config", message(b"\x1f\x8b\x08" + os.urandom(100), 1), more=[(b"grpc-encoding", b"gzip")]))
    import gzip
    bomb = gzip.compress(bytes(200 << 20))
    raw(server, request("Config", message(bomb, 1), more=[(b"grpc-encoding", b"gzip")]))
    raw(server, request("Config", body + body))
    for method in ("Config", "ExecutePlan", "AddArtifacts", "ReattachExecute"):
        connection = Raw(server)  # announced, begun, abandoned
        connection.send(frame(1, 4, 1, head(method)) + frame(0, 0, 1, struct.pack(">BI", 0, 100 << 20) + b"x" * 10000))
        connection.close()


def test_unknown_methods_and_kinds(server):
    for method in ("Nothing", "", "ExecutePlan/x", "../Config", "x" * 5000, "CloneSession"):
        raw(server, request(method, message(b"")))
    for field in ((b":method", b"GET"), (b"content-type", b"text/html"), (b"content-type", b"application/grpc-web"), (b"grpc-encoding", b"snappy"), (b"grpc-timeout", b"99999999999999H")):
        raw(server, request("Config", message(config()), more=[field]))


def test_resets_without_end(server):
    for method, body in (("Config", message(config())), ("ExecutePlan", message(base.ExecutePlanRequest(session_id=str(uuid.uuid4())).SerializeToString()))):
        connection = Raw(server)
        for start in range(1, 40000, 2000):
            calls = b"".join(request(method, body, stream) + frame(3, 0, stream, b"\0\0\0\x08") for stream in range(start, start + 2000, 2))
            if not connection.send(calls):
                break
        check(connection.is_closed(10), f"20,000 resets of {method}")
        connection.close()


def test_floods_of_control(server):
    for flood in (frame(6, 0, 0, b"12345678"), frame(4, 0, 0, struct.pack(">HI", 4, 65535)), frame(2, 0, 1, b"\0\0\0\0\x10"), frame(8, 0, 0, b"\0\0\0\1"), frame(0, 0, 1, b"")):
        connection = Raw(server)
        connection.send(frame(1, 4, 1, head("Config")))
        for _ in range(100):  # and nothing is read
            try:
                connection.socket.settimeout(0.5)
                connection.socket.sendall(flood * 2000)
            except OSError:
                break
        connection.close()


def test_windows_that_never_open(server):
    connections = []
    for _ in range(50):
        connection = Raw(server, PREFACE + frame(4, 0, 0, struct.pack(">HI", 4, 0)))
        plan = base.ExecutePlanRequest(session_id=str(uuid.uuid4()))
        plan.plan.root.range.end = 3000000
        plan.plan.root.range.step = 1
        connection.send(request("ExecutePlan", message(plan.SerializeToString())))
        connections.append(connection)
    time.sleep(1)
    check(kinds(Client(server.port).run("SELECT 1"))[0] == "schema", "others are served")
    for connection in connections:
        connection.close()


def test_slow_ones_and_silent_ones(server):
    connections = [socket.create_connection(("localhost", server.port)) for _ in range(200)]
    connections += [Raw(server, PREFACE[:10]).socket for _ in range(50)]
    for _ in range(50):
        connection = Raw(server)
        connection.send(frame(1, 0, 1, literal(b"a", b"b")))
        connections.append(connection.socket)
    for _ in range(50):
        connection = Raw(server)
        connection.send(frame(1, 4, 1, head("AddArtifacts")) + frame(0, 0, 1, struct.pack(">BI", 0, 1 << 20) + b"x"))
        connections.append(connection.socket)
    check(kinds(Client(server.port).run("SELECT 1"))[0] == "schema", "others are served")
    for connection in connections:
        connection.close()


def deep(depth, make):
    relation = relations.Relation()
    relation.range.end = 1
    relation.range.step = 1
    data = relation.SerializeToString()
    for _ in range(depth):
        data = make(data)
    return data


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def execute(server, relation):
    """Bytes of a Relation, run."""
    channel = grpc.insecure_channel(f"localhost:{server.port}")
    call = channel.unary_stream(SERVICE + "ExecutePlan", request_serializer=bytes, response_deserializer=bytes)
    try:
        data = field(1, str(uuid.uuid4()).encode()) + field(3, field(1, relation))
        return len(list(call(data, timeout=60)))
    except grpc.RpcError as error:
        return error
    finally:
        channel.close()


def test_deep_plans(server):
    for depth in (100, 900, 10000):
        for make in (lambda below: field(3, field(1, below)), lambda below: field(8, field(1, below) + b"\x10\x05"), lambda below: field(16, field(1, below) + field(2, b"a"))):
            answer = execute(server, deep(depth, make))
            check(not isinstance(answer, grpc.RpcError) or answer.code() == grpc.StatusCode.INTERNAL, f"{depth}: {answer}")
    expression = expressions.Expression(expression_string=expressions.Expression.ExpressionString(expression="1")).SerializeToString()
    for _ in range(10000):  # not(not(…))
        expression = field(3, field(1, b"not") + field(2, expression))
    below = relations.Relation()
    below.range.end = 1
    below.range.step = 1
    execute(server, field(3, field(1, below.SerializeToString()) + field(3, expression)))
    for text in ("(" * 100000, "SELECT " + "(" * 10000 + "1" + ")" * 10000, "SELECT " + "1 + " * 50000 + "1", "SELECT " + "-" * 20000 + "1", "SELECT 1 UNION ALL " * 2000 + "SELECT 1",
                 "SELECT " + "CASE WHEN true THEN " * 3000 + "1" + " END" * 3000, "SELECT * FROM " + "(SELECT * FROM " * 5000 + "range(1)" + ")" * 5000):
        relation = relations.Relation()
        relation.sql.query = text
        execute(server, relation.SerializeToString())


def test_garbage_of_protobuf_and_arrow(server):
    dice = random.Random(7)
    good = base.ExecutePlanRequest(session_id=str(uuid.uuid4()))
    good.plan.root.local_relation.schema = "a int, b string"
    import pyarrow as pa
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"a": pa.array(range(100), pa.int32()), "b": pa.array([str(i) for i in range(100)])})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    arrow = sink.getvalue().to_pybytes()
    channel = grpc.insecure_channel(f"localhost:{server.port}")
    call = channel.unary_stream(SERVICE + "ExecutePlan", request_serializer=bytes, response_deserializer=bytes)
    for i in range(300):
        broken = bytearray(arrow)
        for _ in range(dice.randint(1, 8)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        good.plan.root.local_relation.data = bytes(broken[: dice.randrange(len(broken))] if i % 3 == 0 else broken)
        data = bytearray(good.SerializeToString())
        if i % 4 == 0:
            for _ in range(dice.randint(1, 4)):
                data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            list(call(bytes(data), timeout=20))
        except grpc.RpcError as error:
            check(error.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED), f"{error.code()} {error.details()}")
    channel.close()


TESTS = {name: test for name, test in globals().items() if name.startswith("test_")}


def work_among(server, stop, wrong):
    """A session that does honest work meanwhile."""
    client = Client(server.port)
    number = 0
    while not stop.is_set():
        number += 1
        try:
            rows = sum(r.arrow_batch.row_count for r in client.run(f"SELECT id FROM range({number})", reattachable=number % 2 == 0))
            if rows != number:
                wrong.append(f"{rows} rows of {number}")
        except grpc.RpcError as error:
            wrong.append(f"{error.code()} {error.details()}")
        time.sleep(0.5)


def main():
    nilas, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 1
    wanted = [name for name in sys.argv[2:] if not name.isdigit()]
    failed, states, wrong, stop = 0, [], [], threading.Event()
    with serving(nilas, "--idle-timeout", "5", "--detached-timeout", "1") as server:
        honest = [threading.Thread(target=work_among, args=(server, stop, wrong), daemon=True) for _ in range(100 if rounds > 1 else 20)]
        for thread in honest:
            thread.start()
        for number in range(rounds):
            for name, test in TESTS.items():
                if wanted and name not in wanted:
                    continue
                began = time.monotonic()
                try:
                    test(server)
                except Exception as error:
                    failed += 1
                    print(f"{name}: {type(error).__name__} {str(error)[:500]}")
                if time.monotonic() - began > 10:
                    print(f"{name} took {time.monotonic() - began:.1f} s")
                if not server.is_alive():
                    print(f"the server has died in {name}: {server.read_log()}")
                    os._exit(1)
            time.sleep(1)
            states.append((len(os.listdir(f"/proc/{server.process.pid}/fd")), server.memory_bytes() >> 20))
        stop.set()
        for thread in honest:
            thread.join(timeout=20)
        time.sleep(9)
        states.append((len(os.listdir(f"/proc/{server.process.pid}/fd")), server.memory_bytes() >> 20))
    if wrong:
        failed += 1
        print(f"honest sessions suffer: {len(wrong)}: {sorted(set(wrong))[:5]}")
    if states[-1][1] > 120 or states[-1][0] > 140:
        failed += 1
        print("files or memory are kept")
    print(f"hostile requests in {rounds} rounds, {failed} failed; open files and MiB: {states}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
