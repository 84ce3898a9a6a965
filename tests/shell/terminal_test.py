#!/usr/bin/env python3
"""The shell at a terminal: a pseudo-terminal plays the window, this program the person.

    tests/shell/terminal_test.py NILAS
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time

NILAS = os.path.realpath(sys.argv[1])
PATIENCE = 60


class Failure(Exception):
    pass


class Terminal:
    """`nilas sql` in a window of the given size."""

    def __init__(self, folder, *arguments, columns=80, rows=24):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            kept = {key: os.environ[key] for key in ("PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if key in os.environ}
            os.execve(NILAS, [NILAS, "sql", *arguments], {**kept, "HOME": folder, "TERM": "xterm", "TZ": "UTC"})
        self.resize(columns, rows)
        self.text = ""
        self.mark = 0

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def expect(self, pattern):
        """Waits for the pattern in what comes after the last one that was waited for; returns the match."""
        end = time.time() + PATIENCE
        while True:
            found = re.compile(pattern, re.S).search(self.text, self.mark)
            if found:
                self.mark = found.end()
                return found
            if time.time() > end:
                raise Failure(f"waited for {pattern!r}, saw {self.text[self.mark:]!r}")
            self.read(0.2)

    def prompt(self):
        self.expect(r"nilas \([^)]*\)> ")

    def end(self):
        """Ctrl-D at the next prompt."""
        self.prompt()
        self.send("\x04")
        assert_equal(self.leave(), 0)

    def leave(self):
        """Exit status after the end of input."""
        end = time.time() + PATIENCE
        while time.time() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise Failure("it does not end")


def rows_come_as_a_table(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT 1 AS a, 'é漢😀e\u0301' AS b;\r")
    window.expect(r"\+---\+------\+\r\n\|  a\|     b\|\r\n\+---\+------\+\r\n\|  1\|é漢😀e\u0301\|\r\n\+---\+------\+".replace("------", "-+").replace("     b", " +b"))
    window.expect(r"Time taken: [0-9.]+ seconds, Fetched 1 row\(s\)")
    window.end()


def a_statement_may_take_several_lines(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT 40 +\r")
    window.expect(r"\n {10,}> ")
    window.send("2 AS answer; SELECT\r")
    window.expect(r"\|    42\|")
    window.expect(r"\n {10,}> ")
    window.send("'rest' AS r;\r")
    window.expect(r"\|rest\|")
    window.prompt()
    window.send("quit;\r")
    assert_equal(window.leave(), 0)


def errors_do_not_end_the_shell(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT nope;\r")
    window.expect(r"UNRESOLVED_COLUMN")
    window.prompt()
    window.send("SELECT 'still' AS here;\r")
    window.expect(r"\|still\|")
    window.prompt()
    window.send("exit\r")
    assert_equal(window.leave(), 0)


def control_c_at_the_prompt_forgets_the_line(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT 'forgotten',\r")
    window.expect(r"\n {10,}> ")
    window.send("'this too'\x03")
    window.expect(r"\^C")
    window.prompt()
    window.send("SELECT 'next' AS n;\r")
    window.expect(r"\|next\|")
    window.end()


def control_c_cancels_the_statement_only(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT sum(id) FROM range(1000000000000000);\r")
    window.expect(r"% .*rows")  # the progress line comes after a second
    window.send("\x03")
    window.expect(r"OPERATION_CANCELED")
    window.prompt()
    window.send("SELECT 'alive' AS a;\r")
    window.expect(r"\|alive\|")
    window.end()


def progress_is_wiped_before_the_answer(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT count(*) AS c FROM range(3000000000) WHERE id % 7 = 3 AND id % 5 = 1;\r")
    window.expect(r"\r\[[= ]{20}\] [0-9]+ %  [0-9.]+ [kMG] rows  [0-9]+ s\x1b\[K")
    window.send("\x03")
    window.expect(r"\r\x1b\[K")
    window.end()


def history_comes_back(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT 'remember\r")
    window.expect(r"\n {10,}> ")
    window.send("me' AS m;\r")
    window.expect(r"Time taken")
    window.prompt()
    os.kill(window.pid, signal.SIGKILL)  # a window that is closed forgets nothing
    window.leave()
    assert_equal(oct(os.stat(folder + "/.nilas_history").st_mode & 0o777), "0o600")
    window = Terminal(folder)
    window.prompt()
    window.send("\x1b[A\r")
    window.expect(r"\|remember me\|")
    window.end()


def the_tabulator_completes(folder):
    window = Terminal(folder, "-e", "CREATE NAMESPACE shop; CREATE TABLE shop.orders (order_id bigint, customer string); USE shop")
    assert_equal(window.leave(), 0)
    window = Terminal(folder)
    window.prompt()
    window.send("SEL\t1 AS one;\r")
    window.expect(r"\|  1\|")
    window.prompt()
    window.send("DESCRIBE shop.or\t;\r")
    window.expect(r"order_id")
    window.prompt()
    window.send("USE sho\t;\r")
    window.expect(r"nilas \(local\.shop\)> ")
    window.send("SELECT count(order_id) AS n FROM ord\tWHERE cus\t\x15")
    window.expect(r"FROM ord[^a-z]*ers .*WHERE cus[^a-z]*tomer ")
    window.send("SELECT o.order_id FROM orders AS o WHERE o.cu\tIS NULL;\r")
    window.expect(r"WHERE o\.cu[^a-z]*stomer IS NULL")
    window.expect(r"Time taken")
    window.send("SELECT subs\t\t")
    window.expect(r"substr  substring  substring_index")
    window.send("\x03")
    window.expect(r"\^C")
    window.end()


def cells_are_cut_to_the_window(folder):
    window = Terminal(folder, columns=40)
    window.prompt()
    window.send("SELECT repeat('x', 300) AS wide, 1 AS n;\r")
    found = window.expect(r"\r\n(\+-+\+---\+)\r\n")
    assert_equal(len(found.group(1)), 40)
    window.expect(r"x\.\.\.\|  1\|")
    window.expect(r"--format vertical")
    window.prompt()
    window.resize(100, 24)
    window.send("SELECT repeat('x', 300) AS wide, 1 AS n;\r")
    found = window.expect(r"\r\n(\+-{60,}\+---\+)\r\n")
    assert_equal(len(found.group(1)), 100)
    window.prompt()
    window.resize(30, 24)
    columns = ", ".join(f"{i} AS a{i}" for i in range(20))
    window.send(f"SELECT {columns};\r")
    window.expect(r"-RECORD 0-+\r\n a0  \| 0\r\n")  # more columns than the window has room for
    window.end()


def typing_beyond_ascii_works(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT 'größe\x7f' AS g, length('漢字') AS l;\r")
    window.expect(r"\|größ\|  2\|")
    window.end()


def what_is_typed_ahead_counts(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("SELECT sum(id) FROM range(30000000);\rSELECT 'second' AS s;\r\x04")  # Ctrl-D before there is a prompt
    window.expect(r"\|449999985000000\|")
    window.expect(r"\|second\|")
    assert_equal(window.leave(), 0)


def a_command_of_the_system_runs(folder):
    window = Terminal(folder)
    window.prompt()
    window.send("!echo $((6 * 7))\r")
    window.expect(r"\n42\r\n")
    window.prompt()
    window.send("!exit 3\r")
    window.expect(r"Command failed with exit code = 3")
    window.end()


def assert_equal(got, expected):
    if got != expected:
        raise Failure(f"got {got!r}, expected {expected!r}")


TESTS = [rows_come_as_a_table, a_statement_may_take_several_lines, errors_do_not_end_the_shell, control_c_at_the_prompt_forgets_the_line,
         control_c_cancels_the_statement_only, progress_is_wiped_before_the_answer, history_comes_back, the_tabulator_completes,
         cells_are_cut_to_the_window, typing_beyond_ascii_works, what_is_typed_ahead_counts, a_command_of_the_system_runs]


def main():
    failures = 0
    for test in TESTS:
        if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
            except Failure as failure:
                failures += 1
                print(f"{test.__name__}: {failure}")
    print("terminal: " + (f"{failures} failures" if failures else "all tests passed"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
