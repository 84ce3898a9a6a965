"""Are two answers to a query the same? For suite.py.

Spark's recorded answers are texts: everything is equal to the letter but doubles, which may differ by 1e-9 of their size. DuckDB's
are Python's values, and its quotients of decimals are doubles, so that a decimal is compared with them to its last digit.
Rows come in the order of the query: at each place the columns that ORDER BY names are equal, and rows that tie may come in
any order; where LIMIT cuts through a tie, the rows of that tie must be answers of the query without LIMIT.
"""
import decimal
import json
import math
import re


class SparkDouble(float):
    """A double that Spark has printed: all of its digits count."""


def from_spark(file):
    """The rows of a recorded answer, its doubles as SparkDouble; and its columns as "name type"."""
    answer = json.loads(file.read_text())
    if "error" in answer:
        raise ValueError(f"Spark answers {answer['error']}")
    doubles = {i for i, column in enumerate(answer["columns"]) if column.split(" ")[-1] in ("double", "float")}
    rows = [[SparkDouble(cell) if i in doubles and cell is not None else cell for i, cell in enumerate(row)] for row in answer["rows"]]
    return rows, answer["columns"]


def same_cell(expected, text):
    if expected is None or text == "NULL":
        return expected is None and text == "NULL"
    if isinstance(expected, float):
        have = float(text)
        if not math.isfinite(expected) or not math.isfinite(have):
            return str(expected) == str(have)
        rounding = 0 if isinstance(expected, SparkDouble) else 0.5000001 * 10.0 ** -places(text)
        return abs(expected - have) <= max(1e-9 * abs(expected), rounding)
    if isinstance(expected, (int, decimal.Decimal)):
        return decimal.Decimal(text) == expected
    return str(expected) == text


def places(text):
    """Digits behind the point; a double prints enough of them not to matter."""
    return len(text.split(".")[1]) if "." in text and "E" not in text else 17


def same_row(expected, row):
    return len(expected) == len(row) and all(same_cell(want, have) for want, have in zip(expected, row))


def match(expected, rows):
    """Rows of both sides that have no equal on the other, found by the cells that are compared exactly."""
    def key(row):
        return tuple(cell_key(cell) for cell in row)
    places_of = {}
    for row in rows:
        places_of.setdefault(key(row), []).append(row)
    missing = []
    for want in expected:
        found = next((have for have in places_of.get(key(want), []) if same_row(want, have)), None)
        if found is None:
            missing.append(want)
        else:
            places_of[key(want)].remove(found)
    left = [row for group in places_of.values() for row in group]
    for want in list(missing):  # cells beside a border of rounding
        found = next((have for have in left if same_row(want, have)), None)
        if found is not None:
            missing.remove(want)
            left.remove(found)
    return missing, left


def cell_key(cell):
    if cell is None:
        return "NULL"
    if isinstance(cell, (float, decimal.Decimal)) or isinstance(cell, str) and re.fullmatch(r"-?\d+\.\d+(E-?\d+)?", cell):
        return f"{float(cell):.6g}"
    return str(cell)


# ---- order

def outside_of_parentheses(sql):
    """The text with all that stands in parentheses blanked."""
    depth, outside = 0, []
    for character in sql:
        depth -= character == ")"
        outside.append(character if depth == 0 else " ")
        depth += character == "("
    return "".join(outside)


def order_items(sql):
    """What the outermost ORDER BY lists; none where there is none."""
    outside = outside_of_parentheses(sql)
    found = re.search(r"\border\s+by\b(.*?)(\blimit\s+\d+\s*)?\Z", outside, re.I | re.S)
    if not found:
        return []
    begin, items = found.start(1), []
    for comma in [m.start() for m in re.finditer(",", found[1])] + [len(found[1])]:
        item = sql[begin:found.start(1) + comma].strip()
        items.append(re.sub(r"\s+(asc|desc)?(\s+nulls\s+(first|last))?$", "", item, flags=re.I).strip())
        begin = found.start(1) + comma + 1
    return items


def order_columns(sql, columns):
    """Indexes of the output columns by which the query sorts; an expression that is none of them is left out."""
    def plain(text):
        return re.sub(r"[\s`]", "", text).lower()
    names, indexes = [plain(column) for column in columns], []
    for item in order_items(sql):
        if item.isdigit():
            indexes.append(int(item) - 1)
        elif plain(item) in names:
            indexes.append(names.index(plain(item)))
        elif plain(item).split(".")[-1] in names:
            indexes.append(names.index(plain(item).split(".")[-1]))
    return indexes


def judge(expected, rows, columns, sql, unlimited):
    """None and a remark, or what is wrong. columns: the output's names; unlimited() gives the rows of the query without its last LIMIT."""
    if len(expected) != len(rows):
        return f"{len(rows)} rows instead of {len(expected)}", ""
    if all(same_row(want, have) for want, have in zip(expected, rows)):
        return None, ""
    sorted_by = order_columns(sql, columns)
    for place, (want, have) in enumerate(zip(expected, rows)):
        wrong = [i for i in sorted_by if not same_cell(want[i], have[i])]
        if wrong:
            return f"row {place + 1} is {have} instead of {want}, where the query sorts by {columns[wrong[0]]}", ""
    missing, extra = match(expected, rows)
    if not missing:
        return None, "order within ties" if order_items(sql) else "in no order"
    cut = all(same_cell(expected[-1][i], row[i]) for i in sorted_by for row in extra)
    if cut and without_limit(sql) != sql and not match(extra, as_texts(unlimited()))[0]:
        return None, f"{len(extra)} other rows of the tie that LIMIT cuts"
    return f"{len(missing)} of {len(rows)} rows differ: {extra[0]} instead of {missing[0]}", ""


def as_texts(rows):
    return [[str(cell) if cell is not None else "NULL" for cell in row] for row in rows]


def without_limit(sql):
    return re.sub(r"\blimit\s+\d+\s*\Z", "", sql, flags=re.I)
