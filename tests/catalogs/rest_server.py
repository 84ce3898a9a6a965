"""REST catalogs for tests: Iceberg's reference server, and a proxy before any server that loses, refuses and counts."""
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url, process, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server of {url} ended with {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=5).read()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nobody answers at {url}")


class JavaRest:
    """org.apache.iceberg.rest.RESTCatalogServer (iceberg-open-api, test fixtures) over SQLite and local files."""

    def __init__(self):
        cache = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "nilas-tests", "rest-fixture")
        if not os.path.isdir(cache) or not any(name.startswith("iceberg-open-api") for name in os.listdir(cache)):
            pom = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rest_fixture.xml")
            with tempfile.TemporaryDirectory() as made:
                shutil.copy(pom, os.path.join(made, "pom.xml"))
                subprocess.run(["mvn", "-q", "-B", "-f", made, "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", f"-DoutputDirectory={cache}"], check=True)
        self.folder = tempfile.mkdtemp(prefix="nilas-rest-")
        self.warehouse = os.path.join(self.folder, "warehouse")
        self.port = free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        environment = {**os.environ, "CATALOG_REST_PORT": str(self.port), "CATALOG_WAREHOUSE": self.warehouse, "CATALOG_URI": f"jdbc:sqlite:{self.folder}/catalog.db",
                       "CATALOG_CLIENTS": "1"}
        self.process = subprocess.Popen(["java", "-Xmx512m", "-cp", f"{cache}/*", "org.apache.iceberg.rest.RESTCatalogServer"], env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(f"{self.uri}/v1/config", self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


class NilasRest:
    """`nilas up` with its REST catalog, a warehouse of files, and strict about signatures."""

    keys = ("catalogs-test", "catalogs-test-secret")

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="nilas-up-")
        self.warehouse = os.path.join(self.folder, "warehouse")
        os.mkdir(self.warehouse)
        ports = {"rest": free_port(), "s3": free_port()}
        self.uri = f"http://127.0.0.1:{ports['rest']}"
        environment = {**os.environ, "NILAS_ACCESS_KEY": self.keys[0], "NILAS_SECRET_KEY": self.keys[1]}
        self.process = subprocess.Popen([os.path.abspath(program), "up", "rest", "s3", "--data", f"{self.folder}/data", "--no-configure", "--no-maintenance", "--strict",
                                         "--warehouse", f"files=file://{self.warehouse}", *(flag for name, port in ports.items() for flag in ("--port", f"{name}={port}"))],
                                        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(f"{self.uri}/v1/config", self.process)

    def signing(self):
        """What every client is configured with."""
        return {"warehouse": "files", "rest.sigv4-enabled": "true", "rest.signing-name": "s3tables", "rest.signing-region": "us-east-1", "client.region": "us-east-1",
                "rest.access-key-id": self.keys[0], "rest.secret-access-key": self.keys[1]}

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Before a server: rules decide what becomes of each request. A rule is a function (method, path, number) → None (pass on),
    "drop" (close without asking), "lose" (ask, then close without the answer), an int (that status instead of asking),
    ("late", int) (ask, then answer that status). log: (method, path, headers, status) of every request."""

    def __init__(self, upstream, rule=None, etags=False, config=None):
        self.rule = rule or (lambda method, path, number: None)
        self.log = []
        self.count = 0
        self.seen = {}
        self.etags = etags
        self.config = config or {}
        self.lock = threading.Lock()
        host = urllib.parse.urlsplit(upstream)
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                with proxy.lock:
                    proxy.count += 1
                    number = proxy.count
                    proxy.seen = self.headers
                fate = proxy.rule(self.command, self.path, number)
                status, kind, answer = 0, None, b""
                if fate != "drop" and not isinstance(fate, int):
                    connection = http.client.HTTPConnection(host.hostname, host.port, timeout=60)
                    headers = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "connection", "accept-encoding", "expect")}
                    connection.request(self.command, host.path + self.path, body, {**headers, "Host": host.netloc})
                    got = connection.getresponse()
                    status, kind, answer = got.status, got.getheader("Content-Type"), got.read()
                    connection.close()
                if isinstance(fate, int):
                    status, kind, answer = fate, "application/json", json.dumps({"error": {"message": "the proxy's doing", "type": "ServiceFailureException", "code": fate}}).encode()
                if isinstance(fate, tuple):
                    status, answer = fate[1], b"gone"
                etag = None
                if proxy.etags and self.command == "GET" and status == 200 and re.search(r"/tables/[^/?]+", self.path):
                    etag = '"%s"' % json.loads(answer)["metadata-location"].rsplit("/", 1)[1]
                    if self.headers.get("If-None-Match") == etag:
                        status, answer = 304, b""
                if self.path.startswith("/v1/config") and status == 200:
                    known = json.loads(answer)
                    for key, value in proxy.config.items():
                        known[key] = {**known.get(key, {}), **value} if isinstance(value, dict) else value
                    answer = json.dumps({key: value for key, value in known.items() if value is not None}).encode()
                proxy.log.append((self.command, self.path, dict(self.headers), status if fate not in ("drop", "lose") else fate))
                if fate in ("drop", "lose"):
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(status)
                if kind:
                    self.send_header("Content-Type", kind)
                if etag:
                    self.send_header("ETag", etag)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            do_GET = do_HEAD = do_POST = do_DELETE = handle_any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.uri = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class TokenServer:
    """OAuth 2: client credentials and token exchange; tokens live for life_s, and check() says whether one does."""

    def __init__(self, life_s=3600, secret="s3cr3t-value"):
        self.tokens = {}
        self.requests = []
        tokens, requests = self.tokens, self.requests

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                requests.append(form)
                if form.get("grant_type") == "client_credentials" and form.get("client_secret") != secret:
                    status, answer = 401, {"error": "invalid_client", "error_description": "no such client: " + form.get("client_secret", "")}
                else:
                    token = f"token-{len(requests)}-of-the-test"
                    tokens[token] = time.monotonic() + life_s
                    status, answer = 200, {"access_token": token, "token_type": "bearer", "expires_in": life_s}
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self.server.server_address[1]}/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def is_good(self, authorization):
        token = (authorization or "").removeprefix("Bearer ")
        return self.tokens.get(token, 0) > time.monotonic()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
