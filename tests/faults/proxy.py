"""A proxy that lets one request go wrong: between a client and a server that is well. Python's standard library only.

A Plan counts the requests of all proxies that share it, from 1. The armed one meets its fault:
  refuse    the connection is reset, and the server never hears of it          (nothing was done)
  error     HTTP 500 from the proxy, and the server never hears of it          (nothing was done)
  busy      HTTP 503, the same
  lost      the server answers, and the connection is reset instead            (it was done)
  broken    the server answers, and HTTP 502 with a page comes instead         (it was done)
  page      the server answers, and HTTP 200 with a page comes instead         (it was done)
  cut       half of the server's answer comes, then the end                    (it was done)
  silent    the server answers, and nothing comes, for ever                    (it was done)
  gone      this and every later request is refused, until the plan is disarmed
For what is no HTTP (PostgreSQL) each piece that the client sends is a request; faults with words of HTTP are resets there.
"""
import socket
import struct
import threading

DONE = ("lost", "broken", "page", "cut", "silent")
NOT_DONE = ("refuse", "error", "busy")
ALL = (*NOT_DONE, *DONE, "gone")
PAGE = b"<html><body>The proxy is sorry.</body></html>"


class Plan:
    def __init__(self):
        self.lock = threading.Lock()
        self.disarm()

    def arm(self, step, fault):
        with self.lock:
            self.count, self.step, self.fault, self.has_struck, self.seen = 0, step, fault, False, []

    def disarm(self):
        self.arm(0, "")

    def next(self, what):
        """The fault of this request; empty: none."""
        with self.lock:
            self.count += 1
            if len(self.seen) < 200:
                self.seen.append(what)
            strikes = self.step and (self.count == self.step or (self.fault == "gone" and self.count >= self.step))
            self.has_struck = self.has_struck or bool(strikes)
            return self.fault if strikes else ""


def reset(connection):
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    except OSError:
        pass


class Ended(Exception):
    pass


class Reader:
    """A socket read by lines and lengths."""

    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def fill(self):
        try:
            more = self.connection.recv(1 << 16)
        except OSError:
            more = b""
        if not more:
            raise Ended
        self.buffer += more

    def until(self, mark):
        while mark not in self.buffer:
            self.fill()
        end = self.buffer.index(mark) + len(mark)
        taken, self.buffer = self.buffer[:end], self.buffer[end:]
        return taken

    def exactly(self, count):
        while len(self.buffer) < count:
            self.fill()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def rest(self):
        try:
            while True:
                self.fill()
        except Ended:
            taken, self.buffer = self.buffer, b""
            return taken

    def chunks(self):
        whole = b""
        while True:
            line = self.until(b"\r\n")
            whole += line
            size = int(line.split(b";")[0], 16)
            if size == 0:
                while True: # trailers
                    line = self.until(b"\r\n")
                    whole += line
                    if line == b"\r\n":
                        return whole
            whole += self.exactly(size + 2)


def header(head, name):
    for line in head.split(b"\r\n")[1:]:
        if line.lower().startswith(name + b":"):
            return line.split(b":", 1)[1].strip()
    return None


def read_message(reader, head, has_body=True, ends_with_connection=False):
    if not has_body:
        return b""
    if b"chunked" in (header(head, b"transfer-encoding") or b"").lower():
        return reader.chunks()
    length = header(head, b"content-length")
    if length is not None:
        return reader.exactly(int(length))
    return reader.rest() if ends_with_connection else b""


class Proxy:
    def __init__(self, upstream_port, plan, is_http=True, name=""):
        self.upstream_port, self.plan, self.is_http, self.name = upstream_port, plan, is_http, name
        self.open_sockets, self.held = set(), []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR) # wakes accept, which would hold the port
        self.listener.close()
        self.release()

    def release(self):
        """Connections that were left silent end."""
        held, self.held = self.held, []
        for connection in held:
            reset(connection)

    def connect(self):
        upstream = socket.create_connection(("127.0.0.1", self.upstream_port), timeout=60)
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return upstream

    def serve(self, client):
        upstream = None
        try:
            upstream = self.connect()
            if self.is_http:
                self.serve_http(client, upstream)
            else:
                self.serve_pieces(client, upstream)
        except (Ended, OSError, ValueError):
            pass
        for connection in (client, upstream):
            if connection and connection not in self.held:
                connection.close()

    # ---- HTTP

    def serve_http(self, client, upstream):
        asks, answers = Reader(client), Reader(upstream)
        while True:
            head = asks.until(b"\r\n\r\n")
            if (header(head, b"expect") or b"").lower() == b"100-continue":
                client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))
            body = read_message(asks, head)
            fault = self.plan.next(f"{self.name} {head.split(b' HTTP/')[0].decode(errors='replace')}")
            if fault in ("refuse", "gone"):
                reset(client)
                return
            if fault in ("error", "busy"):
                self.say(client, b"500 Internal Server Error" if fault == "error" else b"503 Service Unavailable")
                continue
            upstream.sendall(head + body)
            answer_head = answers.until(b"\r\n\r\n")
            status = int(answer_head.split(b" ")[1])
            has_body = not head.startswith(b"HEAD ") and status not in (204, 304)
            answer = answer_head + read_message(answers, answer_head, has_body, ends_with_connection=True)
            if fault == "lost":
                reset(client)
                return
            if fault == "silent":
                self.held.append(client)
                return
            if fault in ("broken", "page"):
                self.say(client, b"502 Bad Gateway" if fault == "broken" else b"200 OK", head.startswith(b"HEAD "))
                continue
            if fault == "cut":
                client.sendall(answer[:max(1, len(answer) // 2)])
                return
            client.sendall(answer)
            if (header(answer_head, b"connection") or b"").lower() == b"close":
                return

    @staticmethod
    def say(client, status, is_head=False):
        client.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Type: text/html\r\nContent-Length: " + str(len(PAGE)).encode() + b"\r\n\r\n" + (b"" if is_head else PAGE))

    # ---- anything else

    def serve_pieces(self, client, upstream):
        state = {"swallows": False}

        def back():
            try:
                while True:
                    piece = upstream.recv(1 << 16)
                    if not piece:
                        break
                    if state["swallows"] == "reset":
                        reset(client)
                        return
                    if not state["swallows"]:
                        client.sendall(piece)
            except OSError:
                pass
            if client not in self.held:
                reset(client)

        threading.Thread(target=back, daemon=True).start()
        while True:
            piece = client.recv(1 << 16)
            if not piece:
                raise Ended
            fault = self.plan.next(f"{self.name} {piece[:60]!r}")
            if fault in NOT_DONE or fault == "gone":
                reset(client)
                raise Ended
            if fault == "silent":
                state["swallows"] = True
                self.held.append(client)
            elif fault:
                state["swallows"] = "reset"
            upstream.sendall(piece)
