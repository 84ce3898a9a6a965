"""What the crash and race runs share: nilas processes over one warehouse, and what the table's metadata names."""
import os
import pathlib
import shutil
import subprocess
import tempfile

HADOOP = "org.apache.iceberg.spark.SparkCatalog"


class Warehouse:
    def __init__(self, nilas):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.nilas = os.path.abspath(nilas)
        self.path = tempfile.mkdtemp(prefix="nilas-trust-", dir=base)

    def command(self, script):
        confs = {"spark.sql.catalog.lake": HADOOP, "spark.sql.catalog.lake.type": "hadoop", "spark.sql.catalog.lake.warehouse": self.path,
                 "spark.sql.session.timeZone": "UTC", "spark.sql.warehouse.dir": self.path}
        return [self.nilas, "sql", "-S"] + [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")] + ["-f", script]

    def script(self, statements):
        """A file of the statements, each followed by a line that acknowledges it: ack-0, ack-1 …"""
        handle, name = tempfile.mkstemp(suffix=".sql", dir=self.path)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            for number, statement in enumerate(statements):
                out.write(f"{statement};\nSELECT 'ack-{number}';\n")
        return name

    def queries(self, statements):
        """The rows of each statement as lists of texts, read by one process."""
        name = self.script(statements)
        done = subprocess.run(self.command(name), capture_output=True, text=True, timeout=300, check=False)
        os.unlink(name)
        results = [[]]
        for line in done.stdout.splitlines():
            if line == f"ack-{len(results) - 1}":
                results.append([])
            else:
                results[-1].append(line.split("\t"))
        if done.returncode != 0:
            raise AssertionError(f"{statements[len(results) - 1]}: {done.stderr}")
        return results[:-1]

    def query(self, sql):
        return self.queries([sql])[0]

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def named_files(self, table):
        """Path → length (None: not said) of everything that the table's metadata names."""
        named = {}
        for path, length in self.query(f"SELECT file_path, file_size_in_bytes FROM {table}.all_files"):
            named[path] = int(length)
        for path, length in self.query(f"SELECT path, length FROM {table}.all_manifests"):
            named[path] = int(length)
        for (path,) in self.query(f"SELECT manifest_list FROM {table}.snapshots"):
            named[path] = None
        for (path,) in self.query(f"SELECT file FROM {table}.metadata_log_entries"):
            named[path] = None
        return {local(path): length for path, length in named.items()}

    def check_files(self, table):
        for path, length in self.named_files(table).items():
            if not os.path.exists(path):
                raise AssertionError(f"{table} names {path}, which is not there")
            if length is not None and os.path.getsize(path) != length:
                raise AssertionError(f"{path} has {os.path.getsize(path)} bytes, the metadata says {length}")

    def files_of(self, table):
        folder = pathlib.Path(self.path, *table.split(".")[1:])
        return [str(path) for path in folder.rglob("*") if path.is_file()]


def local(path):
    return path[len("file:"):] if path.startswith("file:") else path
