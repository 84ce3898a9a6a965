#!/usr/bin/env python3
"""Asks real spark-sql what it does with the cases of spark_sql_cases.py and writes spark_sql.json.

    tests/shell/record_spark_sql.py SPARK_HOME ICEBERG_RUNTIME_JAR [NAME ...]

With names only these cases are asked again, without names those that have no record. A start of spark-sql costs some 20
seconds of processor time, so most cases run one after the other inside one JVM (SparkSqlHarness.java calls the same main
class and catches its exit); cases with an environment or an input of their own get a process of their own.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import spark_sql_cases
from spark_sql_runner import RECORDS, clean_folder, prepare, run, seen

LOGGING = """rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = LOG %p %c: %replace{%m}{[\\r\\n]+}{ }%n%ex{0}
"""
OPENS = ["lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent", "util.concurrent.atomic"]
MODULES = ["--add-modules=jdk.incubator.vector", *[f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENS],
           *[f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")],
           "-Djdk.reflect.useDirectMethodHandle=false", "-Dio.netty.tryReflectionSetAccessible=true"]


class Recorder:
    def __init__(self, spark_home, jar):
        self.spark_home, self.jar = spark_home, jar
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="shell-"))
        self.own = os.path.realpath(tempfile.mkdtemp(prefix="spark-"))
        with open(self.own + "/log4j2.properties", "w") as file:
            file.write(LOGGING)
        self.java = [f"-Dlog4j2.configurationFile=file:{self.own}/log4j2.properties", f"-Dderby.system.home={self.own}",
                     f"-Dderby.stream.error.file={self.own}/derby.log"]
        self.jvm = None

    def arguments(self, arguments):
        return ["--jars", self.jar, "--conf", "spark.ui.enabled=false", "--conf", f"spark.sql.warehouse.dir={self.own}/w",
                "--conf", "spark.sql.shuffle.partitions=1", *arguments]

    def stop_jvm(self):
        if self.jvm:
            self.jvm.stdin.close()
            self.jvm.wait(60)
        self.jvm = None

    def run_process(self, case, arguments, environment):
        self.stop_jvm()  # only one process may have the metastore open
        command = [self.spark_home + "/bin/spark-sql", "--driver-java-options", " ".join(self.java), *self.arguments(arguments)]
        environment = {**environment, "SPARK_HOME": self.spark_home, "SPARK_LOCAL_DIRS": self.own, "SPARK_LOCAL_IP": "127.0.0.1"}
        return run(command, self.folder, environment, case, 600)

    def start_jvm(self, environment):
        subprocess.run(["javac", "-nowarn", "-cp", self.spark_home + "/jars/*", "-d", self.own,
                        os.path.join(os.path.dirname(os.path.abspath(__file__)), "SparkSqlHarness.java")], check=True, stderr=subprocess.DEVNULL)
        environment = {**environment, "SPARK_HOME": self.spark_home, "SPARK_LOCAL_DIRS": self.own, "SPARK_LOCAL_IP": "127.0.0.1",
                       "SPARK_SCALA_VERSION": "2.13"}
        self.out, self.err = open(self.own + "/stdout", "wb+"), open(self.own + "/stderr", "wb+")
        self.jvm = subprocess.Popen(["java", "-XX:+IgnoreUnrecognizedVMOptions", "-Djava.security.manager=allow", "-Xmx2g", *MODULES, *self.java,
                                     "-cp", f"{self.own}:{self.spark_home}/jars/*", "SparkSqlHarness"],
                                    cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=self.out, stderr=self.err, text=True)

    def run_in_jvm(self, case, arguments, environment):
        if not self.jvm:
            self.start_jvm(environment)
        with open(self.own + "/args", "w") as file:
            file.write("\0".join(self.arguments(arguments)))
        with open(self.own + "/stdin", "w") as file:
            file.write(case.get("stdin", ""))
        marks = [os.path.getsize(self.own + "/" + name) for name in ("stdout", "stderr")]
        self.jvm.stdin.write(self.own + "\n")
        self.jvm.stdin.flush()
        texts = []
        for name, mark in zip(("stdout", "stderr"), marks):
            texts.append(self.answer(self.own + "/" + name, mark))
        return subprocess.CompletedProcess([], texts[0][1], texts[0][0], texts[1][0])

    def answer(self, path, mark):
        while True:
            with open(path, "rb") as file:
                file.seek(mark)
                text = file.read().decode()
            if "\x01END " in text and text.endswith("\n"):
                text, _, code = text.rpartition("\x01END ")
                return text, int(code)
            if self.jvm.poll() is not None:
                raise RuntimeError("the JVM died: " + text)
            time.sleep(0.1)


def needs_process(case):
    return "env" in case or "stdin" in case


def main():
    recorder, names = Recorder(sys.argv[1], sys.argv[2]), sys.argv[3:]
    records = json.load(open(RECORDS)) if os.path.exists(RECORDS) else {}
    try:
        for case in sorted(spark_sql_cases.CASES, key=needs_process):
            if names and case["name"] not in names or not names and case["name"] in records:
                continue
            clean_folder(recorder.folder)
            arguments, environment = prepare(case, recorder.folder)
            done = (recorder.run_process if needs_process(case) else recorder.run_in_jvm)(case, arguments, environment)
            records[case["name"]] = seen(done, recorder.folder)
            print(case["name"], done.returncode, flush=True)
            with open(RECORDS, "w") as file:
                json.dump(records, file, indent=1, ensure_ascii=False, sort_keys=True)
                file.write("\n")
    finally:
        recorder.stop_jvm()
        shutil.rmtree(recorder.folder)
        shutil.rmtree(recorder.own)


if __name__ == "__main__":
    main()
