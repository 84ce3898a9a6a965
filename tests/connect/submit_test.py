#!/usr/bin/env python3
"""submit_test.py NILAS - unchanged PySpark programs by `nilas submit`; the shell as a client of another server; fixtures for pytest."""
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from server import serving

NILAS = os.path.realpath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = {**{key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "PYTHON", "VIRTUAL_ENV", "CONDA"))}, "TZ": "UTC"}
ENVIRONMENT["PYSPARK_PYTHON"] = sys.executable
folder = tempfile.mkdtemp(prefix="nilas-submit-")


def write(name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


def nilas(*arguments, environment=None, **options):
    return subprocess.run([NILAS, *arguments], cwd=folder, env=environment or ENVIRONMENT, capture_output=True, text=True, timeout=120, **options)


def equal(actual, expected):
    if actual != expected:
        raise AssertionError("%r, not %r" % (actual, expected))


def succeeded(run):
    if run.returncode != 0:
        raise AssertionError("exit status %d\n%s\n%s" % (run.returncode, run.stdout, run.stderr))
    return run.stdout


SESSION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
"""


def test_a_program_runs_as_under_python():
    write("helper.py", "def twice(x):\n    return 2 * x\n")
    program = write("job.py", """
import sys
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
import pyspark.sql.functions as F
from helper import twice

conf = SparkConf().setAppName("orders").setMaster("local[2]").setAll([("spark.sql.shuffle.partitions", "3"), ("spark.driver.memory", "1g")])
spark = SparkSession.builder.config(conf=conf).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
context = spark.sparkContext
print(sys.argv[1:], __name__, __file__, sys.modules["__main__"].conf is conf)
print(context.version, context.appName, isinstance(context, SparkContext), SparkContext.getOrCreate() is context)
print(spark.conf.get("spark.sql.shuffle.partitions"))
spark.range(3).withColumn("b", F.col("id") * twice(2)).show()
spark.range(1).createOrReplaceTempView("mine")
print(spark.newSession().catalog.tableExists("mine"), spark.catalog.tableExists("mine"))
try:
    context.parallelize([1])
except Exception as error:
    print(type(error).__name__, error.getCondition())
""")
    run = nilas("submit", program, "--day", "a b")
    equal(succeeded(run), """['--day', 'a b'] __main__ %s True
4.0.1 orders True True
3
+---+---+
| id|  b|
+---+---+
|  0|  0|
|  1|  4|
|  2|  8|
+---+---+

False True
PySparkAttributeError JVM_ATTRIBUTE_NOT_SUPPORTED
""" % program)
    equal(run.stderr, "")


def test_a_long_program_prints_what_it_prints_under_spark():
    here = os.path.dirname(os.path.abspath(__file__))
    scratch = os.path.join(folder, "program")
    os.makedirs(scratch)
    with open(os.path.join(here, "program.expected")) as file:
        expected = file.read().splitlines()
    actual = succeeded(nilas("submit", os.path.join(here, "program.py"), scratch)).splitlines()
    difference = list(difflib.unified_diff(expected, actual, "Spark", "nilas", lineterm="", n=1))
    if difference:
        raise AssertionError("\n".join(difference[:40]))


def test_static_settings_of_the_builder_count_once():
    program = write("static.py", """
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").enableHiveSupport().config("spark.jars.packages", "a:b:1").config("spark.sql.warehouse.dir", "/tmp/first")
spark = builder.getOrCreate()
spark.sql("SELECT 1").collect()
again = SparkSession.builder.config("spark.sql.warehouse.dir", "/tmp/second").config("spark.sql.ansi.enabled", "false").getOrCreate()
print(again is spark, spark.conf.get("spark.sql.warehouse.dir"), spark.sql("SELECT 1 / 0").first()[0])
""")
    run = nilas("submit", program)
    equal(succeeded(run), "True /tmp/first None\n")
    equal(run.stderr, "")


def test_settings_come_from_flags_and_files():
    write("conf/spark-defaults.conf", "spark.sql.session.timeZone  Asia/Tokyo\nspark.sql.ansi.enabled  false\n")
    program = write("confs.py", SESSION + """print(spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.ansi.enabled"), spark.sparkContext.appName)""")
    environment = dict(ENVIRONMENT, SPARK_CONF_DIR=os.path.join(folder, "conf"))
    equal(succeeded(nilas("submit", "--conf", "spark.sql.ansi.enabled=true", program, environment=environment)), "Asia/Tokyo true confs.py\n")
    equal(succeeded(nilas("submit", "--name", "n", "--master", "local[1]", "--driver-memory=2g", "--py-files", "x.zip", program)), "UTC true n\n")


def test_python_files_are_imported_from():
    write("lib/shared.py", "NAME = 'shared'\n")
    program = write("imports.py", "import shared\nprint(shared.NAME)\n")
    equal(succeeded(nilas("submit", "--py-files", os.path.join(folder, "lib", "shared.py"), program)), "shared\n")


def test_files_reach_functions():
    helper = write("shipped/helper_of_functions.py", "def answer():\n    return 42\n")
    data = write("shipped/data.txt", "shipped")
    shutil.make_archive(os.path.join(folder, "packed"), "zip", os.path.join(folder, "shipped"), "data.txt")
    program = write("with_files.py", SESSION + """
from pyspark import SparkFiles
from pyspark.sql.functions import udf

@udf("string")
def f(_):
    import helper_of_functions
    from pyspark import SparkFiles
    return f"{helper_of_functions.answer()} {open(SparkFiles.get('data.txt')).read()} {open(SparkFiles.get('box/data.txt')).read()}"

print(spark.range(1).select(f("id")).collect()[0][0], open(SparkFiles.get("data.txt")).read())
""")
    flags = ("--py-files", helper, "--files", data, "--archives", os.path.join(folder, "packed.zip") + "#box")
    equal(succeeded(nilas("submit", *flags, program)), "42 shipped shipped shipped\n")
    equal(succeeded(nilas("submit", "--conf", f"spark.files={data}", "--py-files", helper, *flags[4:], program)), "42 shipped shipped shipped\n")


def test_exit_statuses_are_the_programs():
    equal(nilas("submit", write("three.py", "import sys\nsys.exit(3)\n")).returncode, 3)
    equal(nilas("submit", write("killed.py", "import os\nos.kill(os.getpid(), 9)\n")).returncode, 137)
    run = nilas("submit", write("fails.py", SESSION + "def f():\n    spark.sql('SELECT nosuch').show()\n\nf()\n"))
    equal(run.returncode, 1)
    last = run.stderr.strip().splitlines()[-1]
    if not last.startswith("pyspark.errors.exceptions.connect.AnalysisException: [UNRESOLVED_COLUMN.WITHOUT_SUGGESTION]"):
        raise AssertionError(run.stderr)
    frames = re.findall(r'File "([^"]+)", line \d+, in (\S+)', run.stderr)
    equal(frames[:2], [(os.path.join(folder, "fails.py"), "<module>"), (os.path.join(folder, "fails.py"), "f")])


def test_mistakes_are_named():
    for arguments, words in ((["nowhere.py"], "nowhere.py"), ([], "which program?"), (["--class", "x", "job.jar"], "--class"), (["job.jar"], "runs Python programs"),
                             (["--conff", "a=b", "x.py"], "did you mean --conf")):
        run = nilas("submit", *arguments)
        if run.returncode != 2 or words not in run.stderr:
            raise AssertionError("%s: %d %s" % (arguments, run.returncode, run.stderr))
    run = nilas("submit", write("plain.py", "print(1)"), environment=dict(ENVIRONMENT, PYSPARK_PYTHON="/nowhere/python"))
    if run.returncode != 1 or "PYSPARK_PYTHON names the Python /nowhere/python" not in run.stderr:
        raise AssertionError(run.stderr)


def test_the_python_of_the_project_is_found():
    """`.venv` above the program, as uv and poetry make it; an activated one goes before."""
    for name in ("project/.venv", "active", "tools"):
        write(name + "/bin/python", "#!/bin/sh\necho %s\nexec %s \"$@\"\n" % (name, sys.executable))
        os.chmod(os.path.join(folder, name, "bin/python"), 0o755)
    program = write("project/jobs/p.py", "print('ran')\n")
    plain = {key: value for key, value in ENVIRONMENT.items() if key != "PYSPARK_PYTHON"}
    equal(succeeded(nilas("submit", program, environment=plain)), "project/.venv\nran\n")
    active = dict(plain, VIRTUAL_ENV=os.path.join(folder, "active"))
    equal(succeeded(nilas("submit", program, environment=active)), "active\nran\n")
    write("tools/pyvenv.cfg", "")
    tool = write("tools/bin/tool", "print('ran')\n")  # as dbt lies beside its own Python
    equal(succeeded(nilas("submit", tool, environment=active)), "tools\nran\n")


def start_waiting_program():
    """A program that says its pid and then runs a query without end; in a process group of its own, as a terminal has it."""
    program = write("waits.py", SESSION + """
import os
print(os.getpid(), flush=True)
try:
    spark.sql("SELECT count(*) FROM range(10000000000000) WHERE rand() < 0.5").collect()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
""")
    process = subprocess.Popen([NILAS, "submit", program], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    pid = int(process.stdout.readline())
    return process, pid


def wait_until_gone(pid):
    deadline = time.time() + 30
    while time.time() < deadline:
        try:
            with open("/proc/%d/stat" % pid) as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.02)
    raise AssertionError("process %d is still there" % pid)


def test_interrupts_reach_the_program():
    process, pid = start_waiting_program()
    time.sleep(0.3)  # into the query; earlier would be as right
    os.killpg(process.pid, signal.SIGINT)
    output = process.stdout.read()
    equal((process.wait(timeout=60), output.strip()), (130, "interrupted"))
    wait_until_gone(pid)


def test_terminating_ends_the_program():
    process, pid = start_waiting_program()
    process.terminate()
    equal(process.wait(timeout=60), 143)
    wait_until_gone(pid)
    process.stdout.close()


def test_a_killed_nilas_leaves_nothing():
    process, pid = start_waiting_program()
    process.kill()
    process.wait(timeout=60)
    wait_until_gone(pid)
    process.stdout.close()


def test_the_shell_is_a_client_of_another_server():
    statements = """CREATE TABLE local.db.r (id bigint, s string, t timestamp) USING iceberg;
        INSERT INTO local.db.r SELECT id, CAST(id AS string), timestamp'2026-01-01 00:00:00' FROM range(1000);
        SET spark.sql.session.timeZone=Asia/Tokyo;
        SELECT * FROM local.db.r ORDER BY id LIMIT 3;
        SELECT count(*), sum(id), array(1, 2), map('a', 1.50), NULL FROM local.db.r;
        SHOW TABLES IN local.db; DESCRIBE local.db.r; SELECT '${who}';
        SELECT * FROM range(30000) ORDER BY id DESC LIMIT 5; DROP TABLE local.db.r"""
    with serving(NILAS) as server:
        here = succeeded(nilas("sql", "-S", "-d", "who=me", "-e", statements))
        there = succeeded(nilas("sql", "-S", "--remote", server.url, "-d", "who=me", "-e", statements))
        equal(re.sub(r"[ \t]+\n", "\n", there), re.sub(r"[ \t]+\n", "\n", here))
        run = nilas("sql", "-S", "--remote", server.url, "-e", "SELECT 1 / 0")
        equal(run.returncode, 1)
        equal(run.stderr, nilas("sql", "-S", "-e", "SELECT 1 / 0").stderr)
        process = subprocess.Popen([NILAS, "sql", "-S", "--remote", server.url, "-e", "SELECT count(*) FROM range(10000000000000) WHERE rand() < 0.5"], cwd=folder, env=ENVIRONMENT,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)  # into the query; earlier would be as right
        process.send_signal(signal.SIGINT)
        equal((process.wait(timeout=60), process.stderr.read().split("]")[0]), (130, "[OPERATION_CANCELED"))
        process.stderr.close()
        equal(succeeded(nilas("sql", "-S", "--remote", server.url, "-e", "SELECT 1")), "1\n")  # it goes on
    for url, words in (("http://x", "must begin with sc://"), ("sc://localhost:1/a", "path must be empty"), ("sc://", "host is missing"), (server.url, "localhost:%d" % server.port)):
        run = nilas("sql", "--remote", url, "-e", "SELECT 1")
        if run.returncode != 1 or words not in run.stderr:
            raise AssertionError("%s: %d %s" % (url, run.returncode, run.stderr))


def test_a_token_is_asked_for():
    with serving(NILAS, "--token", "secret") as server:
        equal(nilas("sql", "--remote", server.url, "-e", "SELECT 1").returncode, 1)
        equal(succeeded(nilas("sql", "-S", "--remote", server.url + "/;token=secret", "-e", "SELECT 1")), "1\n")


def test_pytest_gives_each_test_a_warehouse():
    write("suite/test_orders.py", """
import pytest

@pytest.mark.parametrize("round", [1, 2])
def test_a_table_of_its_own(spark, round, tmp_path):
    spark.sql("CREATE TABLE local.db.orders (id bigint) USING iceberg")
    spark.range(round).writeTo("local.db.orders").append()
    assert spark.table("local.db.orders").count() == round
    assert (tmp_path / "warehouse" / "db" / "orders" / "metadata").is_dir()
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"

def test_nothing_is_left_of_others(spark):
    from pyspark.sql import functions as F
    assert spark.range(3).select(F.sum("id")).first()[0] == 3
    assert not spark.catalog.tableExists("local.db.orders")
""")
    write("suite/pytest.ini", "[pytest]\nnilas_confs =\n    spark.sql.session.timeZone=Asia/Tokyo\n")
    environment = dict(ENVIRONMENT, PYTHONPATH=os.path.join(ROOT, "python"), NILAS_PROGRAM=NILAS, PYTHONDONTWRITEBYTECODE="1")
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "nilas.pytest_plugin", "suite"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    if run.returncode != 0 or "3 passed" not in run.stdout:
        raise AssertionError(run.stdout + run.stderr)


def main():
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        began = time.monotonic()
        try:
            test()
            word = "ok"
        except Exception as error:  # the next tests still tell something
            failed += 1
            word = "FAILED"
            print("submit_test.py: %s: %s" % (name, error), file=sys.stderr)
        print("%-8s%5.2f s  %s" % (word, time.monotonic() - began, name[5:].replace("_", " ")), flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
