#!/usr/bin/env python3
"""wire_test.py NILAS - Spark Connect on the wire: order of responses, reattaching, releasing, artifacts, hostile bytes, TLS, tokens."""
import os
import socket
import struct
import subprocess
import sys
import time
import uuid
import zlib

import grpc
from google.rpc import error_details_pb2, status_pb2
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import base_pb2_grpc as service

from server import connected, serving

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Client:
    def __init__(self, port, channel=None):
        self.channel = channel or grpc.insecure_channel(f"localhost:{port}", options=[("grpc.max_receive_message_length", -1)])
        self.stub = service.SparkConnectServiceStub(self.channel)
        self.session = str(uuid.uuid4())

    def fill(self, request):
        request.session_id = self.session
        request.user_context.user_id = "wire"
        return request

    def plan(self, query, operation=None, reattachable=True, command=False):
        request = self.fill(base.ExecutePlanRequest())
        if command:
            request.plan.command.sql_command.input.sql.query = query
        else:
            request.plan.root.sql.query = query
        if operation:
            request.operation_id = operation
        if reattachable:
            request.request_options.add().reattach_options.reattachable = True
        return request

    def run(self, query, **named):
        return list(self.stub.ExecutePlan(self.plan(query, **named)))

    def reattach(self, operation, last=None):
        request = self.fill(base.ReattachExecuteRequest(operation_id=operation))
        if last:
            request.last_response_id = last
        return self.stub.ReattachExecute(request)

    def release(self, operation, until=None):
        request = self.fill(base.ReleaseExecuteRequest(operation_id=operation))
        if until:
            request.release_until.response_id = until
        else:
            request.release_all.SetInParent()
        return self.stub.ReleaseExecute(request)


def kinds(responses):
    """Without progress, which may come at any time."""
    found = []
    for response in responses:
        kind = response.WhichOneof("response_type") or ("schema" if response.HasField("schema") else "metrics" if response.HasField("metrics") else "?")
        if kind != "execution_progress":
            found.append(kind)
    return found


def refusal(action):
    try:
        result = action()
        if hasattr(result, "__next__"):
            list(result)
    except grpc.RpcError as error:
        return error
    raise AssertionError("nothing was refused")


def info(error):
    for name, value in error.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            found = error_details_pb2.ErrorInfo()
            status = status_pb2.Status.FromString(value)
            check(status.details[0].Unpack(found), "the detail is an ErrorInfo")
            return found
    return None


def test_responses_come_in_spark_s_order(server):
    client = Client(server.port)
    check(kinds(client.run("SELECT 1")) == ["schema", "arrow_batch", "metrics", "result_complete"], "a query")
    check(kinds(client.run("SELECT 1", reattachable=False)) == ["schema", "arrow_batch", "metrics"], "not reattachable: no result_complete")
    check(kinds(client.run("SELECT 1", command=True)) == ["sql_command_result", "result_complete"], "sql() of a query")
    check(kinds(client.run("SHOW CATALOGS", command=True)) == ["sql_command_result", "metrics", "result_complete"], "sql() of a command")
    responses = client.run("SELECT id FROM range(10) WHERE id > 99")
    check(kinds(responses) == ["schema", "arrow_batch", "metrics", "result_complete"], "an empty result has one batch")
    check(responses[1].arrow_batch.row_count == 0, "of no rows")
    check(len({r.server_side_session_id for r in responses}) == 1 and len({r.response_id for r in responses}) == len(responses), "ids")


def test_batches_tell_where_they_start(server):
    at = 0
    for response in Client(server.port).run("SELECT id, CAST(id AS STRING) FROM range(300000)"):
        if response.HasField("arrow_batch"):
            check(response.arrow_batch.start_offset == at, "the offset is the rows so far")
            check(len(response.arrow_batch.data) < 4 << 20, "a batch has less than 4 MiB")
            at += response.arrow_batch.row_count
    check(at == 300000, "all rows come")


def test_a_stream_is_taken_up_again(server):
    client = Client(server.port)
    operation = str(uuid.uuid4())
    first = client.run("SELECT id FROM range(50000)", operation=operation)
    for position in (None, first[0].response_id, first[2].response_id, first[-1].response_id):
        again = list(client.reattach(operation, position))
        start = 0 if position is None else [r.response_id for r in first].index(position) + 1
        check([r.response_id for r in again] == [r.response_id for r in first][start:], "what follows the last response")
    again = list(client.stub.ExecutePlan(client.plan("SELECT id FROM range(50000)", operation=operation)))
    check([r.response_id for r in again] == [r.response_id for r in first], "the same plan again is replayed")
    error = refusal(lambda: client.stub.ExecutePlan(client.plan("SELECT 2", operation=operation)))
    check("INVALID_HANDLE.OPERATION_ALREADY_EXISTS" in error.details(), error.details())
    client.release(operation, until=first[1].response_id)
    error = refusal(lambda: client.reattach(operation))
    check("INVALID_CURSOR.POSITION_NOT_AVAILABLE" in error.details(), error.details())
    check(len(list(client.reattach(operation, first[1].response_id))) == len(first) - 2, "what was not released is there")
    error = refusal(lambda: client.reattach(operation, str(uuid.uuid4())))
    check("INVALID_CURSOR.POSITION_NOT_FOUND" in error.details(), error.details())
    check(client.release(operation).operation_id == operation, "released")
    check(not client.release(operation).HasField("operation_id"), "released twice is no error")
    error = refusal(lambda: client.reattach(operation))
    check("INVALID_HANDLE.OPERATION_NOT_FOUND" in error.details() and error.code() == grpc.StatusCode.INTERNAL, error.details())


def whole(client, query):
    """The streams of an operation that its client takes up until it is complete."""
    operation, pieces, last = str(uuid.uuid4()), [], None
    while not pieces or "result_complete" not in kinds(pieces[-1]):
        pieces.append(list(client.reattach(operation, last) if pieces else client.stub.ExecutePlan(client.plan(query, operation=operation))))
        last = pieces[-1][-1].response_id if pieces[-1] else last
        check(len(pieces) < 200, "streams make progress")
    client.release(operation)
    return pieces


def test_a_long_stream_ends_and_its_client_comes_back(nilas):
    key, query = "spark.connect.execute.reattachable.senderMaxStream", "SELECT id, repeat('x', 100) AS x FROM range(100000)"
    with serving(nilas, "--conf", f"{key}Size=200k", "--conf", f"{key}Duration=1s") as server:
        client = Client(server.port)
        pieces = whole(client, query)
        check(len(pieces) > 5 and all(len(piece) <= 3 for piece in pieces[:-1]), f"{[kinds(piece) for piece in pieces]}")
        check(sum(r.arrow_batch.row_count for piece in pieces for r in piece) == 100000, "every row comes once")
        check(kinds(client.run(query, reattachable=False))[-1] == "metrics", "who cannot come back gets all at once")
        spark = connected(server.url)
        check([row.id for row in spark.sql(query).collect()] == list(range(100000)), "PySpark comes back")
        operation, began = str(uuid.uuid4()), time.monotonic()
        endless = "SELECT count(*) FROM range(1000000) a JOIN range(1000000) b ON a.id % 7 < b.id % 11"
        first = list(client.stub.ExecutePlan(client.plan(endless, operation=operation)))
        check(kinds(first) in ([], ["schema"]) and 0.9 < time.monotonic() - began < 5, f"a stream without rows ends, too: {kinds(first)}")
        client.release(operation)
        spark.stop()


def test_a_second_stream_disconnects_the_first(server):
    client = Client(server.port)
    operation = str(uuid.uuid4())
    stream = client.stub.ExecutePlan(client.plan("SELECT id, repeat('x', 1000) FROM range(1000000)", operation=operation))
    first = next(stream)
    second = client.reattach(operation, first.response_id)
    next(second)
    error = refusal(lambda: stream)
    check("INVALID_CURSOR.DISCONNECTED" in error.details(), error.details())
    second.cancel()
    client.release(operation)


def test_a_slow_client_costs_no_memory(server):
    client = Client(server.port)
    before = server.memory_bytes()
    streams = [client.stub.ExecutePlan(client.plan("SELECT id, repeat('x', 1000) FROM range(10000000)", reattachable=False)) for _ in range(4)]
    for stream in streams:
        next(stream)
    time.sleep(1.5)
    grown = server.memory_bytes() - before
    check(grown < 300 << 20, f"{grown >> 20} MiB for four clients that do not read")
    check(kinds(Client(server.port).run("SELECT 1"))[0] == "schema", "others are served")
    for stream in streams:
        stream.cancel()
    interrupted = client.stub.Interrupt(client.fill(base.InterruptRequest(interrupt_type=base.InterruptRequest.INTERRUPT_TYPE_ALL)))
    check(len(interrupted.interrupted_ids) <= 4, "cancelled calls end their operations")


def test_operations_that_are_never_released_do_not_pile_up(server):
    client = Client(server.port)
    client.run("SELECT id, repeat('x', 100) FROM range(300000)")
    before = server.memory_bytes()
    for _ in range(12):
        client.run("SELECT id, repeat('x', 100) FROM range(300000)")
    grown = server.memory_bytes() - before
    check(grown < 200 << 20, f"{grown >> 20} MiB are kept for one client")  # threads keep some freed blocks


def test_abandoned_operations_end(server):
    client = Client(server.port)
    stream = client.stub.ExecutePlan(client.plan("SELECT count(*) FROM range(100000) a JOIN range(100000) b ON a.id % 7 < b.id % 11", reattachable=False))
    time.sleep(0.3)
    stream.cancel()
    for _ in range(50):
        answer = client.stub.Interrupt(client.fill(base.InterruptRequest(interrupt_type=base.InterruptRequest.INTERRUPT_TYPE_ALL)))
        if not answer.interrupted_ids:
            return
        time.sleep(0.1)
    raise AssertionError("an operation outlives its client")


def test_a_deadline_ends_a_call(server):
    client = Client(server.port)
    began = time.monotonic()
    error = refusal(lambda: client.stub.ExecutePlan(client.plan("SELECT count(*) FROM range(100000) a JOIN range(100000) b ON a.id % 7 < b.id % 11"), timeout=0.5))
    check(error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() - began < 3, str(error.code()))


def test_errors_have_their_details(server):
    client = Client(server.port)
    error = refusal(lambda: client.stub.ExecutePlan(client.plan("SELECT 1/0")))
    found = info(error)
    check(error.code() == grpc.StatusCode.INTERNAL and found.reason == "org.apache.spark.SparkArithmeticException", found.reason)
    check(found.metadata["errorClass"] == "DIVIDE_BY_ZERO" and found.metadata["sqlState"] == "22012", str(found.metadata))
    details = client.stub.FetchErrorDetails(client.fill(base.FetchErrorDetailsRequest(error_id=found.metadata["errorId"])))
    check(details.root_error_idx == 0 and details.errors[0].spark_throwable.query_contexts[0].fragment == "1/0", str(details))
    long_name = "x" * 5000 + "ä%\n"
    error = refusal(lambda: client.stub.ExecutePlan(client.plan(f"SELECT raise_error('{long_name}')")))
    check(len(error.details()) <= 2048 and error.details().endswith("..."), "long messages are shortened")
    error_id = info(error).metadata["errorId"]
    whole = client.stub.FetchErrorDetails(client.fill(base.FetchErrorDetailsRequest(error_id=error_id))).errors[0].message
    check("ä%\n" in whole and len(whole) > 5000, "and told in whole")
    request = client.fill(base.ConfigRequest())
    request.session_id = "no uuid"
    request.operation.get_all.SetInParent()
    error = refusal(lambda: client.stub.Config(request))
    check("INVALID_HANDLE.FORMAT" in error.details() and "errorId" not in info(error).metadata, error.details())
    request = client.fill(base.ConfigRequest(client_observed_server_side_session_id=str(uuid.uuid4())))
    request.operation.get_all.SetInParent()
    error = refusal(lambda: client.stub.Config(request))
    check("INVALID_HANDLE.SESSION_CHANGED" in error.details(), error.details())


def test_artifacts_are_checked(server):
    client = Client(server.port)
    data = os.urandom(100000)
    chunk = lambda piece: base.AddArtifactsRequest.ArtifactChunk(data=piece, crc=zlib.crc32(piece))  # noqa: E731

    def requests():
        request = client.fill(base.AddArtifactsRequest())
        request.batch.artifacts.add(name="cache/good", data=chunk(data[:100]))
        request.batch.artifacts.add(name="cache/bad", data=base.AddArtifactsRequest.ArtifactChunk(data=data[:100], crc=1))
        yield request
        request = client.fill(base.AddArtifactsRequest())
        request.begin_chunk.name = "cache/long"
        request.begin_chunk.total_bytes = len(data)
        request.begin_chunk.num_chunks = 4
        request.begin_chunk.initial_chunk.CopyFrom(chunk(data[:25000]))
        yield request
        for at in range(25000, len(data), 25000):
            request = client.fill(base.AddArtifactsRequest())
            request.chunk.CopyFrom(chunk(data[at : at + 25000]))
            yield request

    answer = client.stub.AddArtifacts(requests())
    check([(a.name, a.is_crc_successful) for a in answer.artifacts] == [("cache/good", True), ("cache/bad", False), ("cache/long", True)], str(answer))
    statuses = client.stub.ArtifactStatus(client.fill(base.ArtifactStatusesRequest(names=["cache/good", "cache/bad", "cache/long"]))).statuses
    check([statuses[n].exists for n in ("cache/good", "cache/bad", "cache/long")] == [True, False, True], str(statuses))


def test_schemas_become_ddl(server):
    from pyspark.sql.types import ArrayType, CharType, DecimalType, IntegerType, LongType, ShortType, StringType, StructField, StructType
    schema = StructType([StructField("a", IntegerType(), False), StructField("b c", ArrayType(StringType(), False)),
                         StructField("d", StructType([StructField("x", DecimalType(10, 2), False, {"comment": "it's"})]), True, {"comment": "why 'so'"}),
                         StructField("e", CharType(3)), StructField("1x", LongType()), StructField("q`q", ShortType())])
    client = Client(server.port)
    request = client.fill(base.AnalyzePlanRequest())
    request.json_to_ddl.json_string = schema.json()
    check(client.stub.AnalyzePlan(request).json_to_ddl.ddl_string == "a INT NOT NULL,`b c` ARRAY<STRING>,d STRUCT<x: DECIMAL(10,2) NOT NULL COMMENT "
          "'it\\'s'> COMMENT 'why \\'so\\'',e CHAR(3),`1x` BIGINT,`q``q` SMALLINT", "as Spark writes it")


def test_unknown_methods_and_streams_are_refused(server):
    channel = grpc.insecure_channel(f"localhost:{server.port}")
    call = channel.unary_unary("/spark.connect.SparkConnectService/NoSuchMethod", request_serializer=bytes, response_deserializer=bytes)
    check(refusal(lambda: call(b"")).code() == grpc.StatusCode.UNIMPLEMENTED, "an unknown method")
    call = channel.unary_unary("/spark.connect.SparkConnectService/Config", request_serializer=bytes, response_deserializer=bytes)
    for bad in (b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x7f", b"\x13\x14", os.urandom(1000)):
        check(refusal(lambda: call(bad)).code() == grpc.StatusCode.INTERNAL, "malformed messages")
    deep = b""
    for _ in range(30000):  # Relation in Filter in Relation …
        deep = b"\x22" + varint(len(deep) + 1 + len(varint(len(deep)))) + b"\x0a" + varint(len(deep)) + deep if len(deep) < 60000 else deep
    plan = b"\x0a" + varint(len(deep)) + deep
    call = channel.unary_stream("/spark.connect.SparkConnectService/ExecutePlan", request_serializer=bytes, response_deserializer=bytes)
    check("1024" in refusal(lambda: call(b"\x1a" + varint(len(plan)) + plan)).details(), "a plan that is too deep")


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def test_compressed_messages_are_taken(server):
    channel = grpc.insecure_channel(f"localhost:{server.port}", compression=grpc.Compression.Gzip)
    client = Client(server.port, channel)
    check(kinds(client.run("SELECT '" + "x" * 100000 + "'"))[1] == "arrow_batch", "gzip")
    error = refusal(lambda: Client(0, grpc.insecure_channel(f"localhost:{server.port}", compression=grpc.Compression.Deflate)).run("SELECT '" + "x" * 1000 + "'"))
    check(error.code() == grpc.StatusCode.UNIMPLEMENTED, str(error.code()))


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def test_hostile_bytes_do_no_harm(server):
    headers = b"\x83\x86" + b"\x44\x03/x/" + b"\x5f\x10application/grpc"
    pieces = [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"", PREFACE, PREFACE + os.urandom(10000), PREFACE + frame(4, 0, 0, b"\x00" * 5),
              PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, os.urandom(200)), PREFACE + frame(4, 0, 0, b"") + frame(0, 0, 1, b"x" * 16384),
              PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, headers) + frame(0, 1, 1, b"\x00\xff\xff\xff\xff"),
              PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 2, headers), PREFACE + frame(4, 0, 0, b"") + frame(8, 0, 0, b"\x00\x00\x00\x00"),
              PREFACE + frame(4, 0, 0, b"") + b"".join(frame(1, 5, 2 * i + 1, headers) + frame(3, 0, 2 * i + 1, b"\x00\x00\x00\x08") for i in range(500))]
    for seed in range(40):
        pieces.append(PREFACE + frame(4, 0, 0, b"") + bytes((seed * 7919 + i * 104729) >> 3 & 255 for i in range(500)))
    sockets = []
    for piece in pieces:
        connection = socket.create_connection(("localhost", server.port))
        try:
            connection.sendall(piece)
        except OSError:
            pass  # closed already
        sockets.append(connection)
    time.sleep(0.3)
    for connection in sockets:
        connection.close()
    check(server.is_alive(), "the server lives")
    check(kinds(Client(server.port).run("SELECT 1"))[0] == "schema", "and serves")


def test_a_message_that_is_too_large_is_refused(server):
    channel = grpc.insecure_channel(f"localhost:{server.port}", options=[("grpc.max_send_message_length", -1)])
    call = channel.unary_unary("/spark.connect.SparkConnectService/Config", request_serializer=bytes, response_deserializer=bytes)
    check(refusal(lambda: call(bytes(129 << 20))).code() == grpc.StatusCode.RESOURCE_EXHAUSTED, "129 MiB")


def test_tokens_and_certificates(nilas):
    with serving(nilas, "--token", "secret") as server:
        request = base.ConfigRequest(session_id=str(uuid.uuid4()))
        request.operation.get_all.SetInParent()
        stub = service.SparkConnectServiceStub(grpc.insecure_channel(f"localhost:{server.port}"))
        check(refusal(lambda: stub.Config(request)).code() == grpc.StatusCode.UNAUTHENTICATED, "no token")
        check(refusal(lambda: stub.Config(request, metadata=[("authorization", "Bearer secreT")])).code() == grpc.StatusCode.UNAUTHENTICATED, "a wrong one")
        check(stub.Config(request, metadata=[("authorization", "Bearer secret")]).session_id == request.session_id, "the right one")
        certificate, key = os.path.join(server.folder, "cert.pem"), os.path.join(server.folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
        with serving(nilas, "--tls-cert", certificate, "--tls-key", key) as secure, open(certificate, "rb") as trusted:
            credentials = grpc.ssl_channel_credentials(trusted.read())
            client = Client(0, grpc.secure_channel(f"localhost:{secure.port}", credentials))
            check(kinds(client.run("SELECT id, repeat('x', 100) FROM range(100000)"))[1] == "arrow_batch", "over TLS")


def test_sessions_that_rest_are_ended(nilas):
    with serving(nilas, "--idle-timeout", "1") as server:
        client = Client(server.port)
        client.run("SELECT 1", reattachable=False)
        time.sleep(3.5)
        check("INVALID_HANDLE.SESSION_CLOSED" in refusal(lambda: client.stub.ExecutePlan(client.plan("SELECT 1"))).details(), "ended")


def main():
    nilas, wanted = sys.argv[1], sys.argv[2:]
    tests = {name: test for name, test in globals().items() if name.startswith("test_") and (not wanted or name in wanted)}
    failed = 0
    with serving(nilas) as server:
        for name, test in tests.items():
            began = time.monotonic()
            try:
                test(server if test.__code__.co_varnames[0] == "server" else nilas)
            except Exception as error:
                failed += 1
                print(f"{name}: {type(error).__name__} {str(error)[:500]}")
            if time.monotonic() - began > 5:
                print(f"{name} took {time.monotonic() - began:.1f} s")
            if not server.is_alive():
                print(f"the server has died in {name}: {server.read_log()}")
                return 1
    print(f"{len(tests)} tests of the wire, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
