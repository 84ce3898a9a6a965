"""Tables whose data and delete files are not Parquet: written by Spark and read by nilas, the other way round, and in turn.

    python3 tests/crosswise/formats.py path/to/nilas [--full]

After each step both engines read the table. With --full there are more codecs, versions and mixtures of formats.
"""
import argparse
import struct
import sys
import tempfile

import peers
from files import ALL_TYPES, ALL_VALUES

FORMATS = ["avro", "orc"]
CODECS = {"avro": ["zstd", "snappy", "uncompressed", "gzip"], "orc": ["zlib", "zstd", "snappy", "lz4", "none"]}
MERGE_ON_READ = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"

EVOLUTION = [
    "CREATE TABLE {t} (id int, f float, d decimal(6, 2), s string, gone int, st struct<a: int, b: string>, li array<struct<x: int>>, m map<string, struct<y: float>>) "
    "USING iceberg TBLPROPERTIES ({properties})",
    "INSERT INTO {t} SELECT /*+ COALESCE(1) */ CAST(id AS int), id / 4, CAST(id AS decimal(6, 2)) / 8, concat('s', id), 7, named_struct('a', CAST(id AS int), 'b', 'x'), "
    "array(named_struct('x', CAST(id AS int))), map('k', named_struct('y', float(id))) FROM range(20)",
    "ALTER TABLE {t} ALTER COLUMN id TYPE bigint", "ALTER TABLE {t} ALTER COLUMN f TYPE double", "ALTER TABLE {t} ALTER COLUMN d TYPE decimal(20, 2)",
    "ALTER TABLE {t} ALTER COLUMN st.a TYPE bigint", "ALTER TABLE {t} ALTER COLUMN m.value.y TYPE double", "ALTER TABLE {t} RENAME COLUMN s TO text",
    "ALTER TABLE {t} DROP COLUMN gone", "ALTER TABLE {t} ADD COLUMN more string FIRST", "ALTER TABLE {t} ADD COLUMN gone date", "ALTER TABLE {t} ADD COLUMN st.c double FIRST",
    "ALTER TABLE {t} ADD COLUMN li.element.z string", "ALTER TABLE {t} RENAME COLUMN st.b TO bb",
    "INSERT INTO {t} SELECT /*+ COALESCE(1) */ 'new', id + 3000000000, id, id, 'text', named_struct('c', 1.5D, 'a', id, 'bb', 'y'), array(named_struct('x', 1, 'z', 'zz')), "
    "map('n', named_struct('y', 2.5D)), DATE'2024-01-01' FROM range(3)",
    "UPDATE {t} SET st.c = 9 WHERE id % 7 = 3",
]
ROWS = [
    "CREATE TABLE {t} (id bigint, p int, s string) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ({properties})",
    "INSERT INTO {t} SELECT id, id % 3, concat('s', id) FROM range(300)",
    "DELETE FROM {t} WHERE id % 10 = 3",
    "UPDATE {t} SET s = 'updated' WHERE id % 25 = 1",
    "MERGE INTO {t} t USING (SELECT id, concat('m', id) AS s FROM range(290, 310)) u ON t.id = u.id WHEN MATCHED THEN UPDATE SET s = u.s "
    "WHEN NOT MATCHED THEN INSERT (id, p, s) VALUES (u.id, 7, u.s)",
    "DELETE FROM {t} WHERE p = 2",
    "ALTER TABLE {t} REPLACE PARTITION FIELD p WITH bucket(2, id)",
    "INSERT INTO {t} SELECT id, 5, 'late' FROM range(400, 420)",
    "DELETE FROM {t} WHERE id IN (401, 5, 299)",
    "CALL lake.system.rewrite_position_delete_files(table => '{short}', options => map('rewrite-all', 'true'))",
    "CALL lake.system.rewrite_data_files(table => '{short}', options => map('rewrite-all', 'true'))",
    "DELETE FROM {t} WHERE id = 402",
]


class Tests:
    def __init__(self, score, nilas, spark):
        self.score, self.nilas, self.spark = score, nilas, spark

    def compare(self, label, query):
        try:
            self.score.check(label, "nilas", sorted(self.nilas.run(query)), "Spark", sorted(self.spark.run(query)))
        except peers.SqlError as error:
            self.score.fail(label, error)

    def steps(self, name, turn, statements, properties, queries=("SELECT * FROM {t}",), checks_from=1):
        short = f"sales.{name.replace(' ', '_')}"
        table = f"lake.{short}"
        for number, sql in enumerate(statements):
            engine = turn[number % len(turn)]
            label = f"{name}: step {number + 1} by {engine.name}"
            try:
                engine.run(sql.format(t=table, short=short, properties=properties))
            except peers.SqlError as error:
                self.score.fail(label, error)
                return
            if number >= checks_from:
                for query in queries:
                    self.compare(f"{label}: {query}", query.format(t=table))

    def check_formats(self, name, data, deletes):
        query = f"SELECT DISTINCT content, file_format FROM lake.sales.{name.replace(' ', '_')}.all_files WHERE content < 2 ORDER BY 1"
        expected = [f"0\t{data.upper()}", f"1\t{deletes.upper()}"]
        for engine in (self.nilas, self.spark):
            self.score.check(f"{name}: formats by {engine.name}", "it", engine.run(query), "expected", expected)


def every_type(tests, form, codecs):
    statements = [f"CREATE TABLE {{t}}_source ({ALL_TYPES}) USING iceberg", f"INSERT INTO {{t}}_source {ALL_VALUES}",
                  f"CREATE TABLE {{t}} ({ALL_TYPES}) USING {form} TBLPROPERTIES ({{properties}})", "INSERT INTO {t} SELECT * FROM {t}_source",
                  "INSERT INTO {t} SELECT * FROM {t}_source WHERE id > 1"]
    for codec in codecs:
        properties = f"'write.{form}.compression-codec'='{codec}'"
        tests.steps(f"{form} types {codec}", [tests.spark, tests.spark, tests.spark, tests.spark, tests.nilas], statements, properties, checks_from=3)


def large(tests, form):
    """Files of several parts: rows have their numbers in each, and deletes meet them."""
    statements = ["CREATE TABLE {t} (id bigint, s string) USING iceberg TBLPROPERTIES ({properties})",
                  "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, sha2(CAST(id AS string), 512) FROM range(0, 200000, 1, 1)", "DELETE FROM {t} WHERE id % 1000 = 77"]
    queries = ("SELECT count(*), sum(id), sum(_pos), sum(_pos * id % 1000), max(s) FROM {t}", "SELECT id, _pos FROM {t} WHERE id % 9973 = 5")
    tests.steps(f"{form} large", [tests.spark, tests.spark, tests.nilas], statements, f"'write.format.default'='{form}', {MERGE_ON_READ}", queries)


def version_3(tests, form):
    """Deletion vectors and row ids; variants where Spark stores them: its ORC writer fails."""
    if form == "orc":
        rows_of_v3(tests, form)
        return
    statements = ["CREATE TABLE {t} (id bigint, v variant, s string) USING iceberg TBLPROPERTIES ({properties})",
                  "INSERT INTO {t} SELECT id, parse_json(concat('{{\"a\": ', id, ', \"b\": [1, \"x\"]}}')), 'x' FROM range(0, 40, 1, 1)",
                  "UPDATE {t} SET s = 'y' WHERE id % 7 = 4", "DELETE FROM {t} WHERE id = 11", "INSERT INTO {t} SELECT id, NULL, 'z' FROM range(50, 55, 1, 1)"]
    queries = ("SELECT id, to_json(v), s FROM {t}", "SELECT content, file_format FROM {t}.all_files")
    tests.steps(f"{form} v3", [tests.spark, tests.spark, tests.nilas, tests.spark, tests.nilas], statements,
                f"'format-version'='3', 'write.format.default'='{form}', {MERGE_ON_READ}", queries)


def rows_of_v3(tests, form):
    statements = ["CREATE TABLE {t} (id bigint, s string) USING iceberg TBLPROPERTIES ({properties})", "INSERT INTO {t} SELECT id, 'x' FROM range(0, 40, 1, 1)",
                  "UPDATE {t} SET s = 'y' WHERE id % 7 = 4", "DELETE FROM {t} WHERE id = 11", "INSERT INTO {t} SELECT id, 'z' FROM range(50, 55, 1, 1)"]
    tests.steps(f"{form} v3", [tests.spark, tests.spark, tests.nilas, tests.spark, tests.nilas], statements,
                f"'format-version'='3', 'write.format.default'='{form}', {MERGE_ON_READ}", ("SELECT * FROM {t}", "SELECT content, file_format FROM {t}.all_files"))


def java_table(tests, name, fields, form):
    """A table with types that SQL cannot name, made by Iceberg's own catalog."""
    jvm = tests.spark.session._jvm
    types = jvm.org.apache.iceberg.types.Types
    made = [types.NestedField.optional(i + 1, field, kind(types)) for i, (field, kind) in enumerate(fields)]
    schema = jvm.org.apache.iceberg.Schema(made)
    catalog = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(tests.spark.session._jsparkSession, "lake")
    identifier = jvm.org.apache.iceberg.catalog.TableIdentifier.parse(f"sales.{name}")
    return catalog.createTable(identifier, schema, jvm.org.apache.iceberg.PartitionSpec.unpartitioned(), {"write.format.default": form, "format-version": "2"})


def rare_types(tests, form):
    name = f"{form}_rare"
    java_table(tests, name, [("id", lambda t: t.IntegerType.get()), ("u", lambda t: t.UUIDType.get()), ("x", lambda t: t.FixedType.ofLength(3)),
                             ("lu", lambda t: t.ListType.ofOptional(9, t.UUIDType.get()))], form)
    sql = (f"INSERT INTO lake.sales.{name} SELECT /*+ COALESCE(1) */ * FROM VALUES ({{}}, 'f79c3e09-677c-4bbd-a479-3f349cb7857{{}}', X'0102FF', array('00000000-0000-0000-0000-00000000000{{}}', NULL)), "
           "(CAST(NULL AS int), CAST(NULL AS string), CAST(NULL AS binary), CAST(NULL AS array<string>))")
    for number, engine in enumerate((tests.spark, tests.nilas), 1):
        engine.run(sql.format(number, number, number))
        tests.compare(f"{name}: written by {engine.name}", f"SELECT * FROM lake.sales.{name}")


def equality_deletes(tests, form):
    name = f"{form}_equality"
    table = java_table(tests, name, [("id", lambda t: t.IntegerType.get()), ("s", lambda t: t.StringType.get()), ("n", lambda t: t.IntegerType.get())], form)
    tests.nilas.run(f"INSERT INTO lake.sales.{name} SELECT CAST(id AS int), CASE WHEN id % 5 > 0 THEN concat('s', id % 5) END, CAST(id % 3 AS int) FROM range(60)")
    jvm, gateway = tests.spark.session._jvm, tests.spark.session.sparkContext._gateway
    table.refresh()
    for number, (columns, rows) in enumerate([(["s", "n"], [("s1", 1), (None, 2)]), (["id"], [(7,), (8,), (9,)])]):
        schema = table.schema().select(columns)
        ids = gateway.new_array(jvm.int, len(columns))
        for i, column in enumerate(columns):
            ids[i] = table.schema().findField(column).fieldId()
        factory = jvm.org.apache.iceberg.data.GenericAppenderFactory(table.schema(), table.spec(), ids, schema, None)
        output = table.io().newOutputFile(f"{table.location()}/data/equality-{number}.{form}")
        writer = factory.newEqDeleteWriter(jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(output),
                                           jvm.org.apache.iceberg.FileFormat.fromString(form), None)
        for row in rows:
            record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
            for column, value in zip(columns, row):
                record.setField(column, value)
            writer.write(record)
        writer.close()
        table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
        tests.compare(f"{name}: deletes by {columns}", f"SELECT * FROM lake.sales.{name}")
        # Spark's Avro reader mixes columns up when a delete's columns are not selected, so only nilas is asked
        whole = tests.nilas.run(f"SELECT n FROM (SELECT n, count(id), count(s) FROM lake.sales.{name} WHERE id > 5 GROUP BY n, id)")
        tests.score.check(f"{name}: deletes by {columns}, one column", "whole", sorted(whole), "one column", sorted(tests.nilas.run(f"SELECT n FROM lake.sales.{name} WHERE id > 5")))


def varint(number):
    bits, out = (number << 1) ^ (number >> 63), bytearray()
    while bits >= 0x80:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes(out + bytes([bits]))


def avro_text(text):
    data = text.encode() if isinstance(text, str) else text
    return varint(len(data)) + data


def write_plain_avro(path):
    """An Avro file of another program: no field ids, other union orders, an enum, a long for a date's day."""
    schema = ('{"type":"record","name":"other","fields":[{"name":"id","type":"int"},{"name":"old","type":["string","null"]},'
              '{"name":"st","type":{"type":"record","name":"in","fields":[{"name":"b","type":"string"},{"name":"a","type":["null","long"]}]}},'
              '{"name":"f","type":"float"},{"name":"unknown","type":{"type":"map","values":"int"}}]}')
    rows = b""
    for i in range(5):
        rows += varint(i) + (varint(0) + avro_text(f"old {i}") if i % 2 else varint(1)) + avro_text("b") + (varint(1) + varint(i << 33) if i % 3 else varint(0))
        rows += struct.pack("<f", i / 2) + varint(1) + avro_text("k") + varint(i) + varint(0)
    sync = bytes(range(16))
    with open(path, "wb") as file:
        file.write(b"Obj\x01" + varint(2) + avro_text("avro.schema") + avro_text(schema) + avro_text("avro.codec") + avro_text("null") + varint(0) + sync)
        file.write(varint(5) + varint(len(rows)) + rows + sync)


def foreign_files(tests):
    """Files without ids: by the table's name mapping, and by its names where it has none."""
    jvm = tests.spark.session._jvm
    for name, mapping in (("avro_by_name", None), ("avro_by_mapping", '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["s", "old"]}, '
                          '{"field-id": 3, "names": ["st"], "fields": [{"field-id": 5, "names": ["a"]}, {"field-id": 6, "names": ["c", "b"]}]}, {"field-id": 4, "names": ["f"]}]')):
        tests.spark.run(f"CREATE TABLE lake.sales.{name} (id bigint, s string, st struct<a: bigint, b: string>, f double) USING iceberg TBLPROPERTIES ('format-version'='2')")
        if mapping:
            tests.spark.run(f"ALTER TABLE lake.sales.{name} SET TBLPROPERTIES ('schema.name-mapping.default'='{mapping}')")
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(tests.spark.session._jsparkSession, f"lake.sales.{name}")
        path = f"{tests.spark.warehouse}/{name}.avro"
        write_plain_avro(path)
        spec = jvm.org.apache.iceberg.PartitionSpec.unpartitioned()
        file = jvm.org.apache.iceberg.DataFiles.builder(spec).withPath(path).withFormat("avro").withRecordCount(5).withFileSizeInBytes(1000).build()
        table.newAppend().appendFile(file).commit()
        tests.compare(f"{name}: a file without ids", f"SELECT * FROM lake.sales.{name}")


def run(score, nilas, spark, is_full):
    tests = Tests(score, nilas, spark)
    for form in FORMATS:
        properties = f"'write.format.default'='{form}', {MERGE_ON_READ}"
        every_type(tests, form, CODECS[form] if is_full else CODECS[form][:1])
        tests.steps(f"{form} rows", [nilas, spark], ROWS, properties, checks_from=1 if is_full else len(ROWS) - 3)
        tests.check_formats(f"{form} rows", form, form)
        rare_types(tests, form)
        equality_deletes(tests, form)
        if not is_full:
            continue
        version_3(tests, form)
        large(tests, form)
        tests.steps(f"{form} evolution", [spark, nilas], EVOLUTION, properties)
        tests.steps(f"{form} evolution by nilas", [nilas], EVOLUTION, properties)
        tests.steps(f"{form} rows other turn", [spark, nilas], ROWS, properties)
        tests.steps(f"{form} rows v1", [spark, nilas], ROWS[:9], f"'format-version'='1', 'write.format.default'='{form}'")
        tests.steps(f"{form} and parquet", [spark, nilas], ROWS, f"{properties}, 'write.delete.format.default'='parquet'")
        tests.check_formats(f"{form} and parquet", form, "parquet")
        tests.steps(f"parquet and {form}", [nilas, spark], ROWS, f"'write.delete.format.default'='{form}', {MERGE_ON_READ}")
        tests.check_formats(f"parquet and {form}", "parquet", form)
    foreign_files(tests)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nilas")
    parser.add_argument("--full", action="store_true", help="more codecs, versions, mixtures of formats, and large files")
    arguments = parser.parse_args()
    score = peers.Score()
    with tempfile.TemporaryDirectory() as warehouse:
        nilas, spark = peers.Nilas(arguments.nilas, warehouse), peers.Spark(warehouse)
        nilas.run("CREATE NAMESPACE lake.sales")
        run(score, nilas, spark, arguments.full)
    return score.finish("other formats crosswise")


if __name__ == "__main__":
    sys.exit(main())
