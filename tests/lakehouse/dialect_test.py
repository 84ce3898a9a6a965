#!/usr/bin/env python3
"""What real Trino answered (tests/trino/*.test) against what `nilas up trino` answers.

    tests/lakehouse/dialect_test.py NILAS [test_name…]      NILAS_DIALECT=/part/ looks only at statements that contain it
    NILAS_DIALECT_WRITE=1 writes tests/trino/differences.txt anew, from what it sees

A statement may answer as Trino does, or be refused; tests/trino/differences.txt lists what is refused ("refused") and what is
answered though Trino refuses it ("allowed"), so that neither grows unnoticed. Another answer than Trino's is a failure, except for
the few written there by hand ("different"), which docs/lakehouse.md tells of.
"""
import json
import os
import pathlib
import re
import sys

RECORDS = pathlib.Path(__file__).parent.parent / "trino"
sys.path.insert(0, str(RECORDS))
from protocol import ask  # noqa: E402  (beside the records)
from support import Lakehouse, check, run_tests  # noqa: E402

PART = os.environ.get("NILAS_DIALECT", "")
# Names of the recording server that no other has.
FOREIGN = re.compile(r"^(SHOW CREATE|SHOW STATS|SHOW FUNCTIONS|EXPLAIN)")


def records(path):
    lines = path.read_text().split("\n")[1:]
    statement = []
    for line in lines:
        if line.startswith("=> "):
            yield "\n".join(statement)[:-1], json.loads(line[3:])
            statement = []
        else:
            statement.append(line)


def plain_type(name):
    """Length of varchars aside: the engine has one text type. NULL alone is a text there, and fields without a name are called col1, col2 …"""
    name = re.sub(r"\b(col\d+|key|value) (?=\w)", "", name.replace('"', ""))
    return re.sub(r"varchar\(\d+\)", "varchar", name).replace("unknown", "varchar").replace('"', "")


def plain(value):
    """Doubles to fifteen digits: the last one is not the same on every machine."""
    if isinstance(value, float):
        return float(f"{value:.15g}")
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def comparable(sql, answer):
    rows = plain(answer.get("rows", []))
    if "ORDER BY" not in sql:
        rows = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
    columns = [[name, plain_type(kind)] for name, kind in answer.get("columns", [])]
    return columns, rows, answer.get("update")


def judge(sql, expected, actual):
    """"same", "refused", "allowed" or "different"."""
    if "error" in expected:
        return "same" if "error" in actual else "allowed"
    if "error" in actual:
        return "refused"
    if FOREIGN.match(sql):
        return "same"
    mine, theirs = comparable(sql, actual), comparable(sql, expected)
    if expected.get("update") and not expected.get("rows"):
        return "same" if mine[2] == theirs[2] else "different"
    return "same" if mine == theirs else "different"


def test_answers_are_trinos():
    listed = {}
    differences = RECORDS / "differences.txt"
    if differences.exists():
        for line in differences.read_text().splitlines():
            if line and not line.startswith("--"):
                kind, sql = line.split("\t", 1)
                listed[json.loads(sql)] = kind
    found, counts = {}, {}
    with Lakehouse() as lake:
        server = lake.url("trino")
        lake.client("s3tables").create_table_bucket(name="lake")
        for path in sorted(RECORDS.glob("*.test")):
            ask(server, "CREATE SCHEMA lake.s", schema="")
            for sql, expected in records(path):
                if PART and PART not in sql and path.stem != PART and path.stem != "tables":
                    continue
                actual = ask(server, sql)
                verdict = judge(sql, expected, actual)
                counts[verdict] = counts.get(verdict, 0) + 1
                if verdict == "different" and listed.get(sql) == "different":
                    found[sql] = verdict
                    continue
                if verdict in ("refused", "allowed"):
                    found[sql] = verdict
                    if os.environ.get("NILAS_DIALECT_SHOW"):
                        print(f"{path.stem}: {verdict}: {sql}\n    {str(actual)[:300]}")
                if verdict == "different":
                    check(False, f"{path.stem}: {sql}\n    is        {json.dumps(comparable(sql, actual))}\n    should be {json.dumps(comparable(sql, expected))}")
            for row in ask(server, "SHOW TABLES FROM lake.s").get("rows", []):
                ask(server, f'DROP TABLE lake.s."{row[0]}"')
            ask(server, "DROP SCHEMA lake.s")
    print(counts)
    if os.environ.get("NILAS_DIALECT_WRITE"):
        with open(differences, "w") as out:
            out.write("-- Written by tests/lakehouse/dialect_test.py: what nilas refuses, what it allows though Trino refuses it, and (by hand) what it answers otherwise: see docs/lakehouse.md.\n")
            out.writelines(f"{kind}\t{json.dumps(sql, ensure_ascii=False)}\n" for sql, kind in sorted(found.items(), key=lambda item: (item[1], item[0])))
        return
    for sql, kind in found.items():
        check(PART or listed.get(sql) == kind, f"newly {kind}: {sql}")
    for sql, kind in listed.items():
        check(PART or found.get(sql) == kind, f"no longer {kind} (NILAS_DIALECT_WRITE=1 writes the list anew): {sql}")


if __name__ == "__main__":
    run_tests(sys.modules[__name__])
