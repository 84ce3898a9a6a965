"""Between nilas and a metastore: passes calls on, and loses those it is told to lose, before or after the metastore has had them."""
import socket
import threading


class FlakyMetastore:
    def __init__(self, port):
        self.port = port
        self.losing = None  # (method, "before" or "after", how many)
        self.lost = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"thrift://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def lose(self, method, when, count=1):
        self.losing, self.lost = [method, when, count], 0

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def is_lost(self, request):
        """The name of a call stands behind its version and length."""
        with self.lock:
            if not self.losing or self.losing[2] == 0 or request[8:8 + int.from_bytes(request[4:8], "big")].decode() != self.losing[0]:
                return None
            self.losing[2] -= 1
            self.lost += 1
            return self.losing[1]

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            threading.Thread(target=self.answers, args=(server, client), daemon=True).start()
            while True:
                try:
                    request = client.recv(1 << 20)
                except OSError:
                    return
                if not request:
                    return
                when = self.is_lost(request) if request[:2] == b"\x80\x01" else None
                if when == "before":
                    return
                if when == "after":
                    self.muted.add(server)
                server.sendall(request)

    muted = set()

    def answers(self, server, client):
        while True:
            try:
                answer = server.recv(1 << 20)
                if not answer or server in self.muted:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(answer)
            except OSError:
                return
