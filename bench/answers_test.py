"""What answers.py calls the same, and what not. Run by `make test`."""
import decimal
import json
import pathlib
import tempfile
import unittest

import answers
from answers import SparkDouble


def judge(expected, rows, sql, unlimited=(), columns=("k", "v")):
    return answers.judge(expected, rows, list(columns), sql, lambda: list(unlimited))


class Cells(unittest.TestCase):
    def test_texts_and_decimals_of_spark_are_equal_to_the_letter(self):
        self.assertTrue(answers.same_cell("1.50", "1.50"))
        for expected, text in [("1.50", "1.5"), ("ESE", "EXE"), ("a ", "a"), ("1.0000000000000", "1.0000000000001"), (None, ""), ("", "NULL")]:
            self.assertFalse(answers.same_cell(expected, text), (expected, text))

    def test_doubles_may_differ_by_a_billionth(self):
        self.assertTrue(answers.same_cell(SparkDouble("1234567.5"), "1234567.5000001"))
        self.assertFalse(answers.same_cell(SparkDouble("1234567.5"), "1234567.51"))
        self.assertTrue(answers.same_cell(SparkDouble("nan"), "NaN"))
        self.assertFalse(answers.same_cell(SparkDouble("inf"), "1.0E300"))

    def test_a_quotient_of_decimals_is_compared_with_the_double_of_duckdb_to_its_last_digit(self):
        self.assertTrue(answers.same_cell(1 / 3, "0.333333"))
        self.assertFalse(answers.same_cell(1 / 3, "0.333332"))
        self.assertTrue(answers.same_cell(decimal.Decimal("1.5"), "1.50"))

    def test_a_recorded_answer_has_its_doubles_by_type(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "q.json"
            file.write_text(json.dumps({"columns": ["a b double", "c string"], "rows": [["1.0", "1.0"], [None, None]]}))
            rows, _ = answers.from_spark(file)
            self.assertEqual([[type(cell) for cell in row] for row in rows], [[SparkDouble, str], [type(None), type(None)]])


class Order(unittest.TestCase):
    def test_the_columns_of_the_outermost_order_by_are_found(self):
        sql = "WITH w AS (SELECT 1 ORDER BY x) SELECT a, sum(b), c FROM w ORDER BY t.A DESC NULLS LAST, SUM( b ), CASE WHEN c = 0 THEN a END, 3 LIMIT 100"
        self.assertEqual(answers.order_columns(sql, ["a", "sum(b)", "c"]), [0, 1, 2])
        self.assertEqual(answers.order_columns("SELECT a, rank() OVER (ORDER BY a) FROM t", ["a", "r"]), [])

    def test_rows_that_tie_come_in_any_order_and_others_do_not(self):
        rows = [["1", "a"], ["1", "b"], ["2", "c"]]
        self.assertIsNone(judge(rows, [rows[1], rows[0], rows[2]], "SELECT k, v FROM t ORDER BY k")[0])
        self.assertIn("sorts by k", judge(rows, [rows[0], rows[2], rows[1]], "SELECT k, v FROM t ORDER BY k")[0])
        self.assertIsNone(judge(rows, rows[::-1], "SELECT k, v FROM t")[0])

    def test_only_the_tie_that_a_limit_cuts_may_hold_other_rows(self):
        sql = "SELECT k, v FROM t ORDER BY k LIMIT 2"
        everything = [["1", "a"], ["2", "b"], ["2", "c"]]
        self.assertIsNone(judge(everything[:2], [["1", "a"], ["2", "c"]], sql, everything)[0])
        self.assertIsNotNone(judge(everything[:2], [["1", "a"], ["2", "x"]], sql, everything)[0])
        self.assertIsNotNone(judge(everything[:2], [["1", "x"], ["2", "b"]], sql, everything + [["1", "x"]])[0])
        self.assertIsNotNone(judge(everything[:2], [["1", "a"], ["2", "c"]], sql.replace(" LIMIT 2", ""), everything)[0])

    def test_a_row_too_many_or_twice_is_seen(self):
        self.assertIn("2 rows instead of 1", judge([["1", "a"]], [["1", "a"]] * 2, "SELECT k, v FROM t")[0])
        self.assertIsNotNone(judge([["1", "a"], ["1", "b"]], [["1", "a"]] * 2, "SELECT k, v FROM t")[0])


unittest.main() if __name__ == "__main__" else None
