#!/usr/bin/env python3
"""Checks what can be checked of how nilas reads. Run as `make check-style`; needs Python 3, a C compiler and protoc-c.

Fails on: an include that goes up the layers or out of a folder's reach; a header that does not compile alone; a banned
call; a `//` comment; a source folder without README.md; duplicate or unsorted-out rows in base/conditions.def.
Reports, without failing: long files, long functions, sources without a test.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "src")

# A folder includes only itself and what stands before it. lakehouse, connect and shell stand beside or above api.
LAYERS = ["base", "column", "storage", "format", "iceberg", "catalog", "function", "sql", "session", "plan", "exec",
          "command", "stream", "api", "connect", "lakehouse", "shell"]

# Exceptions to the order, each with its reason.
ALLOWED = {}

# Name of the function: where it may be called (path prefixes), why not elsewhere.
BANNED = {
    "strtok": ((), "cut with nl_str_next_part"),
    "strtok_r": ((), "cut with nl_str_next_part"),
    "sprintf": ((), "use nl_append_f or snprintf"),
    "vsprintf": ((), "use vsnprintf"),
    "strcpy": ((), "use nl_str and memcpy with a known length"),
    "stpcpy": ((), "use nl_str and memcpy with a known length"),
    "strcat": ((), "use nl_builder"),
    "strncpy": ((), "use nl_str"),
    "strncat": ((), "use nl_builder"),
    "atoi": ((), "use nl_parse_int64"),
    "atol": ((), "use nl_parse_int64"),
    "atoll": ((), "use nl_parse_int64"),
    "atof": ((), "use nl_parse_double"),
    "gets": ((), "has no limit"),
    "setlocale": (("shell/interactive.c",), "locales are process state"),
    "uselocale": ((), "locales are process state"),
    "strtod": ((), "use nl_parse_double"),
    "strtof": ((), "use nl_parse_float"),
    "strtol": ((), "use nl_parse_int64"),
    "strtoll": ((), "use nl_parse_int64"),
    "strtoul": ((), "use nl_parse_int64"),
    "strtoull": ((), "use nl_parse_int64"),
    "strtod_l": (("base/number.c", "base/scan.c"), "use nl_parse_double"),
    "strtof_l": (("base/number.c", "base/scan.c"), "use nl_parse_float"),
    "sscanf": ((), "scan by hand or with base/number.h"),
    "fscanf": ((), "scan by hand or with base/number.h"),
    "scanf": ((), "scan by hand or with base/number.h"),
    "getpwuid": ((), "use nl_process_user"),
    "getpwnam": ((), "not safe with threads"),
    "getgrgid": ((), "not safe with threads"),
    "gethostbyname": ((), "use getaddrinfo"),
    "inet_ntoa": ((), "use inet_ntop"),
    "strerror": ((), "use strerror_r or nl_raise_errno"),
    "setenv": ((), "other threads read the environment"),
    "putenv": ((), "other threads read the environment"),
    "unsetenv": ((), "other threads read the environment"),
    "localtime": ((), "use base/calendar.h"),
    "gmtime": ((), "use base/calendar.h"),
    "mktime": ((), "use base/calendar.h"),
    "strftime": ((), "use base/calendar.h"),
    "asctime": ((), "use base/calendar.h"),
    "ctime": ((), "use base/calendar.h"),
    "time": ((), "use nl_now_micros, which a test can hold"),
    "gettimeofday": ((), "use nl_now_micros, which a test can hold"),
    "rand": ((), "use getrandom, or a seed of your own"),
    "srand": ((), "use getrandom, or a seed of your own"),
    "strerror": ((), "not safe with threads: nl_raise_errno"),
    "system": ((), "starts a shell"),
    "popen": ((), "starts a shell"),
    "alloca": ((), "the stack has no limit that fails"),
    "tmpnam": ((), "races; use mkstemp"),
    "mktemp": ((), "races; use mkstemp"),
    "longjmp": ((), "errors are values"),
    "setjmp": ((), "errors are values"),
    "pthread_create": (("base/pool.c",), "only base/pool starts threads"),
}

FILE_LINES = 800
FUNCTION_LINES = 60


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blank_out(text):
    """The text with comments and the insides of literals replaced by spaces; also the places of `//` comments."""
    out = []
    slashes = []
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    last = 0
    for match in token.finditer(text):
        out.append(text[last:match.start()])
        found = match.group()
        if found.startswith("//"):
            slashes.append(text.count("\n", 0, match.start()) + 1)
        if found[0] in "\"'":
            out.append(found[0] + " " * (len(found) - 2) + found[0])
        else:
            out.append(re.sub(r"[^\n]", " ", found))
        last = match.end()
    out.append(text[last:])
    return "".join(out), slashes


class Check:
    def __init__(self):
        self.failures = []
        self.notes = []

    def fail(self, path, line, message):
        self.failures.append(f"{os.path.relpath(path, ROOT)}:{line}: {message}")

    def note(self, path, line, message):
        self.notes.append(f"{os.path.relpath(path, ROOT)}:{line}: {message}")


def source_files():
    for folder, folders, names in os.walk(SOURCES):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def")):
                yield os.path.join(folder, name)


def relative(path):
    return os.path.relpath(path, SOURCES).replace(os.sep, "/")


def check_includes(check, path, text):
    own = relative(path).split("/")[0]
    if own not in LAYERS:
        check.fail(path, 1, f"the folder {own} has no place in the layers of scripts/check_style.py")
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        target = match.group(1)
        layer = target.split("/")[0]
        if layer == "nilas":
            if target != "nilas/arrow.h" and LAYERS.index(own) < LAYERS.index("api"):  # the Arrow structs are nobody's layer
                check.fail(path, number, f"{own} may not include the public header {target}")
        elif layer not in LAYERS:
            check.fail(path, number, f"include \"{target}\" by its path below src")
        elif LAYERS.index(layer) > LAYERS.index(own) and (own, layer) not in ALLOWED:
            check.fail(path, number, f"{own} may not include {target}: {layer} stands above it")


def check_calls(check, path, code):
    name = relative(path)
    is_test = name.endswith("_test.c") or "/test_" in name
    for match in re.finditer(r"\b([a-z_][a-z_0-9]*)\s*\(", code):
        word = match.group(1)
        if word not in BANNED:
            continue
        before = code[max(0, match.start() - 2):match.start()]
        if before.endswith((".", "->")):
            continue  # a member of that name
        if is_test and word in ("pthread_create", "setjmp", "longjmp", "sscanf", "sprintf", "strtok", "strtod", "setenv", "unsetenv"):
            continue
        places, reason = BANNED[word]
        if name not in places:
            check.fail(path, code.count("\n", 0, match.start()) + 1, f"{word}() is banned: {reason}")


def check_functions(check, path, code):
    """Function bodies by braces in the first column, as the layout has them."""
    start = None
    name = ""
    for number, line in enumerate(code.split("\n"), 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            if number - start - 1 > FUNCTION_LINES:
                check.note(path, start, f"{name} has {number - start - 1} lines")
            start = None
        elif start is None:
            match = re.search(r"\b([A-Za-z_]\w*)\s*\(", line)
            if match and not line.startswith((" ", "#")):
                name = match.group(1)


def check_folders(check):
    with_sources = {os.path.dirname(path) for path in source_files()}
    for folder in sorted(with_sources):
        if not os.path.exists(os.path.join(folder, "README.md")):
            check.fail(folder, 0, "a source folder needs a README.md")


def check_tests(check, paths):
    names = set(paths)
    for path in paths:
        if path.endswith(".c") and not path.endswith("_test.c") and path[:-2] + "_test.c" not in names:
            check.note(path, 1, "has no test beside it")


def check_conditions(check):
    path = os.path.join(SOURCES, "base", "conditions.def")
    seen = {}
    for number, line in enumerate(read(path).split("\n"), 1):
        if not line.startswith("X("):
            continue
        match = re.match(r'X\((\w+), "([0-9A-Z]{5})?", (USER|DATA|RETRY|UNKNOWN_STATE|INTERNAL), "(?:[^"\\]|\\.)*"\)$', line)
        if not match:
            check.fail(path, number, "a row should look like X(NAME, \"STATE\", KIND, \"template\")")
            continue
        if match.group(1) in seen:
            check.fail(path, number, f"{match.group(1)} is also in line {seen[match.group(1)]}")
        seen[match.group(1)] = number


def compiler_command():
    """The flags of the build, if there is one, so that library headers are found; else plain ones."""
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-DNL_FAULTS=1", "-DNILAS_VERSION=\"0\"", "-I", SOURCES, "-I",
             os.path.join(ROOT, "include"), "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable"]
    packages = ["libzstd", "liblz4", "libdeflate", "jansson", "libpcre2-8", "libxxhash", "libutf8proc"]
    try:
        found = subprocess.run(["pkg-config", "--cflags", *packages], capture_output=True, text=True, check=True)
        flags += found.stdout.split()
    except (OSError, subprocess.CalledProcessError):
        pass
    return [os.environ.get("CC", "cc"), *flags, "-fsyntax-only"]


def check_headers(check, headers):
    command = compiler_command()
    with tempfile.TemporaryDirectory() as folder:
        protos = [os.path.relpath(path, SOURCES) for path in glob.glob(os.path.join(SOURCES, "connect", "proto", "*.proto"))]
        subprocess.run(["protoc-c", "-I", SOURCES, f"--c_out={folder}", *protos], cwd=SOURCES, check=True)
        command += ["-isystem", folder]

        def compile_alone(header):
            unit = os.path.join(folder, relative(header).replace("/", "_") + ".c")
            with open(unit, "w", encoding="utf-8") as file:
                file.write(f'#include "{relative(header)}"\n#include "{relative(header)}"\nextern int nothing;\n')
            return header, subprocess.run([*command, unit], capture_output=True, text=True)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for header, result in pool.map(compile_alone, headers):
                if result.returncode != 0:
                    first = next((line for line in result.stderr.split("\n") if "error" in line), "error")
                    check.fail(header, 1, f"does not compile alone: {first}")
                if header.endswith(".h") and "#pragma once" not in read(header):
                    check.fail(header, 1, "has no #pragma once")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quiet", action="store_true", help="leave out what is only reported")
    arguments = parser.parse_args()
    check = Check()
    paths = list(source_files())
    file_count = len(paths)
    for path in paths:
        text = read(path)
        code, slashes = blank_out(text)
        for line in slashes:
            check.fail(path, line, "a // comment; write /* … */")
        check_includes(check, path, text)
        check_calls(check, path, code)
        check_functions(check, path, code)
        line_count = text.count("\n")
        if line_count > FILE_LINES and not path.endswith(".def"):
            check.note(path, 1, f"has {line_count} lines")
    check_folders(check)
    check_tests(check, paths)
    before = len(check.failures)
    check_conditions(check)
    if len(check.failures) > before:  # every header includes it: one cause is enough to read
        paths = []
    # A template for one type at a time (.inc.h) is no header of its own.
    check_headers(check, [path for path in paths if path.endswith(".h") and not path.endswith(".inc.h")])
    if not arguments.quiet:
        for line in check.notes:
            print("look at", line)
    for line in check.failures:
        print("error:", line)
    print(f"{file_count} files, {len(check.failures)} errors, {len(check.notes)} places to look at")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
