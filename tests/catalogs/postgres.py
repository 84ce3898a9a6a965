"""A PostgreSQL server of our own: a new cluster in a temporary folder, on a free port of the loopback, stopped at the end."""
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name):
    return next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None) or shutil.which(name)


class Postgres:
    """PostgreSQL refuses to run as root: then its programs run as the first of these users that there is."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="nilas-postgres-")
        self.port = free_port()
        self.user = None
        if os.geteuid() == 0:
            self.user = next(name for name in ("postgres", "nobody") if any(entry.pw_name == name for entry in pwd.getpwall()))
            os.chown(self.path, pwd.getpwnam(self.user).pw_uid, -1)
        password = os.path.join(self.path, "password")
        with open(password, "w", encoding="utf-8") as out:
            out.write("postgres\n")
        os.chmod(password, 0o644)
        self.run("initdb", "-D", f"{self.path}/data", "-U", "postgres", "--auth=scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--locale=C")
        self.run("pg_ctl", "-D", f"{self.path}/data", "-l", f"{self.path}/log", "-w", "-o",
                 f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.path}", "start")

    def run(self, name, *arguments):
        command = [program(name), *arguments]
        done = subprocess.run(command, user=self.user, cwd=self.path, capture_output=True, text=True, check=False,
                              env={**os.environ, "HOME": self.path, "LC_ALL": "C"})
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")

    def sql(self, statement, database="postgres"):
        done = subprocess.run([program("psql"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", database, "-Atc", statement],
                              env={**os.environ, "PGPASSWORD": "postgres"}, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.path}/data", "-m", "immediate", "stop")
        shutil.rmtree(self.path, ignore_errors=True)
