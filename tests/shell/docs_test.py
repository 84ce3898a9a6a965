#!/usr/bin/env python3
"""Runs the examples of the documents: what is shown is what is printed.

    tests/shell/docs_test.py NILAS [FILE ...]

In ```console blocks, lines that begin with `$ ` are commands (`> ` goes on with one), and what follows is their output. In
```sql blocks every statement must succeed. All examples of a document share a folder, in order. Links must lead somewhere.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def blocks(text):
    """(language, first line's number, lines) of each fenced block."""
    found = None
    for number, line in enumerate(text.splitlines(), 1):
        if found is None and line.startswith("```"):
            found = (line[3:].strip(), number + 1, [])
        elif found is not None and line.startswith("```"):
            yield found
            found = None
        elif found is not None:
            found[2].append(line)


def commands(lines):
    """(command, expected output) of a console block."""
    command, output = None, []
    for line in lines:
        if line.startswith("$ "):
            if command is not None:
                yield command, output
            command, output = line[2:], []
        elif line.startswith("> ") and not output:
            command += "\n" + line[2:]
        else:
            output.append(line)
    if command is not None:
        yield command, output


def run(command, folder, environment):
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.stdout, done.returncode


def check_document(path, environment):
    failures = 0
    text = open(path, encoding="utf-8").read()
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        if not os.path.exists(os.path.join(os.path.dirname(path), target)):
            failures += 1
            print(f"{path}: the link {target} leads nowhere")
    with tempfile.TemporaryDirectory() as folder:
        for language, line, lines in blocks(text):
            if language == "console":
                for command, expected in commands(lines):
                    output, _ = run(command, folder, {**environment, "HOME": folder})
                    if output.splitlines() != expected:
                        failures += 1
                        print(f"{path}:{line}: {command}")
                        print("\n".join("    " + part for part in difflib.unified_diff(expected, output.splitlines(), "documented", "printed", n=2, lineterm="")))
            elif language == "sql":
                with open(folder + "/example.sql", "w", encoding="utf-8") as file:
                    file.write("\n".join(lines))
                output, status = run("nilas sql -S -f example.sql", folder, {**environment, "HOME": folder})
                if status != 0:
                    failures += 1
                    print(f"{path}:{line}: the example fails\n    {output}")
    return failures


def main():
    nilas = os.path.realpath(sys.argv[1])
    documents = sys.argv[2:] or [os.path.join(ROOT, "README.md"), *sorted(os.path.join(ROOT, "docs", name) for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))]
    environment = {"PATH": os.path.dirname(nilas) + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    environment |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if key in os.environ}
    failures = sum(check_document(path, environment) for path in documents)
    print("documents: " + (f"{failures} failures" if failures else "their examples print what they show"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
