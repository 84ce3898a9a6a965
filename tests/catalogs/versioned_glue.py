"""A Glue for races: databases and tables in memory, UpdateTable only with the version in force, and answers that get lost."""
import http.server
import json
import random
import threading


class VersionedGlue:
    def __init__(self, lost_answers=0.0):
        self.lost_answers = lost_answers
        self.databases, self.tables = {}, {}
        self.lock = threading.Lock()
        self.conflicts = self.lost = 0
        self.random = random.Random(11)
        glue = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                operation = self.headers["X-Amz-Target"].split(".")[1]
                with glue.lock:
                    status, answer = glue.handle(operation, request)
                    is_lost = status == 200 and operation == "UpdateTable" and glue.random.random() < glue.lost_answers
                    glue.lost += is_lost
                if is_lost:
                    status, answer = 500, {"__type": "InternalServiceException", "Message": "the answer is lost"}
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def refuse(name):
        return 400, {"__type": name, "Message": name}

    def handle(self, operation, request):
        if operation in ("CreateDatabase", "GetDatabase"):
            name = request["DatabaseInput"]["Name"] if operation == "CreateDatabase" else request["Name"]
            if operation == "CreateDatabase":
                self.databases[name] = request["DatabaseInput"]
                return 200, {}
            return (200, {"Database": self.databases[name]}) if name in self.databases else self.refuse("EntityNotFoundException")
        key = (request["DatabaseName"], request.get("Name") or request["TableInput"]["Name"])
        table = self.tables.get(key)
        if operation == "GetTable":
            return (200, {"Table": table}) if table else self.refuse("EntityNotFoundException")
        if operation == "CreateTable":
            if table:
                return self.refuse("AlreadyExistsException")
            self.tables[key] = {**request["TableInput"], "VersionId": "0"}
            return 200, {}
        if operation == "UpdateTable":
            if not table:
                return self.refuse("EntityNotFoundException")
            if request.get("VersionId") != table["VersionId"]:
                self.conflicts += 1
                return self.refuse("ConcurrentModificationException")
            self.tables[key] = {**request["TableInput"], "VersionId": str(int(table["VersionId"]) + 1)}
            return 200, {}
        return self.refuse("InvalidInputException")
