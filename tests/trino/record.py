#!/usr/bin/env python3
"""Asks a real Trino and writes down what it says: tests/trino/NAME.sql becomes NAME.test.

    tests/trino/record.py http://localhost:8080 [NAME…]

The server needs a catalog `lake` of the Iceberg connector, with `iceberg.expire-snapshots.min-retention=0s` and the same for
remove-orphan-files; its schema `s` is dropped and made anew. A record is the statement, and one line of JSON after "=> ".
"""
import json
import pathlib
import sys

from protocol import ask, statements

HERE = pathlib.Path(__file__).parent


def main():
    server = sys.argv[1]
    names = sys.argv[2:] or sorted(path.stem for path in HERE.glob("*.sql"))
    for name in names:
        ask(server, "DROP SCHEMA IF EXISTS lake.s CASCADE")
        ask(server, "CREATE SCHEMA lake.s")
        with open(HERE / f"{name}.test", "w") as out:
            out.write(f"-- Made by tests/trino/record.py from {name}.sql; what real Trino {json.dumps(ask(server, 'SELECT version()')['rows'][0][0])} answers.\n")
            for sql in statements((HERE / f"{name}.sql").read_text()):
                answer = ask(server, sql)
                out.write(f"{sql};\n=> {json.dumps(answer, ensure_ascii=False)}\n")


if __name__ == "__main__":
    main()
