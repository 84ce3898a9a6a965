#!/usr/bin/env python3
"""Writes the parts of docs/ that repeat what the source says: configuration keys, procedures, functions.

    scripts/make_docs.py [--nilas build/debug/nilas] [--check]

Keys come from src/session/confs.def, procedures from the rows under src/command/call. With --nilas also docs/functions.md
is written, from SHOW FUNCTIONS and DESCRIBE FUNCTION EXTENDED. --check changes nothing and fails when something is stale.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
stale = []


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def write(path, text, is_check):
    if os.path.exists(os.path.join(ROOT, path)) and read(path) == text:
        return
    stale.append(path)
    if not is_check:
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
            file.write(text)


def replace_part(path, name, lines, is_check):
    """Puts lines between <!-- name --> and <!-- end of name -->."""
    begin, end = f"<!-- {name}: written by scripts/make_docs.py -->\n", f"<!-- end of {name} -->\n"
    before, rest = read(path).split(begin)
    write(path, before + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1], is_check)


def keys():
    pattern = re.compile(r'X\("([^"]+)", "([^"]+)", (NULL|"[^"]*"), (true|false), "[^"]*", "((?:[^"\\]|\\.)*)"\)')
    effective, accepted = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"], ["| key | default | why |", "| --- | --- | --- |"]
    for key, kind, default, is_static, doc in pattern.findall(read("src/session/confs.def")):
        if key.startswith("nilas.debug."):
            continue
        default = "" if default == "NULL" else f"`{default[1:-1]}`"
        doc = doc.replace('\\"', '"').replace("|", "\\|")
        if doc.startswith("Accepted"):
            reason = doc.partition("; ")[2] or "there is nothing that it could change."
            accepted.append(f"| `{key}` | {default} | {reason} |")
        else:
            effective.append(f"| `{key}` | {kind} | {default} | {doc}{' At the start only.' if is_static == 'true' else ''} |")
    return effective, accepted


PARAMETER_TYPES = {"STRING": "string", "BIGINT": "bigint", "INT": "int", "BOOLEAN": "boolean", "TIMESTAMP": "timestamp", "MAP": "map<string, string>",
                   "BIGINTS": "array<bigint>", "STRINGS": "array<string>"}


def procedures():
    lines = ["| procedure | arguments (**needed**) | what it does | columns of the answer |", "| --- | --- | --- | --- |"]
    folder = "src/command/call"
    for name in sorted(os.listdir(os.path.join(ROOT, folder))):
        text = read(f"{folder}/{name}") if name.endswith(".c") else ""
        for row in re.findall(r'\{\.name = "(\w+)",\s*\.doc = "([^"]*)",(.*?)\.run = ', text, re.S):
            parameters, _, outputs = row[2].partition(".outputs")
            arguments = ["**table** string"] if "TABLE" in parameters else []
            for parameter, kind, needed in re.findall(r'\{"(\w+)", NL_PARAMETER_(\w+), (true|false)\}', parameters):
                arguments.append(f"{'**' + parameter + '**' if needed == 'true' else parameter} {PARAMETER_TYPES[kind]}")
            answers = re.findall(r'"(\w+)"', outputs)
            lines.append(f"| `{row[0]}` | {', '.join(arguments)} | {row[1]} | {', '.join(answers)} |")
    return lines


def functions(nilas):
    def ask(sql):
        return subprocess.run([nilas, "sql", "-S", "-e", sql], capture_output=True, text=True, check=True, cwd="/tmp").stdout

    names = [name for name in ask("SHOW FUNCTIONS").splitlines() if name]
    parts = ask("; ".join(f"DESCRIBE FUNCTION EXTENDED `{name}`; SELECT '----'" for name in names)).split("----\n")
    def cell(text):
        return text.replace("|", "\\|")

    text = ["# Functions", "", f"What `SHOW FUNCTIONS` lists, {len(names)} names. `DESCRIBE FUNCTION EXTENDED name` says more in the shell. Every example is run as a test.",
            "", "| function | what it gives | example | its answer |", "| --- | --- | --- | --- |"]
    for name, part in zip(names, parts):
        form, _, meaning = part.partition("Usage: ")[2].partition("\n")[0].partition(" - ")
        example = re.search(r"^ +> SELECT (.*);\n +(.*)$", part, re.M)
        call, answer = (f"`` {cell(example.group(1))} ``", f"`` {cell(example.group(2))} ``") if example else ("", "")
        text.append(f"| `` {cell(form or name)} `` | {cell(meaning)} | {call} | {answer} |")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nilas")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    effective, accepted = keys()
    replace_part("docs/configuration.md", "keys", effective, options.check)
    replace_part("docs/configuration.md", "keys without effect", accepted, options.check)
    replace_part("docs/iceberg.md", "procedures", procedures(), options.check)
    if options.nilas:
        write("docs/functions.md", functions(os.path.realpath(options.nilas)), options.check)
    for path in stale:
        print(("stale: " if options.check else "written: ") + path)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
