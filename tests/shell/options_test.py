#!/usr/bin/env python3
"""What nilas has beside spark-sql's behaviour: --format, help, versions, subcommands, hints at slips of the finger.

    tests/shell/options_test.py NILAS
"""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NILAS = os.path.realpath(sys.argv[1])
ROWS = "SELECT * FROM VALUES (1, 'a,b', X'41'), (NULL, 'say \"x\"', NULL), (30, '', X'') AS t(id, `the text`, b)"

# arguments, exit status, standard output, parts of standard error (None: not looked at)
CASES = [
    (["sql", "-S", "--format", "table", "-e", ROWS], 0, """\
+----+--------+----+
|  id|the text|   b|
+----+--------+----+
|   1|     a,b|[41]|
|NULL| say "x"|NULL|
|  30|        |  []|
+----+--------+----+
""", []),
    (["sql", "-S", "--format", "csv", "-e", ROWS], 0, 'id,the text,b\n1,"a,b",[41]\n,"say ""x""",\n30,"",[]\n', []),
    (["sql", "-S", "--format", "json", "-e", ROWS], 0, """\
{"id":1,"the text":"a,b","b":"[41]"}
{"id":null,"the text":"say \\"x\\"","b":null}
{"id":30,"the text":"","b":"[]"}
""", []),
    (["sql", "-S", "--format", "json", "-e", "SELECT array(1, NULL) a, map('k', 1.50) m, named_struct('x', 'y', 'z', cast('NaN' AS double)) s, DATE '2024-01-02' d, true t, 1e100 e"], 0,
     '{"a":[1,null],"m":{"k":1.50},"s":{"x":"y","z":"NaN"},"d":"2024-01-02","t":true,"e":1.0E100}\n', []),
    (["sql", "-S", "--format", "markdown", "-e", "SELECT 1 AS id, 'a|b' AS t"], 0, "|  id |   t |\n| --: | --: |\n|   1 | a\\|b |\n", []),
    (["sql", "-S", "--format", "vertical", "-e", "SELECT 1 AS id, 'x\ny' AS `long name`"], 0, "-RECORD 0-----\n id        | 1\n long name | x\\ny\n", []),
    (["sql", "-S", "--format", "table", "-e", "SELECT 1 AS a WHERE false"], 0, "+---+\n|  a|\n+---+\n+---+\n", []),
    (["sql", "-S", "--format", "csv", "-e", "SELECT 1 AS a WHERE false"], 0, "a\n", []),
    (["sql", "-S", "--format", "table", "-e", "SELECT '漢字' AS a, '😀' AS b, 'x\ty' AS c"], 0, "+----+---+----+\n|   a|  b|   c|\n+----+---+----+\n|漢字| 😀|x\\ty|\n+----+---+----+\n", []),
    (["sql", "--format", "html", "-e", "SELECT 1"], 2, "", ["--format is one of table, csv, json, markdown, vertical"]),
    # slips of the finger
    (["sql", "-S", "--conf", "spark.sql.ansi.enable=false", "-e", "SELECT 1"], 0, "1\n", []),
    (["sql", "--conf", "spark.sql.ansi.enable=false", "-e", "SELECT 1"], 0, "1\n", ["unknown configuration key spark.sql.ansi.enable", "did you mean spark.sql.ansi.enabled?"]),
    (["sql", "--conf", "spark.sql.catalog.c=org.apache.iceberg.spark.SparkCatalogue", "-e", "SELECT * FROM c.d.t"], 1, "", ["org.apache.iceberg.spark.SparkCatalogue", "org.apache.iceberg.spark.SparkCatalog"]),
    (["sql", "--conf", "spark.sql.catalog.c=org.apache.iceberg.spark.SparkCatalog", "--conf", "spark.sql.catalog.c.type=hadop", "-e", "SHOW NAMESPACES IN c"], 1, "", ["hadop", "hadoop"]),
    (["sql", "--conf", "spark.sql.catalog.c=org.apache.iceberg.spark.SparkCatalog", "--conf", "spark.sql.catalog.c.type=hadoop", "--conf", "spark.sql.catalog.c.warehous=/tmp/x", "-e", "SELECT 1"],
     0, "1\n", ["spark.sql.catalog.c.warehous", "did you mean spark.sql.catalog.c.warehouse?"]),
    (["sql", "--conf", "spark.sql.legacy.allowHashOnMapType=true", "-e", "SELECT 1"], 0, "1\n", ["does not know the configuration key spark.sql.legacy.allowHashOnMapType"]),
    (["sql", "--fromat", "csv", "-e", "SELECT 1"], 2, "", ["unknown option --fromat", "did you mean --format?"]),
    (["sql", "--conf", "spark.sql.ansi.enabled=maybe", "-e", "SELECT 1"], 1, "", ["spark.sql.ansi.enabled should be boolean, but was maybe"]),
    # subcommands
    (["version"], 0, "nilas 0.1.0\n", []),
    (["--version"], 0, "nilas 0.1.0\n", []),
    (["sql", "--version"], 0, "nilas 0.1.0\n", []),
    (["sqll"], 2, "", ["unknown command sqll", "did you mean sql?"]),
    (["frobnicate"], 2, "", ["unknown command frobnicate", "nilas help"]),
    (["version", "extra"], 2, "", ["extra"]),
]


def run(arguments, stdin=""):
    environment = {"PATH": os.environ["PATH"], "HOME": os.getcwd(), "TZ": "UTC", "LC_ALL": "C"}
    environment |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if key in os.environ}
    return subprocess.run([NILAS, *arguments], env=environment, input=stdin, text=True, capture_output=True, timeout=60, encoding="utf-8")


def main():
    failures = 0

    def check(is_right, arguments, what):
        nonlocal failures
        if not is_right:
            failures += 1
            print(f"nilas {' '.join(arguments)}\n    {what}")

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for arguments, status, output, told in CASES:
            done = run(arguments)
            check(done.returncode == status, arguments, f"exit status {done.returncode} instead of {status}: {done.stderr!r}")
            check(done.stdout == output, arguments, f"printed {done.stdout!r} instead of {output!r}")
            for text in told:
                check(text in done.stderr, arguments, f"{text!r} is not in {done.stderr!r}")
        for arguments, words in ((["help"], ["sql", "version", "help"]), (["--help"], ["sql"]), ([], ["sql"]),
                                 (["sql", "--help"], ["-e", "-f", "--format", "--conf", "Exit status"]), (["sql", "-H"], ["--database"]),
                                 (["help", "sql"], ["--format"])):
            done = run(arguments)
            check(done.returncode == 0, arguments, f"exit status {done.returncode}")
            for word in words:
                check(word in done.stdout, arguments, f"{word!r} is missing in {done.stdout!r}")
        # A reader that goes away early ends the program quietly, and soon.
        pipe = subprocess.Popen([NILAS, "sql", "-S", "-e", "SELECT id FROM range(100000000000)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pipe.stdout.readline()
        pipe.stdout.close()
        told = pipe.stderr.read().decode()
        check(pipe.wait(30) in (0, 1, 141) and "rror" not in told, ["sql", "…", "| head -1"], f"status {pipe.returncode}, {told!r}")
        # Statements of standard input are answered as they come.
        talk = subprocess.Popen([NILAS, "sql", "-S"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(3):
            talk.stdin.write(f"SELECT {number}\n  + 1;\nSELECT 'rest ")
            talk.stdin.flush()
            check(talk.stdout.readline() == f"{number + 1}\n", ["sql", "(a pipe)"], "no answer before the end of input")
            talk.stdin.write("of it';")
            talk.stdin.flush()
            check(talk.stdout.readline() == "rest of it\n", ["sql", "(a pipe)"], "a statement in two parts is lost")
        output, _ = talk.communicate("SELECT 'last'", timeout=30)
        check(output == "last\n" and talk.returncode == 0, ["sql", "(a pipe)"], f"status {talk.returncode}, {output!r}")
        # What a full disk does not take is an error.
        with open("/dev/full", "w") as full:
            done = subprocess.run([NILAS, "sql", "-S", "-e", "SELECT 1"], stdout=full, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 1 and "No space left" in done.stderr, ["sql", "…", "> /dev/full"], f"status {done.returncode}, {done.stderr!r}")
        # A failure tells its cause, a zero byte does not cut it, and a folder is no script.
        with open("bad.csv", "w") as out:
            out.write("a,b\n1,x\n")
        with open("zero.sql", "w") as out:
            out.write("SELECT 1\0 + 2")
        for arguments, words in ((["-e", "CREATE TEMPORARY VIEW v (a INT, b STRING) USING csv OPTIONS (path 'bad.csv', mode 'FAILFAST'); SELECT * FROM v"],
                                  ["[FAILED_READ_FILE.NO_HINT]", "Caused by: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION]", "parsing: a,b."]),
                                 (["-f", "zero.sql"], ["[PARSE_SYNTAX_ERROR] Syntax error at or near", "SELECT 1\u2400 + 2\n--------^^^"]),
                                 (["-f", "."], [". is a folder; -f wants a file of SQL statements"])):
            done = run(["sql", *arguments])
            check(done.returncode == 1, arguments, f"exit status {done.returncode}")
            for text in words:
                check(text in done.stderr, arguments, f"{text!r} is not in {done.stderr!r}")
        # A table whose folder was moved says so, whatever looks at its files; through its old path it is read as ever.
        run(["sql", "-S", "-e", "CREATE NAMESPACE old; CREATE TABLE old.t USING iceberg AS SELECT 1 AS a"])
        os.rename("warehouse", "moved")
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        catalog = [part for key, value in (("", "org.apache.iceberg.spark.SparkCatalog"), (".type", "hadoop"), (".warehouse", f"{folder}/moved")) for part in ("--conf", f"spark.sql.catalog.m{key}={value}")]
        for statement in ("SELECT * FROM m.old.t", "INSERT INTO m.old.t VALUES (2)", "DELETE FROM m.old.t WHERE a = 1", "SELECT * FROM m.old.t.files"):
            done = run(["sql", "-S", *catalog, "-e", statement])
            check(done.returncode == 1 and "a table does not move with its folder: move it back" in done.stderr and "Caused by: [PATH_NOT_FOUND]" in done.stderr, [statement], done.stderr)
        left = glob.glob(f"{folder}/warehouse/**/*.*", recursive=True)
        check(not left, ["INSERT", "(moved)"], f"files are left: {left}")
        shutil.rmtree(f"{folder}/warehouse", ignore_errors=True)
        os.symlink(f"{folder}/moved", f"{folder}/warehouse")
        done = run(["sql", "-S", *catalog, "-e", "SELECT * FROM m.old.t"])
        check(done.stdout == "1\n", ["SELECT", "(moved, and linked)"], f"{done.stdout!r} {done.stderr!r}")
        os.chdir(folder)
        os.remove("warehouse")
        os.rename("moved", "warehouse")
        # Signals cancel the statement of a script, which takes its files away and ends with 128 and the signal's number.
        made = subprocess.run([NILAS, "sql", "-S", "-e", "CREATE NAMESPACE db; CREATE TABLE db.t (id BIGINT, u STRING) USING iceberg PARTITIONED BY (bucket(4, id))"])
        check(made.returncode == 0, ["sql", "CREATE TABLE"], "no table")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([NILAS, "sql", "-S", "-e", "INSERT INTO db.t SELECT id, uuid() FROM range(1000000000); SELECT 2"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            end = time.time() + 30
            while time.time() < end and not glob.glob("warehouse/db/t/data/**/*.parquet", recursive=True):
                time.sleep(0.01)
            process.send_signal(number)
            output, told = process.communicate(timeout=30)
            check(process.returncode == 128 + number and output == "" and "OPERATION_CANCELED" in told, ["sql", number.name], f"status {process.returncode}, {output!r}, {told!r}")
            left = glob.glob("warehouse/db/t/data/**/*.parquet", recursive=True)
            check(not left, ["sql", number.name], f"files are left: {left}")
        os.chdir("/")
    print("options: " + (f"{failures} failures" if failures else "all as documented"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
