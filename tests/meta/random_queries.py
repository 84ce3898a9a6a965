"""Writes random SQL over small tables of awkward values, for nilas and real Spark to answer alike.

    python3 tests/meta/random_queries.py --seed 7 --count 300 > /tmp/random.sql

The text is a source for tests/record_sql.py: Spark's answers become a .test file that sql_runner replays. The same seed
gives the same text, so a difference is named by its seed and the statement.
"""
import argparse
import random

VIEWS = """
CREATE OR REPLACE TEMPORARY VIEW a AS SELECT * FROM VALUES
  (1, 10L, 1.5D, 1.25BD, 'x', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00', true, array(1, NULL, 3), map('k', 1, 'x', NULL)),
  (2, -10L, -0.0D, -1.25BD, '', DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59.999999', false, array(), map()),
  (2, 10L, double('NaN'), 0.00BD, 'X', DATE '2024-03-31', TIMESTAMP '2024-03-31 02:30:00', NULL, array(2, 2, 7), map('', 2147483647)),
  (NULL, 9223372036854775807L, double('Infinity'), 99.99BD, 'äé', NULL, NULL, true, NULL, NULL),
  (2147483647, NULL, NULL, NULL, NULL, DATE '0001-01-01', TIMESTAMP '1900-01-01 00:00:00', false, array(NULL), map('abc', 5)),
  (-2147483648, -9223372036854775808L, double('-Infinity'), -99.99BD, ' pad', DATE '9999-12-31', TIMESTAMP '2999-06-15 01:02:03.000004', true, array(-1, 0), NULL),
  (0, 0L, 0.0D, 0.01BD, 'abc', DATE '2024-01-01', TIMESTAMP '2024-01-01 00:00:00', NULL, NULL, map('x', 1, 'y', 2, 'z', 3)),
  (1, 3L, 2.5D, 7.50BD, 'x', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00', false, array(1, 2, 3, 4, 5), map('k', 1))
  AS t(i, l, d, n, s, dt, ts, b, arr, m);
CREATE OR REPLACE TEMPORARY VIEW c AS SELECT * FROM VALUES
  (1, 'x', array(1, 2, NULL), map('k', 1)), (2, 'X', array(), map()), (3, NULL, NULL, NULL), (NULL, 'abc', array(5), map('k', NULL, 'z', 9)),
  (2, '', array(2, 2), map('x', 2)) AS t(i, s, arr, m);
"""
COLUMNS = {"int": ["i"], "bigint": ["l"], "double": ["d"], "decimal": ["n"], "string": ["s"], "date": ["dt"],
           "timestamp": ["ts"], "boolean": ["b"], "ints": ["arr"], "counts": ["m"]}
LITERALS = {
    "int": ["0", "1", "-1", "7", "NULL", "CAST(NULL AS INT)"],
    "bigint": ["0L", "3L", "-5L", "CAST(NULL AS BIGINT)"],
    "double": ["0.0D", "1.5D", "-2.25D", "1e10D", "CAST('NaN' AS DOUBLE)", "CAST(NULL AS DOUBLE)"],
    "decimal": ["0.5", "1.10", "-3.333", "CAST(12 AS DECIMAL(5,1))", "CAST(NULL AS DECIMAL(10,2))"],
    "string": ["''", "'x'", "'abc'", "' pad'", "'äö'", "'%b_'", "CAST(NULL AS STRING)"],
    "date": ["DATE '2024-02-29'", "DATE '1970-01-01'", "CAST(NULL AS DATE)"],
    "timestamp": ["TIMESTAMP '2024-02-29 12:30:00'", "TIMESTAMP '1970-01-01 00:00:00.000001'", "CAST(NULL AS TIMESTAMP)"],
    "boolean": ["true", "false", "CAST(NULL AS BOOLEAN)"],
    "ints": ["array(3, 1, 2)", "CAST(array() AS ARRAY<INT>)", "CAST(NULL AS ARRAY<INT>)"],
    "counts": ["map('x', 7)", "CAST(map() AS MAP<STRING, INT>)", "CAST(NULL AS MAP<STRING, INT>)"],
}
FUNCTIONS = {
    "ints": ["array({int}, {int})", "sort_array({ints})", "array_distinct({ints})", "concat({ints}, {ints})", "reverse({ints})", "slice({ints}, 1, 2)",
             "transform({ints}, x -> x % 3)", "filter({ints}, x -> x > {int})", "array_union({ints}, {ints})", "array_intersect({ints}, {ints})",
             "array_except({ints}, {ints})", "array_remove({ints}, {int})", "array_compact({ints})", "array_append({ints}, {int})", "array_repeat({int}, 2)",
             "coalesce({ints}, {ints})", "if({boolean}, {ints}, {ints})", "map_values({counts})", "flatten(array({ints}, {ints}))", "array_sort({ints})",
             "zip_with({ints}, {ints}, (x, y) -> coalesce(x, y))", "sequence(1, abs({int} % 4) + 1)", "array_insert({ints}, 2, {int})", "array_prepend({ints}, {int})"],
    "counts": ["map({string}, {int})", "map_filter({counts}, (k, v) -> v > 1)", "transform_values({counts}, (k, v) -> v % 5)", "coalesce({counts}, {counts})",
               "map_from_arrays(array('p', 'q'), array({int}, {int}))", "if({boolean}, {counts}, {counts})", "str_to_map('a:1,b:2') IS NULL AND false OR {boolean}"][:6],
    "int": ["size({ints})", "element_at({counts}, 'x')", "{counts}['k']", "try_element_at({ints}, 2)", "get({ints}, 0)", "array_max({ints})", "array_min({ints})",
            "cardinality({counts})", "aggregate({ints}, 0, (acc, x) -> acc + coalesce(x % 10, 0))", "array_position({ints}, {int})", "named_struct('a', {int}).a",
            "({int} + {int})", "({int} - {int})", "({int} * 3)", "({int} % 5)", "abs({int})", "length({string})",
            "year({date})", "month({timestamp})", "dayofweek({date})", "datediff({date}, {date})", "instr({string}, {string})",
            "hour({timestamp})", "coalesce({int}, {int})", "nullif({int}, {int})", "if({boolean}, {int}, {int})",
            "CASE WHEN {boolean} THEN {int} WHEN {boolean} THEN {int} END", "try_add({int}, {int})", "ascii({string})",
            "sign({int})", "({int} & {int})", "({int} | {int})", "shiftleft({int}, 2)", "bit_count({int})", "greatest({int}, {int})",
            "least({int}, {int}, {int})", "pmod({int}, 7)", "levenshtein({string}, {string})", "hash({int}, {string})",
            "quarter({date})", "weekofyear({date})", "nvl2({int}, {int}, {int})", "find_in_set({string}, 'x,abc')"],
    "bigint": ["({bigint} + {int})", "({bigint} - {bigint})", "({int} div 3)", "CAST({int} AS BIGINT)", "try_multiply({bigint}, {bigint})",
               "unix_date({date})", "ceil({double})", "floor({decimal})", "xxhash64({bigint}, {double})", "if({boolean}, {bigint}, {int})",
               "coalesce({bigint}, {int})", "try_cast({double} AS BIGINT)", "try_cast({string} AS BIGINT)", "abs({bigint})", "round({double}, 0)"],
    "double": ["({double} + {double})", "({double} * {int})", "({int} / 4)", "sqrt({double})", "CAST({decimal} AS DOUBLE)", "round({double}, 1)",
               "exp({double})", "pow({double}, 2)", "try_divide({double}, {double})", "coalesce({double}, {int})", "nanvl({double}, {double})",
               "greatest({double}, {double})", "least({double}, {double})", "bround({double}, 0)", "sign({double})", "ln({double})", "-({double})"],
    "decimal": ["({decimal} + {decimal})", "({decimal} * {decimal})", "({decimal} - {int})", "try_divide({decimal}, {decimal})", "round({decimal}, 1)",
                "CAST({int} AS DECIMAL(12,2))", "abs({decimal})", "({decimal} % 3)", "coalesce({decimal}, {decimal})", "if({boolean}, {decimal}, {int})",
                "greatest({decimal}, {int})", "CAST({decimal} AS DECIMAL(20,6))", "bround({decimal}, 1)"],
    "string": ["array_join({ints}, ',', '?')", "to_json({ints})", "to_json(struct({int} AS p, {string} AS q))", "CAST({ints} AS STRING)", "CAST({counts} AS STRING)", "array_join(map_keys({counts}), '/')", "date_format({date}, 'E d MMM y')", "to_json({counts})",
               "upper({string})", "lower({string})", "concat({string}, {string})", "({string} || {string})", "trim({string})", "substring({string}, 2, 2)",
               "substr({string}, -2)", "CAST({int} AS STRING)", "CAST({double} AS STRING)", "CAST({decimal} AS STRING)", "CAST({date} AS STRING)",
               "CAST({timestamp} AS STRING)", "replace({string}, 'x', 'yy')", "reverse({string})", "lpad({string}, 5, '*')", "rpad({string}, 3, 'ab')",
               "repeat({string}, 2)", "left({string}, 2)", "right({string}, 2)", "initcap({string})", "translate({string}, 'abx', '12')",
               "coalesce({string}, {string})", "if({boolean}, {string}, {string})", "concat_ws('-', {string}, {string})", "md5({string})",
               "regexp_replace({string}, '[a-b]', '#')", "split_part({string}, 'b', 1)", "hex({int})", "bin({int})", "CAST({boolean} AS STRING)",
               "nvl({string}, 'none')", "format_string('%s/%d', {string}, {int})", "date_format({timestamp}, 'yyyy-MM-dd')", "soundex({string})",
               "CASE {string} WHEN 'x' THEN 'one' ELSE {string} END", "overlay({string} PLACING 'Q' FROM 2)"],
    "date": ["date_add({date}, 1)", "date_sub({date}, {int} % 10)", "last_day({date})", "add_months({date}, {int} % 20)", "trunc({date}, 'MONTH')",
             "CAST({timestamp} AS DATE)", "coalesce({date}, {date})", "greatest({date}, {date})", "next_day({date}, 'MON')", "({date} + INTERVAL '1' MONTH)"],
    "timestamp": ["({timestamp} + INTERVAL '1' DAY)", "({timestamp} - INTERVAL '90' MINUTE)", "date_trunc('HOUR', {timestamp})", "CAST({date} AS TIMESTAMP)",
                  "coalesce({timestamp}, {timestamp})", "timestamp_seconds({int})", "date_trunc('WEEK', {timestamp})"],
    "boolean": ["array_contains({ints}, {int})", "exists({ints}, x -> x > {int})", "forall({ints}, x -> x > 0)", "arrays_overlap({ints}, {ints})",
                "map_contains_key({counts}, {string})", "({ints} = {ints})", "({ints} < {ints})", "(struct({int}, {string}) = struct({int}, {string}))",
                "({int} > {int})", "({int} = {bigint})", "({double} <= {double})", "({string} = {string})", "({string} < {string})", "({date} >= {date})",
                "({timestamp} <> {timestamp})", "({boolean} AND {boolean})", "({boolean} OR {boolean})", "(NOT {boolean})", "({int} IS NULL)",
                "({string} IS NOT NULL)", "({int} <=> {int})", "({int} IN (1, 2, {int}))", "({int} NOT IN (3, {int}))", "({decimal} BETWEEN {decimal} AND {decimal})",
                "({string} LIKE '%x%')", "({string} LIKE {string})", "({string} RLIKE '^[a-z]+$')", "isnan({double})", "({double} = {double})", "startswith({string}, 'x')",
                "contains({string}, {string})", "({decimal} > {int})", "({double} > {decimal})", "({boolean} = {boolean})", "({boolean} IS NOT TRUE)",
                "({double} IN (1.5D, {double}))", "({string} ILIKE 'X%')", "({string} IN ('x', {string}))", "(({int}, {string}) IN ((1, 'x'), (2, 'X')))",
                "equal_null({string}, {string})", "({boolean} <=> {boolean})", "({int} IS DISTINCT FROM {int})"],
}
AGGREGATES = ["count(*)", "count({int})", "count(DISTINCT {string})", "sum({int} % 100)", "sum({decimal})", "avg({int})", "avg({decimal})", "min({string})", "max({date})",
              "min({double} + 0.0D)", "max({double} + 0.0D)", "max({timestamp})", "min({boolean})", "bool_and({boolean})", "every({boolean})", "count_if({boolean})",
              "sum(DISTINCT {int} % 10)", "sum({int} % 7) FILTER (WHERE {boolean})", "sort_array(collect_set({int}))", "sort_array(collect_list({string}))",
              "bit_or({int})", "stddev_pop({int} % 10)", "count(DISTINCT {int}, {string})", "avg(DISTINCT {int} % 5)",
              "min(struct({int}, {string}))", "approx_count_distinct({int})", "median({int} % 10)", "try_sum({bigint})", "mode({int}) IS NOT NULL"]
TYPES = list(LITERALS)


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def expression(self, kind, depth, qualifier=""):
        if depth == 0 or self.random.random() < 0.25:
            if self.random.random() < 0.75:
                return qualifier + self.random.choice(COLUMNS[kind])
            return self.random.choice(LITERALS[kind])
        return self.fill(self.random.choice(FUNCTIONS[kind]), depth - 1, qualifier)

    def fill(self, template, depth, qualifier=""):
        out, at = "", 0
        while at < len(template):
            if template[at] == "{":
                end = template.index("}", at)
                out += self.expression(template[at + 1:end], depth, qualifier)
                at = end + 1
            else:
                out += template[at]
                at += 1
        return out

    def any(self, depth, qualifier=""):
        return self.expression(self.random.choice(TYPES), depth, qualifier)

    def where(self, qualifier=""):
        return " WHERE " + self.expression("boolean", 3, qualifier) if self.random.random() < 0.7 else ""

    def projection(self):
        items = ", ".join(f"{self.any(3)} AS c{k}" for k in range(self.random.randint(1, 3)))
        return f"SELECT {items} FROM a{self.where()}"

    def grouped(self):
        keys = [self.expression(self.random.choice([kind for kind in TYPES if kind != 'counts']), 2) for _ in range(self.random.randint(0, 2))]
        aggregates = ", ".join(f"{self.fill(self.random.choice(AGGREGATES), 1)} AS v{k}" for k in range(self.random.randint(1, 3)))
        if not keys:
            return f"SELECT {aggregates} FROM a{self.where()}"
        names = ", ".join(f"{key} AS k{at}" for at, key in enumerate(keys))
        forms = ["{}", "ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())"]
        grouping = self.random.choice(forms if self.random.random() < 0.4 else forms[:1]).format(", ".join(f"k{at}" for at in range(len(keys))))
        inner = f"SELECT *, {names} FROM a{self.where()}"
        selected = ", ".join(f"k{at}" for at in range(len(keys)))
        having = f" HAVING count(*) > {self.random.randint(0, 2)}" if self.random.random() < 0.3 else ""
        return f"SELECT {selected}, {aggregates} FROM ({inner}) GROUP BY {grouping}{having}"

    def joined(self):
        kind = self.random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN"])
        conditions = ["a.i = c.i", "a.s = c.s", "a.i = c.i AND a.s = c.s", "a.i > c.i", "a.i <=> c.i", "a.i = c.i AND a.l > c.i", "upper(a.s) = upper(c.s)",
                      "a.i = c.i OR a.s = c.s", "a.l = c.i AND a.b"]
        on = "" if kind == "CROSS JOIN" else " ON " + self.random.choice(conditions)
        right = "" if "SEMI" in kind or "ANTI" in kind else ", c.i, c.s, c.arr, c.m"
        where = " WHERE " + self.expression("boolean", 2, "a.") if self.random.random() < 0.5 else ""
        return f"SELECT a.i, a.l, a.s{right} FROM a {kind} c{on}{where}"

    def set_operation(self):
        kinds = self.random.choices([kind for kind in TYPES if kind != 'counts'], k=2)
        sides = ["SELECT " + ", ".join(f"{self.expression(kind, 2)} AS c{at}" for at, kind in enumerate(kinds)) + f" FROM a{self.where()}" for _ in range(2)]
        operator = self.random.choice(["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "MINUS"])
        return f"{sides[0]} {operator} {sides[1]}"

    def subquery(self):
        forms = ["SELECT i, s FROM a WHERE i IN (SELECT i FROM c WHERE {c})", "SELECT i, s FROM a WHERE i NOT IN (SELECT i FROM c WHERE {c})",
                 "SELECT i, s FROM a WHERE EXISTS (SELECT 1 FROM c WHERE c.i = a.i AND {c})", "SELECT i, s FROM a WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.s = a.s AND {c})",
                 "SELECT i, (SELECT max(c.i) FROM c WHERE c.s = a.s) AS m FROM a", "SELECT i, (SELECT count(*) FROM c WHERE c.i = a.i) AS m FROM a",
                 "SELECT i FROM a WHERE l > (SELECT avg(i) FROM c WHERE {c})", "SELECT i FROM a WHERE i IN (SELECT i FROM c WHERE c.s = a.s) OR {a}",
                 "SELECT i, EXISTS (SELECT 1 FROM c WHERE c.i = a.i) AS e FROM a", "SELECT a.i, x.t FROM a, LATERAL (SELECT sum(c.i) AS t FROM c WHERE c.s = a.s) x",
                 "SELECT a.i, e FROM a JOIN c ON a.i = c.i LATERAL VIEW OUTER explode(c.arr) AS e WHERE {a}",
                 "SELECT c.i, k, v FROM c LATERAL VIEW explode(m) AS k, v", "SELECT c.i, p, e FROM c LATERAL VIEW posexplode_outer(arr) AS p, e"]
        simple = self.random.choice(["c.i > 1", "c.i IS NOT NULL", "c.s <> 'x'", "true", "c.s IS NULL OR c.i < 3"])
        form = self.random.choice(forms)
        return form.replace("{c}", simple).replace("{a}", self.expression("boolean", 2, "a."))

    def window(self):
        functions = ["row_number()", "rank()", "dense_rank()", "ntile(3)", "lag(i) ", "lead(i, 2, 0)", "sum(i % 100)", "count(*)", "avg(l % 10)", "min(s)", "max(d)",
                     "first_value(i)", "last_value(i)", "nth_value(i, 2)", "percent_rank()", "cume_dist()", "lag(s, 1, 'none') IGNORE NULLS"]
        frames = ["", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                  " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING"]
        function = self.random.choice(functions)
        ranking = not any(function.startswith(name) for name in ("sum", "count", "avg", "min", "max", "first", "last", "nth"))
        frame = "" if ranking else self.random.choice(frames)
        partition = self.random.choice(["", "PARTITION BY b ", "PARTITION BY i % 3 ", "PARTITION BY s "])
        order = self.random.choice(["i, l, ts", "ts DESC, l, i", "s NULLS LAST, l, i", "d, l, i", "n DESC NULLS FIRST, l, i"])
        return f"SELECT i, l, s, {function} OVER ({partition}ORDER BY {order}{frame}) AS w FROM a{self.where()}"

    def ordered(self):
        order = self.random.choice(["i", "l", "d", "n", "s", "dt", "ts", "b"])
        direction = self.random.choice(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"])
        limit = self.random.choice(["", " LIMIT 3", " LIMIT 2 OFFSET 1", " LIMIT 0"])
        return f"SELECT i, l, d, s FROM a{self.where()} ORDER BY {order}{direction}, l, i, s{limit}"

    def query(self):
        forms = [self.projection] * 5 + [self.grouped] * 4 + [self.joined] * 3 + [self.set_operation] * 2 + [self.subquery] * 2 + [self.window] * 2 + [self.ordered]
        return self.random.choice(forms)()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    generator = Generator(arguments.seed)
    print(VIEWS.strip())
    for _ in range(arguments.count):
        print(generator.query() + ";")
