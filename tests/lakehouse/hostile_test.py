"""Requests that no honest client sends, over a plain socket to every service: each is answered at once and ends its connection.

Nothing may hang, nothing may be read as two requests, and the service answers the next client as before."""
import socket
import sys
import threading
import time

from support import Lakehouse, check, run_tests

HOST = b"Host: localhost\r\n"
BODY = b"POST /x HTTP/1.1\r\n" + HOST
HEAD = b"GET /x HTTP/1.1\r\n" + HOST
CHUNKED = BODY + b"Transfer-Encoding: chunked\r\n\r\n"
SECOND = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"

# name: request, statuses that are right; each ends the connection
HOSTILE = {
    "length and coding": (BODY + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + SECOND, (400,)),
    "coding and length": (BODY + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + SECOND, (400,)),
    "two equal lengths": (BODY + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", (400,)),
    "two lengths": (BODY + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", (400,)),
    "two lengths, the larger first": (BODY + b"Content-Length: 6\r\nContent-Length: 5\r\n\r\nhello", (400,)),
    "a list of lengths": (BODY + b"Content-Length: 5, 5\r\n\r\nhello", (400,)),
    "a negative length": (BODY + b"Content-Length: -5\r\n\r\nhello", (400,)),
    "a length with a sign": (BODY + b"Content-Length: +5\r\n\r\nhello", (400,)),
    "a length in hex": (BODY + b"Content-Length: 0x5\r\n\r\nhello", (400,)),
    "a length and words": (BODY + b"Content-Length: 5 bytes\r\n\r\nhello", (400,)),
    "an empty length": (BODY + b"Content-Length: \r\n\r\nhello", (400,)),
    "a length beyond 64 bits": (BODY + b"Content-Length: 99999999999999999999999999\r\n\r\nhello", (400, 413)),
    "the largest length": (BODY + b"Content-Length: 18446744073709551615\r\n\r\nhello", (400, 413)),
    "the largest signed length": (BODY + b"Content-Length: 9223372036854775807\r\n\r\nhello", (400, 403, 405, 411, 413)),
    "identity": (BODY + b"Transfer-Encoding: identity\r\n\r\n" + SECOND, (400, 501)),
    "identity with a length": (BODY + b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", (400, 501)),
    "an unknown coding": (BODY + b"Transfer-Encoding: gzip\r\n\r\n" + SECOND, (501,)),
    "a coding before chunked": (BODY + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + SECOND, (501,)),
    "chunked twice in a list": (BODY + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + SECOND, (400, 501)),
    "chunked twice": (BODY + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + SECOND, (400,)),
    "chunked, then identity": (BODY + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + SECOND, (400,)),
    "a coding that ends like chunked": (BODY + b"Transfer-Encoding: xchunked\r\n\r\n" + SECOND, (400, 501)),
    "an empty coding": (BODY + b"Transfer-Encoding: \r\n\r\n" + SECOND, (400, 501)),
    "chunked in HTTP/1.0": (b"POST /x HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + SECOND, (400,)),
    "a space before the coding's colon": (BODY + b"Transfer-Encoding : chunked\r\n\r\n" + SECOND, (400,)),
    "a space before the length's colon": (BODY + b"Content-Length : 5\r\n\r\nhello", (400,)),
    "a folded header": (HEAD + b"X-A: b\r\n c\r\n\r\n", (400,)),
    "a header folded by a tab": (HEAD + b"X-A: b\r\n\tc\r\n\r\n", (400,)),
    "a folded coding": (BODY + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + SECOND, (400,)),
    "a folded length": (BODY + b"Content-Length:\r\n 5\r\n\r\nhello", (400,)),
    "a fold at once": (b"GET /x HTTP/1.1\r\n X-A: b\r\n" + HOST + b"\r\n", (400,)),
    "NUL in a value": (HEAD + b"X-A: b\0c\r\n\r\n", (400,)),
    "NUL in the length": (BODY + b"Content-Length: 5\0\r\n\r\nhello", (400,)),
    "NUL in a name": (HEAD + b"X\0A: b\r\n\r\n", (400,)),
    "NUL in the path": (b"GET /x\0y HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "NUL in the query": (b"GET /x?a=b\0c&d=e HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "NULs and a header behind them": (HEAD + b"X-A: b\0\0X-B: c\r\n\r\n", (400,)),
    "CR in a value": (HEAD + b"X-A: b\rc\r\n\r\n", (400,)),
    "CR in the path": (b"GET /x\ry HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "a bell in a value": (HEAD + b"X-A: b\x07c\r\n\r\n", (400,)),
    "a line without a colon": (HEAD + b"nonsense\r\n\r\n", (400,)),
    "a header without a name": (HEAD + b": b\r\n\r\n", (400,)),
    "a name with a slash": (HEAD + b"a/b: c\r\n\r\n", (400,)),
    "a name with high bytes": (HEAD + "ä: c\r\n\r\n".encode(), (400,)),
    "two hosts": (HEAD + HOST + b"\r\n", (400,)),
    "no host": (b"GET /x HTTP/1.1\r\n\r\n", (400,)),
    "a space in the path": (b"GET /x y HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "spaces around the path": (b"GET  /x  HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "a space in the query": (b"GET /x?a=b c HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "two versions": (b"GET /x HTTP/1.1 HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "tabs in the request line": (b"GET\t/x\tHTTP/1.1\r\n" + HOST + b"\r\n", (400, None)),
    "a path without a slash": (b"GET x HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "a whole URL of another host": (b"GET http://evil.example/x HTTP/1.1\r\n" + HOST + b"\r\n", (421,)),
    "another host": (b"GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n", (421,)),
    "a long line": (b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", (414, 431)),
    "a very long line": (b"GET /" + b"x" * 700000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", (414, 431)),
    "a line without end": (b"GET /" + b"x" * 700000, (414, 431)),
    "a long header": (HEAD + b"X-A: " + b"x" * 70000 + b"\r\n\r\n", (431,)),
    "a header without end": (HEAD + b"X-A: " + b"x" * 700000, (431,)),
    "many headers": (HEAD + b"".join(b"X-%d: a\r\n" % i for i in range(200)) + b"\r\n", (431,)),
    "headers without end": (HEAD + b"".join(b"X-%d: a\r\n" % i for i in range(20000)), (431,)),
    "HTTP/9.1": (b"GET /x HTTP/9.1\r\n" + HOST + b"\r\n", (400, 505)),
    "HTTP/2's preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 505)),
    "HTTP/0.9": (b"GET /x\r\n\r\n", (400, 505)),
    "another protocol": (b"GET /x SIP/2.0\r\n" + HOST + b"\r\n", (400, 505)),
    "a method that is none": (b"G@T /x HTTP/1.1\r\n" + HOST + b"\r\n", (400,)),
    "all bytes": (bytes(range(256)) * 20, (400, 501, 505)),
    "a chunk without a size": (CHUNKED + b"zz\r\n\r\n", (400,)),
    "a negative chunk": (CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", (400,)),
    "a chunk beyond 64 bits": (CHUNKED + b"ffffffffffffffffffff\r\nhello\r\n0\r\n\r\n", (400, 413)),
    "a chunk that is longer than it says": (CHUNKED + b"5\r\nhelloXX0\r\n\r\n", (400,)),
    "a chunk's extension without end": (CHUNKED + b"5;" + b"a" * 300000, (400, 413, 431, 500)),  # 500: libmicrohttpd 0.9.75's word for it
    "trailers without end": (CHUNKED + b"0\r\n" + b"".join(b"X-%d: a\r\n" % i for i in range(20000)), (400, 413, 431)),
}

# As unusual, but with one meaning: answered, and the connection goes on.
HONEST = {
    "spaces around values": b"GET /x HTTP/1.1\r\nHost:localhost\r\nX-B:   a  \t\r\nX-C:\r\n\r\n",
    "lines that end with LF": b"GET /x HTTP/1.1\nHost: localhost\nX-C:\n\n",
    "an empty line before": b"\r\nGET /x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a whole URL": b"GET http://localhost/x HTTP/1.1\r\n" + HOST + b"\r\n",
    "high bytes in the path": b"GET /\xc3\xa4 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a query": b"GET /x?a=b+c%20d&&e&=f&g== HTTP/1.1\r\n" + HOST + b"\r\n",
    "a query of many parameters": b"GET /x?" + b"a=b&" * 15000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a query of empty parameters": b"GET /x?" + b"&" * 60000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a query of questions": b"GET /x?" + b"?&=" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a head of 60 KB": HEAD + b"".join(b"X-%d: " % i + b"y" * 990 + b"\r\n" for i in range(60)) + b"\r\n",
    "a name in capitals": b"GET /x HTTP/1.1\r\nHOST: LOCALHOST\r\n\r\n",
}


def ask(port, request, seconds=5):
    """What came back until the server closed; None as the last of the two when it had not closed in time."""
    peer = socket.create_connection(("127.0.0.1", port))
    peer.settimeout(seconds)
    reply = b""
    try:
        try:
            peer.sendall(request)
        except OSError:
            pass  # refused before all was sent: the answer is there to be read
        while more := peer.recv(65536):
            reply += more
        return reply, True
    except socket.timeout:
        return reply, False
    except ConnectionError:
        return reply, True
    finally:
        peer.close()


def status_of(reply):
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else None


def test_unclear_requests_are_refused_at_once_and_end_their_connection():
    with Lakehouse() as lake:
        for service, port in lake.ports.items():
            for name, (request, statuses) in HOSTILE.items():
                begun = time.time()
                reply, is_closed = ask(port, request)
                said = f"{service}: {name}: {reply[:100]!r}"
                check(is_closed, f"{said}: the connection stays open")
                check(time.time() - begun < 2, f"{said}: {time.time() - begun:.1f} s")
                check(status_of(reply) in statuses, f"{said}: should be {statuses}")
                check(reply.count(b"\r\nx-amz-request-id:") <= 1 and b"smuggled" not in reply, f"{said}: more than one answer")
            for name, request in HONEST.items():
                reply, is_closed = ask(port, request + HEAD + b"Connection: close\r\n\r\n")
                is_refused = b"belong" in reply or b"request line" in reply or status_of(reply) in (431, 501)
                check(is_closed and reply.count(b"\r\nx-amz-request-id:") == 2 and not is_refused, f"{service}: {name}: {reply[:300]!r}")
        lake.client("s3").create_bucket(Bucket="still-here")


def test_heads_that_do_not_come_end_after_ten_seconds():
    slow = {"nothing": b"", "half a line": b"GET /x", "half a head": HEAD, "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 300}
    with Lakehouse() as lake:
        def wait(service, port, name, request):
            begun = time.time()
            reply, is_closed = ask(port, request, 20)
            check(is_closed and time.time() - begun < 13 and status_of(reply) in (None, 400, 408), f"{service}: {name}: {time.time() - begun:.1f} s, {reply[:100]!r}")

        def trickle(service, port):
            begun = time.time()
            peer = socket.create_connection(("127.0.0.1", port))
            try:
                while time.time() - begun < 20:
                    peer.sendall(b"G")
                    time.sleep(0.5)
            except OSError:
                pass
            peer.close()
            check(time.time() - begun < 14, f"{service}: a head of one byte now and then: {time.time() - begun:.1f} s")

        threads = [threading.Thread(target=wait, args=(service, port, name, request)) for service, port in lake.ports.items() for name, request in slow.items()]
        threads += [threading.Thread(target=trickle, args=item) for item in lake.ports.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


run_tests(sys.modules[__name__])
