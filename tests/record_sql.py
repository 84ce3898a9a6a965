"""Records .test files from .sql files with real Spark as the judge.

    python3 tests/record_sql.py [--remote sc://127.0.0.1:15099] FILE.sql ...
    python3 tests/record_sql.py --own FILE.sql ...

Each statement (`;` at a line's end) becomes a record: a query with the rows Spark shows, a statement that succeeds, or
the condition of the error that Spark raises. With --remote catalog `lake` of the server must be an empty hadoop catalog
or hold nothing that the files create; with --own a Spark is started here, whose hadoop catalogs `lake` and `local` have
a new folder for each file.

Comments before a statement say more about it:

    -- let NAME                 the first cell of the query takes the place of ${NAME} in what follows
    -- any COLUMN ...           these columns may hold anything: sizes, ids

${FOLDER} is a folder of the file's own, for plain files.
"""
import argparse
import pathlib
import re
import sys
import tempfile

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def statements(text):
    pending = []
    for line in text.splitlines():
        if line.strip().startswith("--") and not pending:
            yield line.strip(), True
            continue
        if line.strip():
            pending.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(pending).rstrip().rstrip(";"), False
            pending = []


FULL_WIDTH = re.compile("[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]")


def shown_width(letter):
    """Columns that Spark counts for a character: units of UTF-16, two for wide ones."""
    return 2 if ord(letter) > 0xFFFF or FULL_WIDTH.match(letter) else 1


def cut(line, widths):
    """The cells of a shown line."""
    cells, at = [], 1
    for width in widths:
        start = at
        while width > 0:
            width -= shown_width(line[at])
            at += 1
        cells.append(line[start:at].rstrip(" "))
        at += 1
    return cells


def box(frame, masked):
    """The lines of show(truncate=False) without rules and padding; columns in `masked` are shown as *."""
    text = frame._show_string(1000000, False, False)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rule = next(line for line in text.splitlines() if line.startswith("+"))
    widths = [len(part) for part in rule.strip("+").split("+")]
    out = []
    for number, line in enumerate(lines):
        cells = cut(line, widths)
        if number:
            cells = ["*" if name in masked else cell for name, cell in zip(frame.columns, cells)]
        out.append("|" + "|".join(cells) + "|")
    return "\n".join(out)


def first_line(error):
    """What a Java exception without a condition says."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java else error).split("\n\nJVM")[0].split("\n")[0]
    return re.sub(r"^(\([\w.$]+\) |[\w.$]+(Exception|Error): )+", "", text)


def record(spark, path):
    out = [f"# Recorded from Spark 4.0.1 with Iceberg 1.10.0 by tests/record_sql.py; source: {path.name}\n"]
    with tempfile.TemporaryDirectory() as folder:
        record_in(spark, path, out, {"FOLDER": folder})
    path.with_suffix(".test").write_text("\n".join(out), encoding="utf-8")


def record_in(spark, path, out, variables):
    masked, name = (), None
    for sql, is_comment in statements(path.read_text(encoding="utf-8")):
        if is_comment:
            words = sql.lstrip("- ").split()
            if words[0] == "let":
                name = words[1]
            elif words[0] == "any":
                masked = words[1:]
            else:
                out.append("# " + sql.lstrip("- ") + "\n")
            continue
        real = re.sub(r"\$\{(\w+)\}", lambda match: variables[match.group(1)], sql)
        try:
            frame = spark.sql(real)
            if name:
                variables[name] = str(frame.collect()[0][0])
                out.append(f"let {name}\n{sql}\n")
            elif frame.columns:
                ordered = re.search(r"order\s+by[^)]*$", sql, re.I | re.S) is not None
                out.append(f"query{'' if ordered else ' rowsort'}\n{sql}\n----\n{box(frame, masked)}\n")
            else:
                out.append(f"statement ok\n{sql}\n")
        except (PySparkException, Py4JJavaError) as error:
            condition = isinstance(error, PySparkException) and error.getCondition() or f"- {first_line(error)}"
            out.append(f"error {condition}\n{sql}\n")
        masked, name = (), None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--remote", default="sc://127.0.0.1:15099")
    parser.add_argument("--own", action="store_true", help="start a Spark here")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    session = None if arguments.own else SparkSession.builder.remote(arguments.remote).getOrCreate()
    for file in arguments.files:
        if arguments.own:
            sys.path.insert(0, str(pathlib.Path(__file__).parent / "crosswise"))
            import peers
            with tempfile.TemporaryDirectory() as folder:
                record(peers.Spark(folder).session, file)
        else:
            record(session, file)
        print("recorded", file.with_suffix(".test"))
