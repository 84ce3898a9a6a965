"""nilas in Python: the program itself, and servers of it for tests and notebooks."""

import os
import shutil
import subprocess
import sys

__all__ = ["Server", "main", "program"]


def program():
    """The path of the `nilas` program: $NILAS_PROGRAM, the one that this package brings, or that of $PATH."""
    named = os.environ.get("NILAS_PROGRAM")
    bundled = os.path.join(os.path.dirname(__file__), "bin", "nilas")
    found = named or (bundled if os.access(bundled, os.X_OK) else shutil.which("nilas"))
    if not found:
        raise FileNotFoundError("the nilas program is neither in this package nor on $PATH; $NILAS_PROGRAM can name it")
    return found


def main():
    """The console script: becomes the program."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


class Server:
    """`nilas connect` as a child process: `with Server() as server: SparkSession.builder.remote(server.url)…`."""

    def __init__(self, confs=None, program_path=None):
        # The server ends when this pipe does: it outlives no parent, however that ends.
        command = [program_path or program(), "connect", "--port", "0", "--until-closed"]
        for key, value in (confs or {}).items():
            command += ["--conf", "%s=%s" % (key, value)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        if not line.startswith("sc://"):
            self.stop()
            raise RuntimeError("nilas connect did not start: %s" % (line or "see its messages above"))
        self.url = line

    def stop(self):
        if self.process.stdin:
            self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
