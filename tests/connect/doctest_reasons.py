#!/usr/bin/env python3
"""doctest_reasons.py FAILURES - the docstrings that `make connect-doctests` saw fail, as a Markdown table: what came instead, once each."""
import collections
import re
import sys

PLACE = re.compile(r'^File "[^"]*", line \d+, in (\S+)$')


def blocks(text):
    """(docstring, lines) of every failed example."""
    for block in re.split(r"^\*{50,}$", text, flags=re.M):
        lines = block.strip("\n").split("\n")
        place = PLACE.match(lines[0]) if lines else None
        if place:
            yield place.group(1), lines


def reason(lines):
    if "Exception raised:" not in lines:
        return "another output"
    names = [line.strip() for line in lines if re.match(r"    [\w.]+(Exception|Error|TooLong)\b", line)]
    text = names[0] if names else "an error"
    text = re.sub(r"^(\w+\.)*", "", text).replace("|", "\\|")
    return text[:150] + ("…" if len(text) > 150 else "")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        first = {}
        for name, lines in blocks(file.read()):
            first.setdefault(name.replace("pyspark.sql.", "").replace("connect.", "").replace("functions.builtin.", ""), reason(lines))
    by_reason = collections.defaultdict(list)
    for name, why in first.items():
        by_reason[why].append(f"`{name}`")
    print("| docstrings | what comes instead |\n| --- | --- |")
    for why, names in sorted(by_reason.items(), key=lambda row: (-len(row[1]), row[0])):
        print(f"| {', '.join(sorted(names))} | {why} |")


if __name__ == "__main__":
    main()
