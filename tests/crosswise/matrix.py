"""Tables of every type, partition transform, format version and row-level mode, with evolving schemas and partitions.

    python3 tests/crosswise/matrix.py --sql FOLDER           writes FOLDER/matrix_*.sql for tests/record_sql.py
    python3 tests/crosswise/matrix.py path/to/nilas [--full] each table made by nilas is read by Spark, PyIceberg and
                                                             DuckDB; each table made by Spark is read by nilas

The recorded files compare every answer with Spark's without a JVM; the crosswise half compares files on disk.
Without --full it takes one of each kind.
"""
import argparse
import collections
import pathlib
import re
import sys
import tempfile

import peers

Kind = collections.namedtuple("Kind", "name type values transforms other")
DATES = ["DATE'0001-01-01'", "DATE'1582-10-15'", "DATE'1969-12-31'", "DATE'1970-01-01'", "DATE'2024-02-29'", "DATE'9999-12-31'"]
TIMES = ["1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2024-02-29 12:34:56.789", "2024-02-29 13:00:00.000001", "1900-01-01 01:02:03",
         "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]
YEARS = ["years(v)", "months(v)", "days(v)"]
KINDS = [
    Kind("boolean", "boolean", ["true", "false"], ["v"], "true"),
    Kind("tinyint", "tinyint", ["-128Y", "0Y", "127Y"], ["v", "bucket(4, v)", "truncate(10, v)"], "5Y"),
    Kind("smallint", "smallint", ["-32768S", "0S", "32767S"], ["v"], "5S"),
    Kind("int", "int", ["-2147483648", "-1", "0", "1", "34", "2147483647"], ["v", "bucket(4, v)", "truncate(10, v)"], "7"),
    Kind("bigint", "bigint", ["-9223372036854775808", "-1L", "0L", "34L", "9223372036854775807L"], ["v", "bucket(16, v)", "truncate(100, v)"], "7L"),
    Kind("float", "float", ["float('NaN')", "float('Infinity')", "float('-Infinity')", "-0.0F", "0.0F", "1.5F", "float('3.4028235E38')", "float('1.4E-45')"], ["v"], "2.5F"),
    Kind("double", "double", ["double('NaN')", "double('Infinity')", "double('-Infinity')", "-0.0D", "0.0D", "1.5D", "1.7976931348623157E308D", "4.9E-324D"], ["v"], "2.5D"),
    Kind("decimal5", "decimal(5, 2)", ["-999.99BD", "-0.01BD", "0BD", "12.34BD", "999.99BD"], ["v", "bucket(4, v)", "truncate(50, v)"], "1.5BD"),
    Kind("decimal9", "decimal(9, 0)", ["-999999999BD", "0BD", "999999999BD"], ["v", "bucket(4, v)", "truncate(50, v)"], "15BD"),
    Kind("decimal18", "decimal(18, 4)", ["-99999999999999.9999BD", "0.0001BD", "99999999999999.9999BD"], ["v", "bucket(4, v)", "truncate(10, v)"], "1.5BD"),
    Kind("decimal38", "decimal(38, 10)", ["-9999999999999999999999999999.9999999999BD", "-0.0000000001BD", "14.20BD", "9999999999999999999999999999.9999999999BD"],
         ["v", "bucket(4, v)", "truncate(10, v)"], "1.5BD"),
    Kind("string", "string", ["''", "'a'", "'iceberg'", "'a much longer text than sixteen'", "'ñandú'", "'😀😀 emoji text that is long'", "'a/b=c d%'"],
         ["v", "bucket(4, v)", "truncate(3, v)"], "'other'"),
    Kind("varchar", "varchar(10)", ["'a'", "'ten chars.'"], ["v"], "'other'"),
    Kind("char", "char(3)", ["'a'", "'abc'"], ["v"], "'o'"),
    Kind("binary", "binary", ["X''", "X'00'", "X'00FF'", "X'7F'", "X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'", "X'000102030405060708090A0B0C0D0E0F1011'"],
         ["v", "bucket(4, v)", "truncate(2, v)"], "X'AB'"),
    Kind("date", "date", DATES, ["v", "bucket(4, v)"] + YEARS, "DATE'2020-01-01'"),
    Kind("timestamp", "timestamp", [f"TIMESTAMP'{text}'" for text in TIMES], ["v", "bucket(4, v)"] + YEARS + ["hours(v)"], "TIMESTAMP'2020-01-01 10:00:00'"),
    Kind("ntz", "timestamp_ntz", [f"TIMESTAMP_NTZ'{text}'" for text in TIMES], ["v", "bucket(4, v)"] + YEARS + ["hours(v)"], "TIMESTAMP_NTZ'2020-01-01 10:00:00'"),
    Kind("struct", "struct<a: int, b: string>", ["named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', 'y')", "named_struct('a', 2, 'b', NULL)"],
         ["bucket(3, v.a)"], "named_struct('a', 9, 'b', 'z')"),
    Kind("array", "array<int>", ["array(1, 2, 3)", "array()", "array(NULL)", "array(1, NULL)"], [], "array(9)"),
    Kind("map", "map<string, int>", ["map('a', 1)", "map()", "map('b', NULL, 'c', 3)"], [], "map('z', 9)"),
    Kind("nested", "array<struct<x: double, y: array<string>, z: map<int, struct<q: date>>>>",
         ["array(named_struct('x', 1.5D, 'y', array('p', NULL), 'z', map(1, named_struct('q', DATE'2020-01-01'))))", "array()",
          "array(NULL, named_struct('x', NULL, 'y', NULL, 'z', NULL))",
          "array(named_struct('x', 0.5D, 'y', array(), 'z', map()), named_struct('x', 2.5D, 'y', array('q'), 'z', map(3, NULL)))"],
         [], "array(named_struct('x', 9D, 'y', array('n'), 'z', map()))"),
]
LAYOUTS = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read")]
MODES = "'write.delete.mode'='{0}', 'write.update.mode'='{0}', 'write.merge.mode'='{0}'"


class Case:
    """One table and the statements on it; `{t}` is its name."""

    def __init__(self, name, columns, partition, version, mode, steps, kind=None):
        self.name = name
        self.kind = kind
        modes = MODES.format(mode)
        by = f"PARTITIONED BY ({partition})" if partition else ""
        create = f"CREATE TABLE {{t}} ({columns}) USING iceberg {by} TBLPROPERTIES ('format-version'='{version}', {modes})"
        self.steps = [create] + steps


def rows(pairs, columns):
    values = ", ".join(f"({number}, {value})" for number, value in pairs)
    return f"SELECT /*+ COALESCE(1) */ id, v FROM VALUES {values} AS rows({columns})"


def kind_steps(kind):
    # values are stored by casts: a literal of another width, a null of no type
    pairs = list(enumerate(kind.values + ["NULL"] + kind.values))
    last = len(pairs)
    stored = f"INSERT INTO {{t}} {rows(pairs, 'id, v')}"
    return [
        stored,
        f"UPDATE {{t}} SET v = {kind.other} WHERE id = 1",
        f"DELETE FROM {{t}} WHERE id = {last - 1}",
        f"MERGE INTO {{t}} AS t USING (SELECT id, v FROM VALUES (0, {kind.other}), ({last + 10}, {kind.values[-1]}), (2, NULL) AS s(id, v)) AS s ON t.id = s.id "
        "WHEN MATCHED AND s.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        stored,
    ]


def kind_cases():
    """Every type by every transform; the layouts take turns, all three meet the unpartitioned table."""
    turn = 0
    for kind in KINDS:
        for transform in [""] + kind.transforms:
            for layout in LAYOUTS if not transform else [LAYOUTS[turn % 3], LAYOUTS[(turn + 1) % 3]]:
                name = f"{kind.name}_{transform or 'plain'}_v{layout[0]}_{layout[1][0]}"
                name = "".join(letter if letter.isalnum() else "_" for letter in name).replace("__", "_")
                yield kind, Case(name, f"id bigint, v {kind.type}", transform, *layout, kind_steps(kind), kind)
            turn += 1


def evolution_cases():
    """Columns and partitions that change under files of all ages."""
    insert = "INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ {} FROM range(0, 8, 1, 1)"
    for version, mode in LAYOUTS:
        tag = f"v{version}_{mode[0]}"
        yield Case(f"columns_{tag}", "id int, name string, price decimal(6, 2), f float, s struct<a: int, b: string>, l array<struct<k: int>>, m map<string, int>", "", version, mode, [
            insert.format("id, concat('n', id), id, id, named_struct('a', id, 'b', 'x'), array(named_struct('k', id)), map('k', id)"),
            "ALTER TABLE {t} ALTER COLUMN id TYPE bigint",
            "ALTER TABLE {t} ALTER COLUMN price TYPE decimal(12, 2)",
            "ALTER TABLE {t} ALTER COLUMN f TYPE double",
            "ALTER TABLE {t} ADD COLUMN note string AFTER id",
            "ALTER TABLE {t} ADD COLUMN s.c double",
            "ALTER TABLE {t} ADD COLUMN l.element.n string FIRST",
            "ALTER TABLE {t} RENAME COLUMN name TO title",
            "ALTER TABLE {t} RENAME COLUMN s.b TO bb",
            "INSERT INTO {t} VALUES (9000000000, 'noted', 'title', 1234567890.12, 0.1, named_struct('a', 1, 'bb', 'y', 'c', 2.5), array(named_struct('n', 'q', 'k', 1)), map('z', 1))",
            "ALTER TABLE {t} DROP COLUMN price",
            "ALTER TABLE {t} DROP COLUMN s.a",
            "ALTER TABLE {t} ADD COLUMN price string",
            "ALTER TABLE {t} ALTER COLUMN note FIRST",
            "UPDATE {t} SET price = 'cheap', note = 'changed' WHERE id = 3",
            "DELETE FROM {t} WHERE id IN (4, 5)",
            "MERGE INTO {t} AS t USING (SELECT CAST(id AS bigint) AS id FROM range(6, 10)) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET title = 'merged' "
            "WHEN NOT MATCHED THEN INSERT (id, title) VALUES (s.id, 'new')",
        ])
        yield Case(f"partitions_{tag}", "id bigint, ts timestamp, word string", "days(ts)", version, mode, [
            insert.format("id, timestamp'2024-03-01 00:00:00' + make_interval(0, 0, 0, CAST(id % 3 AS int), CAST(id AS int), 0, 0), concat('w', id % 4)"),
            "ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id) AS shard",
            insert.format("id + 10, timestamp'2024-03-02 00:00:00', concat('w', id % 2)"),
            "ALTER TABLE {t} REPLACE PARTITION FIELD days(ts) WITH months(ts)",
            insert.format("id + 20, timestamp'2024-04-01 05:00:00', IF(id = 3, NULL, 'words')"),
            "ALTER TABLE {t} DROP PARTITION FIELD shard",
            "ALTER TABLE {t} ADD PARTITION FIELD word",
            insert.format("id + 30, IF(id = 1, NULL, timestamp'2024-05-01 05:00:00'), concat('w', id % 2)"),
            "DELETE FROM {t} WHERE ts >= timestamp'2024-04-01 00:00:00' AND ts < timestamp'2024-05-01 00:00:00' AND word IS NULL",
            "UPDATE {t} SET word = 'moved' WHERE id IN (1, 11, 21, 31)",
            "MERGE INTO {t} AS t USING (SELECT * FROM VALUES (2L, 'a'), (12L, 'b'), (32L, 'c'), (99L, 'd') AS s(id, word)) AS s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET word = s.word WHEN NOT MATCHED THEN INSERT (id, word) VALUES (s.id, s.word)",
            # not ts < … alone: Iceberg 1.10 then takes files whose partition is null for matching, and loses their rows
            "DELETE FROM {t} WHERE ts >= timestamp'2024-03-01 00:00:00' AND ts < timestamp'2024-03-02 00:00:00'",
        ])
        yield Case(f"renamed_field_{tag}", "id bigint, c string", "truncate(2, c)", version, mode, [
            insert.format("id, concat('abc', id % 3)"),
            "ALTER TABLE {t} RENAME COLUMN c TO d",
            insert.format("id, concat('xyz', id % 3)"),
            "ALTER TABLE {t} DROP PARTITION FIELD truncate(2, d)",
            insert.format("id, 'loose'"),
            "DELETE FROM {t} WHERE d = 'loose' AND id < 3",
        ])


def version_3_cases():
    """Deletion vectors, and rows that keep their identity."""
    for kind in KINDS:
        if kind.name not in ("int", "string", "timestamp", "decimal38", "nested"):
            continue
        for mode in ("copy-on-write", "merge-on-read"):
            for transform in [""] + kind.transforms[1:2]:
                name = "".join(letter if letter.isalnum() else "_" for letter in f"{kind.name}_{transform or 'plain'}_v3_{mode[0]}")
                yield kind, Case(name.replace("__", "_"), f"id bigint, v {kind.type}", transform, 3, mode, kind_steps(kind), kind)


def all_cases():
    for _, case in kind_cases():
        yield case
    yield from evolution_cases()
    for _, case in version_3_cases():
        yield case


# ---- the recorded half -------------------------------------------------------------------------------------------------

FACTS = [
    "SELECT * FROM {t} ORDER BY id, 2",
    "SELECT operation, summary['added-data-files'], summary['deleted-data-files'], summary['added-delete-files'], summary['added-records'], summary['deleted-records'], "
    "summary['added-position-deletes'], summary['changed-partition-count'], summary['total-records'], summary['total-data-files'], summary['total-delete-files'], "
    "summary['total-position-deletes'] FROM {t}.snapshots ORDER BY committed_at",
]
VALUE_FACTS = [
    "SELECT content, record_count, value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds, sort_order_id FROM {t}.files WHERE content = 0",
]
IDENTITY = "SELECT id, _row_id, _last_updated_sequence_number FROM {t} ORDER BY id, 2"
PARTITIONS = "SELECT partition, spec_id, record_count, file_count, position_delete_record_count FROM {t}.partitions"


def case_sql(case, kind=None):
    yield f"-- {case.name}"
    for step in case.steps[:2] if kind else case.steps:
        yield step + ";\n"
    facts = list(FACTS)
    if kind and kind.name in ("map", "nested"):  # maps have no order
        facts[0] = facts[0].replace(" ORDER BY id, 2", "")
    if "PARTITIONED" in case.steps[0]:
        facts.append(PARTITIONS)
    if kind:
        for fact in facts[:1] + VALUE_FACTS + facts[2:]:
            if kind.name == "struct":  # the order of a map's entries is Java's affair
                fact = fact.replace("lower_bounds, upper_bounds", "array_sort(map_entries(lower_bounds)) AS low, array_sort(map_entries(upper_bounds)) AS high")
            yield fact + ";\n"
        for test in comparisons(kind, case.steps[0]):
            yield f"SELECT count(*), sum(id) FROM {{t}} WHERE {test};\n"
        for step in case.steps[2:]:
            yield step + ";\n"
    if "_v3_" in case.name:
        # the order of a commit's files, which numbers the rows, is free
        facts += [IDENTITY.replace("_row_id, ", "") if "PARTITIONED" in case.steps[0] else IDENTITY, "SELECT content, file_format, record_count FROM {t}.files"]
    for fact in facts:
        yield fact + ";\n"
    yield "DROP TABLE {t};\n"


def comparisons(kind, definition):
    if kind.name in ("array", "struct", "map", "nested"):
        return ["v IS NULL"]
    middle = kind.values[len(kind.values) // 2]
    tests = [f"v = {kind.values[0]}", f"v > {middle}", f"v <= {middle}", "v IS NULL", f"v IN ({kind.values[-1]}, {kind.other})", f"NOT (v <=> {middle})"]
    if kind.name in ("float", "double"):
        # Iceberg 1.10 leaves out files of NaN for v > x, and takes -0.0 for another value than 0.0: Spark's answers are wrong then
        if "PARTITIONED BY" in definition:
            tests = [tests[0]] + tests[2:5]
        tests += ["isnan(v)", "NOT isnan(v)", f"v < {kind.values[1]}"]
    if kind.name in ("int", "bigint") and "truncate(" in definition:
        # next to the smallest integer truncate wraps round, and Iceberg 1.10 looks for such rows at the wrong end
        tests.remove(f"v <= {middle}")
    if kind.name == "string":
        tests += ["v LIKE 'a%'", "startswith(v, '😀')"]
    return tests


def write_sql(folder):
    files = collections.defaultdict(list)
    for kind, case in kind_cases():
        files[kind.name].append((kind, case))
    for case in evolution_cases():
        files["evolution"].append((None, case))
    for kind, case in version_3_cases():
        files["version3"].append((kind, case))
    for name, cases in files.items():
        namespace = f"matrix_{name}"
        out = ["-- Written by tests/crosswise/matrix.py --sql.", f"CREATE NAMESPACE lake.{namespace};\n"]
        for kind, case in cases:
            out += [line.replace("{t}", f"lake.{namespace}.{case.name}") for line in case_sql(case, kind)]
        out.append(f"DROP NAMESPACE lake.{namespace};\n")
        pathlib.Path(folder, f"matrix_{name}.sql").write_text("\n".join(out), encoding="utf-8")


# ---- the crosswise half ------------------------------------------------------------------------------------------------

def sample():
    """Each type once and each evolution once: format version 2 with merge-on-read where there is a choice."""
    seen = set()
    for kind, case in kind_cases():
        key = kind.name
        wanted = case.name.endswith("_v2_m") and (("_plain_" not in case.name) or not kind.transforms)
        if wanted and key not in seen:
            seen.add(key)
            yield case
    yield from (case for case in evolution_cases() if case.name.endswith("_v2_m"))


def both_refuse(score, nilas, spark, case):
    """Some values fit no partition: the smallest decimals truncated. True when both say so, in the same words."""
    said = {}
    for writer in (nilas, spark):
        try:
            writer.run(";\n".join(step.replace("{t}", f"lake.matrix.{writer.name.lower()}_{case.name}") for step in case.steps))
        except peers.SqlError as error:
            found = re.search(r"Cannot write value as decimal\S+, too large: \S+", str(error))
            said[writer.name] = found.group(0) if found else str(error)
    if said:
        score.check(f"{case.name} is refused", "nilas", said.get("nilas", "taken"), "Spark", said.get("Spark", "taken"))
    return bool(said)


def compare_case(score, nilas, spark, duck, case):
    if both_refuse(score, nilas, spark, case):
        return
    for writer in (nilas, spark):
        short = f"matrix.{writer.name.lower()}_{case.name}"
        table = f"lake.{short}"
        label = f"{case.name} by {writer.name}"
        queries = [f"SELECT * FROM {table}", f"SELECT * FROM {table}.partitions", f"SELECT * FROM {table}.files", f"SELECT * FROM {table}.position_deletes",
                   f"SELECT count(*), min(id), max(id) FROM {table}"]
        if case.kind:  # filters by which files, row groups and pages are left out
            tests = comparisons(case.kind, case.steps[0])
            queries.append(" UNION ALL ".join(f"SELECT {number}, count(*), sum(id) FROM {table} WHERE {test}" for number, test in enumerate(tests)))
        for query in queries:
            try:
                score.check(f"{label}, {query}", "nilas", sorted(nilas.run(query)), "Spark", sorted(spark.run(query)))
            except peers.SqlError as error:
                if "ExpressionUtil.identitySpec" not in str(error):  # Iceberg 1.10 cannot read position_deletes of tables with lists or maps
                    score.fail(f"{label}, {query}", error)
        wanted = peers.as_values(spark.rows(f"SELECT * FROM {table}"))
        for name, read in (("PyIceberg", lambda: peers.pyiceberg_rows(spark.warehouse, short)), ("DuckDB", lambda: duck.rows(spark.warehouse, short))):
            try:
                sides = [wanted, peers.as_values(read())]
                if name == "PyIceberg":
                    sides = [sorted(map(peers.without_empty, side), key=repr) for side in sides]
                score.check(f"{label}, read by {name}", "Spark", sides[0], name, sides[1])
            except Exception as error:
                score.fail(f"{label}, read by {name}", str(error)[:300])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sql", metavar="FOLDER")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("nilas", nargs="?")
    arguments = parser.parse_args()
    if arguments.sql:
        write_sql(arguments.sql)
        return 0
    score = peers.Score()
    with tempfile.TemporaryDirectory() as warehouse:
        nilas, spark, duck = peers.Nilas(arguments.nilas, warehouse), peers.Spark(warehouse), peers.Duck()
        nilas.run("CREATE NAMESPACE lake.matrix")
        for case in all_cases() if arguments.full else sample():
            compare_case(score, nilas, spark, duck, case)
    return score.finish("the matrix crosswise")


if __name__ == "__main__":
    sys.exit(main())
