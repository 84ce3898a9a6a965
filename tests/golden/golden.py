"""Spark's own SQL tests (golden files) on nilas: what passes, file by file.

    python3 tests/golden/golden.py [--runner PROGRAM] [--check | --record] [--failures] [FILE ...]

FILE: "union.sql" and so on; all of passes.txt when none is named. --check fails when a file passes fewer statements than
passes.txt says, when a statement that is not strict is not listed in docs/differences.md, or when one that is listed
there passes; --record writes passes.txt anew, --failures prints what differs. The files come from the Maven artifact
org.apache.spark:spark-sql_2.13:4.0.1:tests, whose path is in NILAS_SPARK_SQL_TESTS.

Strict: schema and rows are Spark's (sorted where the query has no ORDER BY of its own), or condition and SQLSTATE of the
error are. Loose: the same rows whatever their names and types, or any error where one is expected. Parameters: of the
strict errors, those whose message parameters are Spark's, too.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PASSES = HERE / "passes.txt"
DIFFERENCES = HERE.parent.parent / "docs/differences.md"
STATEMENT_SECONDS = 60

# Statements that need classes of Spark's test build, or functions that its suite registers.
NEEDS_SPARK_CLASSES = {
    "describe.sql": {2, 30, 57},
    "identifier-clause.sql": {71, 72, 75, 76},
    "listagg-collations.sql": {6, 7},
    "interval.sql": {72},
    "nonansi/interval.sql": {72},
    "collations.sql": {113, 122, 131, 147, 156, 164, 173, 182, 226, 237, 240, 243, 246, 258, 266, 277, 284, 293, 302, 311},
    "pipe-operators.sql": set(range(271, 283)),
    "postgreSQL/boolean.sql": {47, 58},
    "postgreSQL/case.sql": {32},
}

ONEK = ("unique1 INT, unique2 INT, two INT, four INT, ten INT, twenty INT, hundred INT, thousand INT, twothousand INT, "
        "fivethous INT, tenthous INT, odd INT, even INT, stringu1 STRING, stringu2 STRING, string4 STRING")


def map_of(count, letter):
    return "map(" + ", ".join(f"{i}, '{name}{letter}'" for i, name in zip(range(1, count + 1), "abcde")) + ")"


def from_csv(name, columns, path):
    return [f"CREATE TABLE {name}_text ({columns}) USING csv OPTIONS (path '{path}', delimiter '\t', header 'false')",
            f"CREATE TABLE {name} USING parquet AS SELECT * FROM {name}_text", f"DROP TABLE {name}_text"]


def test_tables(data):
    """The tables that Spark's suite makes before it begins."""
    return {
        "testdata": ["CREATE TABLE testdata USING parquet AS SELECT CAST(id AS INT) AS key, CAST(id AS STRING) AS value FROM range(1, 101)"],
        "arraydata": ["CREATE TABLE arraydata USING parquet AS SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))), "
                      "(array(2, 3, 4), array(array(2, 3, 4))) AS t(arraycol, nestedarraycol)"],
        "mapdata": ["CREATE TABLE mapdata USING parquet AS SELECT * FROM VALUES " +
                    ", ".join(f"({map_of(6 - n, n)})" for n in range(1, 6)) + " AS t(mapcol)"],
        "aggtest": from_csv("aggtest", "a INT, b FLOAT", data / "postgresql/agg.data"),
        "onek": from_csv("onek", ONEK, data / "postgresql/onek.data"),
        "tenk1": from_csv("tenk1", ONEK, data / "postgresql/tenk.data"),
    }


class Statement:
    def __init__(self, number, sql, schema, output):
        self.number, self.sql, self.schema, self.output = number, sql, schema, output
        lines = output.split("\n")
        self.exception = bool(re.fullmatch(r"[a-z]+(\.[\w$]+)+(Exception|Error)", lines[0])) and schema in ("struct<>", "")
        self.error = None
        if self.exception and len(lines) > 1 and lines[1] == "{":
            self.error = json.loads("\n".join(lines[1:]))

    @property
    def is_explain(self):
        return re.match(r"(?is)\s*(--[^\n]*\n|/\*.*?\*/|\s)*explain\b", self.sql) is not None


def read_statements(text):
    parts = re.split(r"^-- !query\n", text, flags=re.M)[1:]
    statements = []
    for number, part in enumerate(parts):
        sql, rest = part.split("\n-- !query schema\n", 1)
        schema, _, output = rest.partition("\n-- !query output\n")
        statements.append(Statement(number, sql, schema.strip("\n"), output.rstrip()))
    return statements


def confs_of(name, text):
    confs = {
        "spark.sql.defaultCatalog": "spark_catalog",
        "spark.sql.session.timeZone": "America/Los_Angeles",
        "spark.sql.ansi.enabled": "false" if name.startswith("nonansi/") else "true",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.sources.default": "parquet",
    }
    if name.startswith("timestampNTZ/"):
        confs["spark.sql.timestampType"] = "TIMESTAMP_NTZ"
    if name.startswith("postgreSQL/"):
        confs["spark.sql.legacy.interval.enabled"] = "true"
    for line in re.findall(r"^--SET (.*)$", text, flags=re.M):
        for setting in line.split(","):
            key, _, value = setting.partition("=")
            confs[key.strip()] = value.strip()
    return confs


class Session:
    """One golden_runner."""

    def __init__(self, program, confs, folder):
        confs = dict(confs, **{"spark.sql.warehouse.dir": folder})
        self.process = subprocess.Popen([program] + [f"{key}={value}" for key, value in confs.items()],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def read(self, count):
        data = b""
        while len(data) < count:
            if not select.select([self.process.stdout], [], [], STATEMENT_SECONDS)[0]:
                raise TimeoutError
            more = os.read(self.process.stdout.fileno(), count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def run(self, sql):
        """("ok", text) or ("error", text)"""
        content = sql.encode()
        self.process.stdin.write(b"%d\n%s" % (len(content), content))
        self.process.stdin.flush()
        head = b""
        while not head.endswith(b"\n"):
            head += self.read(1)
        kind, count = head.split()
        return kind.decode(), self.read(int(count)).decode(errors="replace")

    def close(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


NOT_COMPARED = re.compile(r"^(Created By|Created Time|Last Access|Owner|Partition Statistics|Location)\b.*$", re.M)


NOT_COMPARED_JSON = re.compile(r'"(location|created_time|last_access|created_by|transient_lastDdlTime)( \[not included in comparison\])?":"[^"]*"')


def comparable(text):
    text = NOT_COMPARED.sub(r"\1", text)
    text = NOT_COMPARED_JSON.sub(r'"\1":""', text)
    text = re.sub(r"#\d+", "#x", text)
    return re.sub(r"[ \t]+$", "", text, flags=re.M)  # the files end with their last row's blanks cut off


def same_cell(wanted, got):
    if wanted == got:
        return True
    try:
        a, b = float(wanted), float(got)
    except ValueError:
        return False
    return ("." in wanted or "E" in wanted) and math.isclose(a, b, rel_tol=1e-14)


def same_lines(wanted, got):
    if wanted == got:
        return True
    if len(wanted) != len(got):
        return False
    for left, right in zip(wanted, got):
        if left == right:
            continue
        cells, others = left.split("\t"), right.split("\t")
        if len(cells) != len(others) or not all(same_cell(a, b) for a, b in zip(cells, others)):
            return False
    return True


def has_own_order(sql):
    """ORDER BY outside all brackets, or output whose order is part of the statement: Spark sorts that of other SHOWs."""
    text = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", " ", sql, flags=re.S)
    if re.match(r"(?is)\s*(desc|describe|show\s+(create|table\s))\b", text):
        return True
    while True:
        shorter = re.sub(r"\([^()]*\)", " ", text)
        if shorter == text:
            break
        text = shorter
    return re.search(r"(?i)\border\s+by\b", text) is not None


def same_rows(statement, text):
    wanted, got = comparable(statement.output), comparable(text.removesuffix("\n"))
    if same_lines(wanted.rstrip().split("\n"), got.rstrip().split("\n")):
        return True
    # Empty rows come first in the sorted files, and anywhere in the answer; rows of SHOW TABLE EXTENDED end with empty lines.
    if re.match(r"(?is)\s*show\s+table\s+extended\b", statement.sql):
        tables = [sorted(re.split(r"\n\n+", text.rstrip())) for text in (wanted, got)]
        return tables[0] == tables[1]
    return not has_own_order(statement.sql) and same_lines(sorted(wanted.split("\n")), sorted(got.split("\n")))


def normal(parameters):
    return {key: re.sub(r"\s+", " ", comparable(str(value))) for key, value in parameters.items()}


def judge(statement, kind, text):
    """(strict, loose, parameters) of what nilas answered; parameters None: no error with parameters."""
    if kind == "crash":
        return False, False, None
    if statement.exception:
        if kind != "error":
            return False, False, None
        error = json.loads(text)
        if not statement.error:
            return error["condition"].startswith("NILAS_") or error["condition"].startswith("_LEGACY"), True, None
        strict = error["condition"] == statement.error.get("errorClass") and error["sqlState"] == statement.error.get("sqlState", error["sqlState"])
        return strict, True, strict and normal(error["messageParameters"]) == normal(statement.error.get("messageParameters", {}))
    if kind != "ok":
        return False, False, None
    head = statement.schema + "\n"  # titles may hold line ends
    schema, rows = (statement.schema, text[len(head):]) if text.startswith(head) else text.split("\n", 1)
    loose = same_rows(statement, rows)
    return loose and schema == statement.schema, loose, None


class Report:
    def __init__(self, name):
        self.name = name
        self.counted = self.strict = self.loose = self.errors = self.parameters = self.crashes = 0
        self.failures = []

    def add(self, statement, kind, text, numbers):
        strict, loose, parameters = numbers
        self.counted += 1
        self.strict += strict
        self.loose += loose
        self.crashes += kind == "crash"
        if parameters is not None:
            self.errors += 1
            self.parameters += parameters
        if not strict or parameters is False:
            self.failures.append((statement, kind, text, strict))


def run_file(program, root, name):
    report = Report(name)
    source = (root / "sql-tests/inputs" / name).read_bytes().decode()
    statements = read_statements((root / "sql-tests/results" / (name + ".out")).read_bytes().decode())
    everything = "\n".join(statement.sql for statement in statements).lower()
    left_out = NEEDS_SPARK_CLASSES.get(name, set())
    with tempfile.TemporaryDirectory(prefix="nilas-golden-") as folder:
        def start():
            session = Session(program, confs_of(name, source), folder)
            for table, commands in test_tables(root / "test-data").items():
                if re.search(rf"\b{table}\b", everything):
                    for command in commands:
                        kind, text = session.run(command)
                        if kind != "ok":
                            raise SystemExit(f"golden: {command}: {text}")
            return session

        session = start()
        for statement in statements:
            try:
                kind, text = session.run(statement.sql)
            except (EOFError, TimeoutError, BrokenPipeError) as reason:
                kind, text = "crash", "no answer in time" if isinstance(reason, TimeoutError) else "the program ended"
                session.close()
                for entry in pathlib.Path(folder).iterdir():
                    subprocess.run(["rm", "-rf", str(entry)], check=True)
                session = start()
            if not statement.is_explain and statement.number not in left_out:
                report.add(statement, kind, text, judge(statement, kind, text))
        session.close()
    return report


def print_failures(report):
    for statement, kind, text, strict in report.failures:
        print(f"---- {report.name} #{statement.number}{' (parameters)' if strict else ''}\n{statement.sql}")
        print(f"-- wanted {statement.schema}\n{statement.output}\n-- got {kind}\n{text.rstrip()}\n")


def read_listed():
    """The statements that docs/differences.md tells about, in the first cells of its tables: {file: {number: differs always}}."""
    listed = {}
    for line in DIFFERENCES.read_text().splitlines():
        row = re.match(r"\| `([\w/.-]+\.sql)` #(\d+)( at times)? \|", line)
        if row:
            listed.setdefault(row[1], {})[int(row[2])] = not row[3]
    return listed


def compare_with_list(reports):
    """What is wrong with docs/differences.md: statements that it lacks, and those that it lists in vain."""
    listed, wrong = read_listed(), []
    for report in reports:
        differ = {statement.number for statement, _, _, strict in report.failures if not strict}
        known = listed.get(report.name, {})
        wrong += [f"{report.name} #{number} differs, and docs/differences.md does not say so" for number in sorted(differ - set(known))]
        wrong += [f"{report.name} #{number} passes, and docs/differences.md says that it differs"
                  for number, is_always in sorted(known.items()) if is_always and number not in differ]
    return wrong


def read_passes():
    rows = {}
    for line in PASSES.read_text().splitlines():
        if line and not line.startswith("#"):
            name, *numbers = line.split()
            rows[name] = [int(number) for number in numbers]
    return rows


HEADING = "# file, and of its statements: counted, strict, loose, errors that have parameters, parameters equal\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runner", default="build/debug/unit/golden_runner")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    passes = read_passes()
    jar = os.environ.get("NILAS_SPARK_SQL_TESTS")
    if not jar:
        raise SystemExit("golden: NILAS_SPARK_SQL_TESTS must name spark-sql_2.13-4.0.1-tests.jar; make golden fetches it")
    program = os.path.abspath(options.runner)
    with tempfile.TemporaryDirectory(prefix="nilas-golden-files-") as folder:
        with zipfile.ZipFile(jar) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith(("sql-tests/", "test-data/postgresql/"))])
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            reports = list(pool.map(lambda name: run_file(program, pathlib.Path(folder), name), options.files or sorted(passes)))
    fallen = []
    for report in reports:
        row = [report.counted, report.strict, report.loose, report.errors, report.parameters]
        print(f"{report.name:60} {row[1]:5} of {row[0]:5} strict {row[2]:5} loose {row[4]:5} of {row[3]:5} parameters"
              + (f"  {report.crashes} crashes" if report.crashes else ""))
        before = passes.get(report.name)
        if report.crashes or (before and (row[1] < before[1] or row[2] < before[2] or row[4] < before[4])):
            fallen.append(f"{report.name}: {row} after {before}" + (f", {report.crashes} crashes" if report.crashes else ""))
        passes[report.name] = row
        if options.failures:
            print_failures(report)
    total = [sum(column) for column in zip(*([r.counted, r.strict, r.loose, r.errors, r.parameters] for r in reports))]
    print(f"{'all':60} {total[1]:5} of {total[0]:5} strict ({100 * total[1] / max(1, total[0]):.1f} %) {total[2]:5} loose"
          f" ({100 * total[2] / max(1, total[0]):.1f} %) {total[4]:5} of {total[3]:5} parameters")
    if options.record:
        PASSES.write_text(HEADING + "".join(f"{name} {' '.join(map(str, row))}\n" for name, row in sorted(passes.items())))
    if options.check and fallen:
        sys.exit("golden: fewer pass than before (passes.txt):\n" + "\n".join(fallen))
    wrong = compare_with_list(reports) if options.check else []
    if wrong:
        sys.exit("golden: what differs and what docs/differences.md lists are not the same:\n" + "\n".join(wrong))


main()
