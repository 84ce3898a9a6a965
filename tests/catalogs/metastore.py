"""A Hive metastore on Derby, from the jars that come with PySpark: a process of its own on a free port.

    python3 tests/catalogs/metastore.py FOLDER PORT        for a person
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pyspark

# The tables of Hive's locks. The metastore makes its other ones by itself; these it makes only when it believes that it is
# being tested, and then it refuses what Java's HiveCatalog sends.
LOCK_TABLES = """CREATE TABLE TXNS (TXN_ID bigint PRIMARY KEY, TXN_STATE char(1) NOT NULL, TXN_STARTED bigint NOT NULL, TXN_LAST_HEARTBEAT bigint NOT NULL,
 TXN_USER varchar(128) NOT NULL, TXN_HOST varchar(128) NOT NULL);
CREATE TABLE TXN_COMPONENTS (TC_TXNID bigint REFERENCES TXNS (TXN_ID), TC_DATABASE varchar(128) NOT NULL, TC_TABLE varchar(128), TC_PARTITION varchar(767),
 TC_OPERATION_TYPE char(1) NOT NULL);
CREATE TABLE COMPLETED_TXN_COMPONENTS (CTC_TXNID bigint, CTC_DATABASE varchar(128) NOT NULL, CTC_TABLE varchar(128), CTC_PARTITION varchar(767));
CREATE TABLE NEXT_TXN_ID (NTXN_NEXT bigint NOT NULL);
INSERT INTO NEXT_TXN_ID VALUES (1);
CREATE TABLE HIVE_LOCKS (HL_LOCK_EXT_ID bigint NOT NULL, HL_LOCK_INT_ID bigint NOT NULL, HL_TXNID bigint, HL_DB varchar(128) NOT NULL, HL_TABLE varchar(128),
 HL_PARTITION varchar(767), HL_LOCK_STATE char(1) NOT NULL, HL_LOCK_TYPE char(1) NOT NULL, HL_LAST_HEARTBEAT bigint NOT NULL, HL_ACQUIRED_AT bigint,
 HL_USER varchar(128) NOT NULL, HL_HOST varchar(128) NOT NULL, HL_HEARTBEAT_COUNT integer, HL_AGENT_INFO varchar(128), HL_BLOCKEDBY_EXT_ID bigint,
 HL_BLOCKEDBY_INT_ID bigint, PRIMARY KEY (HL_LOCK_EXT_ID, HL_LOCK_INT_ID));
CREATE TABLE NEXT_LOCK_ID (NL_NEXT bigint NOT NULL);
INSERT INTO NEXT_LOCK_ID VALUES (1);
CREATE TABLE AUX_TABLE (MT_KEY1 varchar(128) NOT NULL, MT_KEY2 bigint NOT NULL, MT_COMMENT varchar(255), PRIMARY KEY (MT_KEY1, MT_KEY2));
"""
SETTINGS = {"datanucleus.schema.autoCreateAll": "true", "datanucleus.connectionPoolingType": "HikariCP", "hive.metastore.schema.verification": "false",
            "hive.async.log.enabled": "false", "hive.metastore.disallow.incompatible.col.type.changes": "false"}
TEMPLATE = os.environ.get("NILAS_METASTORE_TEMPLATE")
OPENED = ["java.base/java.net", "java.base/java.lang", "java.base/java.util"]


class Metastore:
    def __init__(self, folder, port=None):
        self.folder = os.path.abspath(folder)
        self.jars = os.path.join(os.path.dirname(pyspark.__file__), "jars", "*")
        self.warehouse = os.path.join(self.folder, "warehouse")
        self.database = f"jdbc:derby:;databaseName={self.folder}/metastore"
        if not port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
        self.port = int(port)
        self.uri = f"thrift://127.0.0.1:{self.port}"
        self.make()
        self.start()
        self.keep_template()

    def make(self):
        os.makedirs(self.warehouse, exist_ok=True)
        settings = {**SETTINGS, "javax.jdo.option.ConnectionURL": self.database, "hive.metastore.warehouse.dir": self.warehouse}
        rows = "".join(f"<property><name>{key}</name><value>{value}</value></property>\n" for key, value in settings.items())
        for name, text in (("hive-site.xml", f"<configuration>\n{rows}</configuration>\n"), ("locks.sql", f"CONNECT '{self.database};create=true';\n{LOCK_TABLES}"),
                           ("log4j2.properties", "rootLogger.level = warn\n")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        if os.path.exists(os.path.join(self.folder, "metastore")):
            return
        if TEMPLATE and os.path.exists(TEMPLATE):
            shutil.copytree(TEMPLATE, os.path.join(self.folder, "metastore"))
        else:
            subprocess.run(self.java("org.apache.derby.tools.ij", os.path.join(self.folder, "locks.sql")), check=True, capture_output=True, timeout=60)

    def keep_template(self):
        """The database with its tables made, for the next run: the metastore needs a quarter of a minute to make them."""
        if not TEMPLATE or os.path.exists(TEMPLATE):
            return
        self.stop()
        shutil.copytree(os.path.join(self.folder, "metastore"), f"{TEMPLATE}.{os.getpid()}")
        os.rename(f"{TEMPLATE}.{os.getpid()}", TEMPLATE)
        self.start()

    def java(self, main, *arguments):
        opened = [word for package in OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
        return ["java", "-Xmx400m", "-XX:TieredStopAtLevel=1", f"-Dderby.stream.error.file={self.folder}/derby.log", f"-Djava.io.tmpdir={self.folder}", *opened, "-cp",
                f"{self.folder}:{self.jars}", main, *arguments]

    def start(self):
        with open(os.path.join(self.folder, "metastore.log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.java("org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(self.port)), stdout=log, stderr=log)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"the Hive metastore does not start: {self.folder}/metastore.log")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=30)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()


def main():
    metastore = Metastore(sys.argv[1], sys.argv[2])
    print(metastore.uri, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        metastore.process.wait()
    finally:
        metastore.stop()


if __name__ == "__main__":
    main()
