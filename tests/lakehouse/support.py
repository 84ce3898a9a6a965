"""A `nilas up` of its own for each test: free ports, a data folder and AWS configuration below a temporary folder."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NILAS = os.path.realpath(sys.argv[1]) if len(sys.argv) > 1 else "build/debug/nilas"
failures = 0


def free_ports(names):
    """A port for each name; held together, so that none is given twice."""
    probes = [socket.socket() for _ in names]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = {name: probe.getsockname()[1] for name, probe in zip(names, probes)}
    for probe in probes:
        probe.close()
    return ports


def services():
    """The names that this nilas knows."""
    text = subprocess.run([NILAS, "up", "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+) +:\d+", text, re.M)


class Lakehouse:
    """with Lakehouse() as lake: lake.url("s3"), lake.client("s3") …; arguments go to `nilas up`."""

    def __init__(self, *arguments, folder=None, names=(), environment=None, ports=None):
        self.folder = folder or tempfile.mkdtemp(prefix="nilas-lakehouse-")
        self.is_own_folder = folder is None
        self.names = list(names)
        self.ports = ports or free_ports(services())
        self.arguments = list(arguments)
        self.environment = dict(os.environ, HOME=self.folder, AWS_CONFIG_FILE=self.folder + "/aws/config", AWS_SHARED_CREDENTIALS_FILE=self.folder + "/aws/credentials",
                                NILAS_DATA=self.folder + "/data", AWS_EC2_METADATA_DISABLED="true", **(environment or {}))
        for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
            self.environment.pop(name, None)
        self.process = None

    def command(self, *arguments):
        return subprocess.run([NILAS, *arguments], capture_output=True, text=True, env=self.environment, timeout=60)

    def start(self):
        """Returns when everything answers."""
        flags = [flag for name, port in self.ports.items() for flag in ("--port", f"{name}={port}")]
        self.log_path = self.folder + "/stderr"
        self.log = open(self.log_path, "ab")
        self.started = time.time()
        self.process = subprocess.Popen([NILAS, "up", *self.names, *flags, *self.arguments], stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.environment)
        self.said = ""
        while True:
            line = self.process.stdout.readline()
            self.said += line
            if "Ctrl-C stops it" in line:
                self.ready_seconds = time.time() - self.started
                return self
            if not line:
                self.process.wait()
                raise RuntimeError(f"nilas up ended with {self.process.returncode}: {self.stderr()}")

    def stderr(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(30)
        code = self.process.returncode if self.process else None
        self.process = None
        return code

    def url(self, name):
        return f"http://localhost:{self.ports[name]}"

    def session(self, profile="nilas"):
        """boto3 with the profile that was written; a fresh one, since botocore keeps what it has read."""
        import boto3
        import botocore.session
        os.environ["AWS_CONFIG_FILE"] = self.environment["AWS_CONFIG_FILE"]
        os.environ["AWS_SHARED_CREDENTIALS_FILE"] = self.environment["AWS_SHARED_CREDENTIALS_FILE"]
        return boto3.Session(profile_name=profile, botocore_session=botocore.session.Session(profile=profile))

    def client(self, name, **options):
        return self.session().client(name, **options)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        self.stop()
        if kind is not None:
            sys.stderr.write(self.stderr())
        if self.is_own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def check(condition, text):
    """Counts and tells a failure."""
    global failures
    if condition:
        return True
    failures += 1
    frame = sys._getframe(1)
    print(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}: {text}", flush=True)
    return False


def equal(actual, expected, text=""):
    return check(actual == expected, f"{text}\n    is        {actual!r}\n    should be {expected!r}")


def run_tests(module):
    """Runs every test_… function of the module; exits with 1 when something failed."""
    wanted = sys.argv[2:]
    for name, function in list(vars(module).items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        before = failures
        begun = time.time()
        try:
            function()
        except Exception as problem:  # pylint: disable=broad-except
            import traceback
            traceback.print_exc()
            check(False, f"{name}: {problem}")
        print(f"{'ok    ' if failures == before else 'FAILED'} {time.time() - begun:6.2f} s  {name[5:].replace('_', ' ')}", flush=True)
    sys.exit(1 if failures else 0)
