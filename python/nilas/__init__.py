"""nilas in Python: the program itself, and servers of it for tests and notebooks."""

import ctypes
import os
import secrets
import shutil
import signal
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


def end_with_parent():
    """In the child: a parent that is killed leaves no server behind (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))


class Server:
    """`nilas connect` as a child process: `with Server() as server: SparkSession.builder.remote(server.url)…`."""

    def __init__(self, confs=None, program_path=None):
        command = [program_path or program(), "connect", "--port", "0"]
        for key, value in (confs or {}).items():
            command += ["--conf", "%s=%s" % (key, value)]
        token = secrets.token_hex(16)  # other users of this machine have no business here
        environment = dict(os.environ, SPARK_CONNECT_AUTHENTICATE_TOKEN=token)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=end_with_parent)
        line = self.process.stdout.readline()
        address = [word for word in line.split() if word.startswith("sc://")]
        if not address:
            self.stop()
            raise RuntimeError("nilas connect did not start: %s" % (line.strip() or "see its messages above"))
        self.url = "%s/;token=%s" % (address[0], token)

    def stop(self):
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
