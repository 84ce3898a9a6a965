"""The same statements by nilas and by Spark, each in a warehouse of its own: are the files the same in every detail?

    python3 tests/crosswise/files.py path/to/nilas

Compared are metadata.json (keys, values, snapshot summaries), manifest lists and manifests (Avro schemas, file metadata,
entries with counts, bounds and offsets) and data files (Parquet schemas with field ids and logical types, key-value
metadata, codecs, encodings, statistics). Ids, paths, times, sizes and the names of the writers are made equal first.
"""
import glob
import json
import os
import re
import sys
import tempfile

import peers

ALL_TYPES = """id bigint NOT NULL, b boolean, i int COMMENT 'a number', l bigint, f float, d double, d5 decimal(5, 2), d18 decimal(18, 4), d38 decimal(38, 10),
    s string, c char(4), v varchar(9), x binary, dt date, ts timestamp, nt timestamp_ntz, st struct<a: int NOT NULL, b: array<string>>, ar array<struct<k: int, w: double>>,
    ma map<string, struct<z: decimal(20, 3)>>"""
ALL_VALUES = """SELECT /*+ COALESCE(1) */ * FROM VALUES
    (1L, true, 1, 2L, 1.5F, 2.5D, 1.25BD, 12345.6789BD, 1.5BD, 'a rather long text for a bound', 'ab', 'v1', X'00FF', DATE'2024-01-01', TIMESTAMP'2024-01-01 10:00:00.123456',
     TIMESTAMP_NTZ'2024-01-01 10:00:00', named_struct('a', 1, 'b', array('x', NULL)), array(named_struct('k', 1, 'w', 1.0D)), map('k', named_struct('z', 1.5BD))),
    (2L, false, -1, -2L, float('NaN'), double('NaN'), -1.25BD, -12345.6789BD, -1.5BD, 'ñ', 'c', 'v2', X'', DATE'1969-12-31', TIMESTAMP'1969-12-31 23:59:59.999999',
     TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', named_struct('a', 2, 'b', array()), array(), map()),
    (3L, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) AS rows
    (id, b, i, l, f, d, d5, d18, d38, s, c, v, x, dt, ts, nt, st, ar, ma)"""
MERGE_ON_READ = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
# through another table, where all is nullable: Spark writes what a query cannot make null as required into the files
SOURCE = [f"CREATE TABLE {{t}}_source ({ALL_TYPES}) USING iceberg", f"INSERT INTO {{t}}_source {ALL_VALUES}"]
FILL = "INSERT INTO {t} SELECT * FROM {t}_source"
TABLES = {
    "types": SOURCE + [f"CREATE TABLE {{t}} ({ALL_TYPES}) USING iceberg COMMENT 'every type'", FILL],
    "types_v1": SOURCE + [f"CREATE TABLE {{t}} ({ALL_TYPES}) USING iceberg TBLPROPERTIES ('format-version'='1')", FILL],
    "partitioned": SOURCE + [f"CREATE TABLE {{t}} ({ALL_TYPES}) USING iceberg PARTITIONED BY (days(ts), bucket(4, s), truncate(2, x), d5, years(dt)) "
                    "TBLPROPERTIES ('write.parquet.compression-codec'='snappy', 'write.metadata.metrics.default'='full', 'write.metadata.metrics.column.i'='none', "
                    "'write.metadata.metrics.column.l'='counts')",
                    FILL, "DELETE FROM {t} WHERE id = 3"],
    "sorted": ["CREATE TABLE {t} (id bigint, s string) USING iceberg TBLPROPERTIES ('write.parquet.compression-codec'='gzip', 'owner.team'='tests')",
               "ALTER TABLE {t} WRITE ORDERED BY s DESC NULLS LAST, id", "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('t', id % 7) FROM range(0, 100, 1, 1)",
               "ALTER TABLE {t} SET TBLPROPERTIES ('extra'='1')", "ALTER TABLE {t} UNSET TBLPROPERTIES ('extra')",
               "ALTER TABLE {t} CREATE BRANCH b RETAIN 3 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS 4 DAYS", "ALTER TABLE {t} CREATE TAG g RETAIN 5 DAYS",
               "INSERT INTO {t}.branch_b SELECT 1000, 'in the branch'"],
    "copied": ["CREATE TABLE {t} (id bigint, s string, day date) USING iceberg PARTITIONED BY (day)",
               "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('t', id), date'2024-01-01' + CAST(id % 3 AS int) FROM range(0, 30, 1, 1)",
               "DELETE FROM {t} WHERE id = 4", "UPDATE {t} SET s = 'new' WHERE id = 5",
               "MERGE INTO {t} AS t USING (SELECT id, 'm' AS s, date'2024-01-02' AS day FROM range(28, 32, 1, 1)) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s "
               "WHEN NOT MATCHED THEN INSERT *", "DELETE FROM {t} WHERE day = date'2024-01-03'", "INSERT OVERWRITE {t} SELECT 1, 'over', date'2024-01-01'"],
    "merged": [f"CREATE TABLE {{t}} (id bigint, s string, day date) USING iceberg PARTITIONED BY (day) TBLPROPERTIES ({MERGE_ON_READ})",
               "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('t', id), date'2024-01-01' + CAST(id % 3 AS int) FROM range(0, 30, 1, 1)",
               "DELETE FROM {t} WHERE id = 4", "UPDATE {t} SET s = 'new' WHERE id = 5",
               "MERGE INTO {t} AS t USING (SELECT id, 'm' AS s, date'2024-01-02' AS day FROM range(28, 32, 1, 1)) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s "
               "WHEN NOT MATCHED THEN INSERT *"],
    "evolved": ["CREATE TABLE {t} (id int, s string, st struct<a: int, b: string>) USING iceberg PARTITIONED BY (bucket(2, id))",
                "INSERT INTO {t} SELECT 1, 'a', named_struct('a', 1, 'b', 'x')", "ALTER TABLE {t} ADD COLUMN n double COMMENT 'new' AFTER id", "ALTER TABLE {t} RENAME COLUMN s TO t",
                "ALTER TABLE {t} ALTER COLUMN id TYPE bigint", "ALTER TABLE {t} ADD COLUMN st.c date", "ALTER TABLE {t} DROP COLUMN st.a", "ALTER TABLE {t} ADD PARTITION FIELD truncate(3, t) AS tt",
                "INSERT INTO {t} SELECT 2, 1.5, 'abcdef', named_struct('b', 'y', 'c', date'2024-01-01')", "ALTER TABLE {t} REPLACE PARTITION FIELD tt WITH t", "ALTER TABLE {t} DROP PARTITION FIELD bucket(2, id)",
                "INSERT INTO {t} SELECT 3, 2.5, 'abc', NULL", "ALTER TABLE {t} ALTER COLUMN t DROP NOT NULL"],
    "made": ["CREATE TABLE {t} USING iceberg PARTITIONED BY (truncate(1, s)) TBLPROPERTIES ('k'='v') AS SELECT id, concat('x', id) AS s, id * 1.5 AS d FROM range(0, 4, 1, 1)",
             "CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT id, 'z' AS s FROM range(0, 4, 1, 1)"],
}


# ---- making equal ------------------------------------------------------------------------------------------------------

WRITERS = {"app-id", "spark.app.id", "iceberg-version", "engine-version", "engine-name"}


def normal(value, ids, key=""):
    """JSON without what differs from run to run; ids become their number in order of appearance."""
    if isinstance(value, dict):
        return {name: normal(part, ids, name) for name, part in value.items()}
    if isinstance(value, list):
        return [normal(part, ids, key) for part in value]
    if key in WRITERS:
        return "writer"
    if "snapshot-id" in key and value not in (None, -1):
        return f"snapshot {ids.setdefault(str(value), len(ids))}"
    if key.endswith("-ms") and "age" not in key:
        return "time"
    if key.endswith("files-size"):
        return "size"
    if key in ("table-uuid", "location", "manifest-list", "metadata-file"):
        return re.sub(r".*/", "", re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{15,}", "#", str(value))) if key != "location" else "location"
    return value


def differences(left, right, path=""):
    """Lines that say where two JSON values differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in list(left) + [key for key in right if key not in left]:
            if key not in right:
                yield f"{path}.{key}: only nilas has it: {str(left[key])[:120]}"
            elif key not in left:
                yield f"{path}.{key}: only Spark has it: {str(right[key])[:120]}"
            else:
                yield from differences(left[key], right[key], f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right)):
            yield from differences(one, other, f"{path}[{number}]")
    elif left != right:
        yield f"{path}: nilas {str(left)[:200]}, Spark {str(right)[:200]}"


# ---- files -------------------------------------------------------------------------------------------------------------

def avro_header(path):
    """The file metadata of an Avro container: a map of bytes."""
    data = open(path, "rb").read()
    at = 4

    def number():
        nonlocal at
        shift = result = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return (result >> 1) ^ -(result & 1)

    def text():
        nonlocal at
        length = number()
        at += length
        return data[at - length:at]

    found = {}
    while (count := number()) != 0:
        if count < 0:
            count = -count
            number()
        for _ in range(count):
            key = text().decode()
            found[key] = text().decode()
    return {key: json.loads(value) if value[:1] in "{[" else value for key, value in found.items()}


def parquet_facts(path):
    from pyarrow import parquet
    file = parquet.ParquetFile(path)
    footer = file.metadata
    facts = {"schema": str(file.schema).split("\n", 1)[1].split("\n"), "version": footer.format_version, "row groups": footer.num_row_groups}
    facts["key-values"] = {key.decode(): json.loads(value) if value[:1] == b"{" else value.decode() for key, value in (footer.metadata or {}).items()}
    facts["key-values"] = {key: value for key, value in facts["key-values"].items() if not key.startswith("ARROW")}
    facts["columns"] = {}
    for number in range(footer.num_columns if footer.num_row_groups else 0):
        column = footer.row_group(0).column(number)
        statistics = column.statistics
        facts["columns"][column.path_in_schema] = {
            "codec": column.compression, "type": column.physical_type, "values": column.num_values,
            "nulls": statistics.null_count if statistics else None}
        if statistics and column.physical_type not in ("FLOAT", "DOUBLE"):  # of NaN alone nilas gives no range
            facts["columns"][column.path_in_schema]["range"] = statistics.has_min_max
    return facts


def files_by_kind(warehouse, table):
    folder = f"{warehouse}/{table.replace('.', '/')}"
    lists = sorted(glob.glob(f"{folder}/metadata/snap-*.avro"), key=os.path.getmtime)
    manifests = sorted(glob.glob(f"{folder}/metadata/*-m[0-9]*.avro"), key=os.path.getmtime)
    return lists, manifests


ENTRIES = """SELECT e.status, e.sequence_number, e.file_sequence_number, e.data_file.content, e.data_file.file_format, e.data_file.spec_id, e.data_file.partition, e.data_file.record_count,
    sort_array(map_keys(e.data_file.column_sizes)) AS sized, e.data_file.value_counts, e.data_file.null_value_counts, e.data_file.nan_value_counts,
    e.data_file.lower_bounds, e.data_file.upper_bounds, e.data_file.key_metadata, e.data_file.split_offsets, e.data_file.file_size_in_bytes > 0 AS has_size, e.data_file.equality_ids, e.data_file.sort_order_id,
    e.data_file.referenced_data_file IS NULL AS no_reference, e.data_file.content_offset, e.data_file.first_row_id FROM {t}.{entries} AS e"""


def is_partitioned(spark, table):
    return "partition" in spark.session.sql(f"SELECT * FROM lake.{table}.all_files").columns


def entry_lines(spark, table):
    lines = []
    query = ENTRIES if is_partitioned(spark, table) else ENTRIES.replace("e.data_file.partition, ", "")
    for name in ("entries", "all_entries"):
        for line in spark.run(query.format(t=f"lake.{table}", entries=name)):
            lines.append(re.sub(r"/\S*?/data/[^,}]*", "path", f"{name}\t{line}"))  # bounds of file_path in delete files
    return sorted(lines)


def data_files(spark, table):
    partition = "partition" if is_partitioned(spark, table) else "NULL"
    query = f"SELECT content, {partition}, record_count, lower_bounds[1], file_path FROM lake.{table}.all_files"
    found = []
    for row in spark.session.sql(query).collect():
        found.append(((row[0], str(row[1]), row[2], str(row[3])), row[4].replace("file:", "")))
    return sorted(set(found))


def compare_table(score, nilas, spark, other, table):
    """nilas wrote below nilas.warehouse, Spark below spark.warehouse; `other` is Spark reading what nilas wrote."""
    def check(label, left, right):
        lines = list(differences(left, right))
        if not lines:
            score.passed += 1
            return
        score.failed.append(label)
        print(f"FAILED {table}, {label}")
        for line in lines[:25]:
            print(f"    {line}")

    metadata = []
    for warehouse in (nilas.warehouse, spark.warehouse):
        with open(peers.current_metadata(warehouse, table), encoding="utf-8") as file:
            metadata.append(normal(json.load(file), {}))
    check("metadata.json", *metadata)
    check("order of keys in metadata.json", list(metadata[0]), list(metadata[1]))
    mine, theirs = files_by_kind(nilas.warehouse, table), files_by_kind(spark.warehouse, table)
    for label, left, right in (("manifest list", mine[0], theirs[0]), ("manifest", mine[1], theirs[1])):
        check(f"{label}s, how many", len(left), len(right))
        headers = [sorted((normal(avro_header(path), {}) for path in paths), key=json.dumps) for paths in (left, right)]  # Spark writes some at once
        for number, (one, two) in enumerate(zip(*headers)):
            check(f"header of {label} {number}", one, two)
    check("entries", entry_lines(other, table), entry_lines(spark, table))
    left, right = data_files(other, table), data_files(spark, table)
    check("data files", [key for key, _ in left], [key for key, _ in right])
    for (key, one), (_, two) in zip(left, right):
        if os.path.exists(one) and os.path.exists(two):
            facts = [parquet_facts(one), parquet_facts(two)]
            if not table.startswith(("files.types", "files.partitioned")):
                facts = [json.loads(json.dumps(part).replace("required ", "optional ").replace('"required": true', '"required": false')) for part in facts]
            check(f"Parquet file {key[:3]}", *facts)


def main():
    score = peers.Score()
    with tempfile.TemporaryDirectory() as mine, tempfile.TemporaryDirectory() as theirs:
        nilas, spark, other = peers.Nilas(sys.argv[1], mine), peers.Spark(theirs), peers.Spark(mine)
        for name, steps in TABLES.items():
            if len(sys.argv) > 2 and name not in sys.argv[2:]:
                continue
            try:
                for step in steps:
                    for engine in (nilas, spark):
                        engine.run(step.replace("{t}", f"lake.files.{name}"))
                compare_table(score, nilas, spark, other, f"files.{name}")
            except peers.SqlError as error:
                score.fail(name, str(error)[:600])
    return score.finish("files crosswise")


if __name__ == "__main__":
    sys.exit(main())
