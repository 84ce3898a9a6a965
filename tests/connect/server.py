"""A `nilas connect` of its own on a free port, in a folder of its own; stopped by its pid."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

START_SECONDS = 20
IS_SANITIZED = "NILAS_SANITIZED" in os.environ  # scripts/connect_sanitized.sh: slower, and memory tells nothing
SESSIONS = []


def connected(url):
    """A new session, which lives as long as the program. A session that Python collects shuts the pool down by which the client
    of all sessions tells servers what they need not keep (ExecutePlanResponseReattachableIterator), in whatever thread happens
    to collect it: in one that holds the pool's lock the program stops for ever, in one of the pool itself every later query
    fails with "cannot schedule new futures after shutdown". With any server."""
    from pyspark.sql import SparkSession  # not of the scripts without PySpark
    SESSIONS.append(SparkSession.builder.remote(url).create())
    return SESSIONS[-1]


class Server:
    def __init__(self, nilas, *arguments):
        self.folder = tempfile.mkdtemp(prefix="nilas-connect-")
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        began = time.monotonic()
        environment = dict(os.environ, TZ="UTC")
        self.process = subprocess.Popen([nilas, "connect", "--port", "0", *arguments], cwd=self.folder, env=environment,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        self.ready_seconds = time.monotonic() - began
        if "sc://" not in line:
            raise RuntimeError(f"nilas connect does not start: {line}{self.read_log()}")
        self.port = int(line.split("sc://")[1].split()[0].split("/")[0].rsplit(":", 1)[1])
        self.url = f"sc://localhost:{self.port}"

    def read_log(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read()

    def is_alive(self):
        return self.process.poll() is None

    def memory_bytes(self):
        """Memory of the process that is its own."""
        if IS_SANITIZED:
            return 0
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
        return 0

    def thread_count(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def stop(self):
        """The exit status after SIGTERM."""
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "killed: it did not stop"
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return status


@contextlib.contextmanager
def serving(nilas, *arguments):
    server = Server(nilas, *arguments)
    try:
        yield server
    finally:
        status = server.stop()
    if status != 0:
        raise AssertionError(f"nilas connect ended with {status}")
