#!/usr/bin/env python3
"""Makes tests/fixtures/parquet: small files by other programs, and what those programs read from them.

Needs pyarrow and duckdb; with --spark also pyspark (and Java). NAME.parquet is read by reader_test.c, which compares
with NAME.rows: one line a row, in the canonical text of src/format/parquet/test_text.h. The random seed is fixed, so a
new run changes files only where the writing programs changed.
"""

import datetime
import decimal
import glob
import math
import os
import random
import shutil
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "parquet")
RANDOM = random.Random(20240607)
EPOCH = datetime.datetime(1970, 1, 1)


# ---- canonical text ----

def text_of_float(value, form):
    if math.isnan(value):
        return '"nan"'
    if math.isinf(value):
        return '"-inf"' if value < 0 else '"inf"'
    return form % value


def text_of_string(value):
    out = bytearray(b'"')
    for byte in value.encode():
        if byte in (0x22, 0x5C):
            out += bytes((0x5C, byte))
        elif byte < 0x20:
            out += b"\\u%04x" % byte
        else:
            out.append(byte)
    return out.decode() + '"'


def text_of_timestamp(value):
    if hasattr(value, "value"):  # pandas' nanoseconds
        return str(value.value // 1000)
    span = value.replace(tzinfo=None) - EPOCH
    return str((span.days * 86400 + span.seconds) * 1000000 + span.microseconds)


def text_of(kind, value):
    types = pa.types
    if value is None:
        return "null"
    if types.is_boolean(kind):
        return "true" if value else "false"
    if types.is_integer(kind):
        return str(value)
    if types.is_float32(kind) or types.is_float16(kind):
        return text_of_float(float(value), "%.9g")
    if types.is_float64(kind):
        return text_of_float(value, "%.17g")
    if types.is_decimal(kind):
        return str(int(value.scaleb(kind.scale, context=decimal.Context(prec=100))))
    if types.is_string(kind):
        return text_of_string(value)
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return "\"x'" + value.hex().upper() + "'\""
    if types.is_date(kind):
        return str((value - EPOCH.date()).days)
    if types.is_timestamp(kind):
        return text_of_timestamp(value)
    if types.is_map(kind):
        return "[" + ", ".join("[%s, %s]" % (text_of(kind.key_type, k), text_of(kind.item_type, v)) for k, v in value) + "]"
    if types.is_list(kind):
        return "[" + ", ".join(text_of(kind.value_type, v) for v in value) + "]"
    if types.is_struct(kind):
        return "[" + ", ".join(text_of(kind.field(i).type, value[kind.field(i).name]) for i in range(kind.num_fields)) + "]"
    raise ValueError(str(kind))


def write_rows(name, table):
    columns = [column.to_pylist() for column in table.columns]
    kinds = [field.type for field in table.schema]
    with open(os.path.join(FOLDER, name + ".rows"), "w", encoding="utf-8", newline="\n") as out:
        for row in range(table.num_rows):
            out.write("[" + ", ".join(text_of(kinds[i], columns[i][row]) for i in range(len(columns))) + "]\n")


# ---- data ----

def maybe(make, nulls):
    return None if RANDOM.random() < nulls else make()


def text(low, high):
    return "".join(RANDOM.choice("abcdefgh éß漢\n\"\\") for _ in range(RANDOM.randint(low, high)))


WORDS = [text(0, 30) for _ in range(12)]


def flat_table(count, nulls):
    def column(make, kind):
        return pa.array([maybe(make, nulls) for _ in range(count)], kind)

    def real():
        return RANDOM.choice([RANDOM.random(), math.nan, -0.0, math.inf, -1e30])

    def scaled(digits, scale):
        limit = 10 ** digits - 1
        return decimal.Decimal(RANDOM.randint(-limit, limit)).scaleb(-scale, context=decimal.Context(prec=60))

    return pa.table({
        "bool": column(lambda: RANDOM.random() < 0.5, pa.bool_()),
        "i8": column(lambda: RANDOM.randint(-128, 127), pa.int8()),
        "i16": column(lambda: RANDOM.randint(-32768, 32767), pa.int16()),
        "i32": column(lambda: RANDOM.choice([RANDOM.randint(-2**31, 2**31 - 1), RANDOM.randint(0, 3)]), pa.int32()),
        "i64": column(lambda: RANDOM.choice([RANDOM.randint(-2**63, 2**63 - 1), RANDOM.randint(0, 3)]), pa.int64()),
        "u8": column(lambda: RANDOM.randint(0, 255), pa.uint8()),
        "u16": column(lambda: RANDOM.randint(0, 65535), pa.uint16()),
        "u32": column(lambda: RANDOM.randint(0, 2**32 - 1), pa.uint32()),
        "u64": column(lambda: RANDOM.randint(0, 2**64 - 1), pa.uint64()),
        "f32": column(real, pa.float32()),
        "f64": column(real, pa.float64()),
        "string": column(lambda: text(0, 40), pa.string()),
        "word": column(lambda: RANDOM.choice(WORDS), pa.string()),
        "binary": column(lambda: RANDOM.randbytes(RANDOM.randint(0, 20)), pa.binary()),
        "fixed": column(lambda: RANDOM.randbytes(5), pa.binary(5)),
        "d5": column(lambda: scaled(5, 2), pa.decimal128(5, 2)),
        "d18": column(lambda: scaled(18, 4), pa.decimal128(18, 4)),
        "d38": column(lambda: scaled(38, 10), pa.decimal128(38, 10)),
        "date": column(lambda: EPOCH.date() + datetime.timedelta(days=RANDOM.randint(-100000, 100000)), pa.date32()),
        "ts_ms": column(lambda: RANDOM.randint(-10**12, 10**12), pa.timestamp("ms")),
        "ts_us": column(lambda: RANDOM.randint(-10**15, 10**15), pa.timestamp("us")),
        "tz_us": column(lambda: RANDOM.randint(-10**15, 10**15), pa.timestamp("us", tz="UTC")),
    })


def nested_table(count, nulls):
    def items(make, high=4):
        return [maybe(make, nulls) for _ in range(RANDOM.randint(0, high))]

    def small():
        return RANDOM.randint(0, 9)

    def record():
        return {"a": maybe(small, nulls), "b": maybe(lambda: text(0, 20), nulls),
                "c": maybe(lambda: {"d": maybe(RANDOM.random, nulls), "e": maybe(lambda: items(small), nulls)}, nulls)}

    def column(make, kind):
        return pa.array([maybe(make, nulls) for _ in range(count)], kind)

    inner = pa.struct([("a", pa.int64()), ("b", pa.string()),
                       ("c", pa.struct([("d", pa.float64()), ("e", pa.list_(pa.int32()))]))])
    return pa.table({
        "id": pa.array(range(count), pa.int64()),
        "ints": column(lambda: items(small), pa.list_(pa.int32())),
        "words": column(lambda: items(lambda: RANDOM.choice(WORDS)), pa.list_(pa.string())),
        "lists": column(lambda: items(lambda: items(lambda: text(0, 20))), pa.list_(pa.list_(pa.string()))),
        "record": column(record, inner),
        "records": column(lambda: items(record), pa.list_(inner)),
        "map": column(lambda: [(text(0, 15), maybe(small, nulls)) for _ in range(RANDOM.randint(0, 3))], pa.map_(pa.string(), pa.int64())),
        "record_map": column(lambda: [(k, maybe(record, nulls)) for k in range(RANDOM.randint(0, 3))], pa.map_(pa.int32(), inner)),
    })


# ---- files ----

def write(name, table, **options):
    pq.write_table(table, os.path.join(FOLDER, name + ".parquet"), **options)
    write_rows(name, table)


def delta_encodings(table):
    choices = {}
    for field in table.schema:
        kind = field.type
        if pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            choices[field.name] = "DELTA_BINARY_PACKED"
        elif pa.types.is_string(kind):
            choices[field.name] = "DELTA_BYTE_ARRAY"
        elif pa.types.is_binary(kind):
            choices[field.name] = "DELTA_LENGTH_BYTE_ARRAY"
        elif pa.types.is_boolean(kind):
            choices[field.name] = "RLE"
        elif pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind):
            choices[field.name] = "DELTA_BYTE_ARRAY"
        elif pa.types.is_floating(kind):
            choices[field.name] = "BYTE_STREAM_SPLIT"
    return choices


def stream_encodings(table):
    kinds = pa.types
    return {f.name: "BYTE_STREAM_SPLIT" for f in table.schema
            if kinds.is_integer(f.type) or kinds.is_floating(f.type) or kinds.is_decimal(f.type) or kinds.is_fixed_size_binary(f.type)}


def write_flat_files():
    table = flat_table(60, 0.25)
    for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        write("flat_" + codec, table, compression=codec, data_page_size=300, row_group_size=35, write_page_checksum=codec == "snappy")
    write("flat_v2", table, compression="snappy", data_page_version="2.0", data_page_size=300)
    write("flat_plain", table, compression="none", use_dictionary=False, data_page_size=300, write_page_index=True)
    write("flat_fallback", table, compression="zstd", dictionary_pagesize_limit=40, data_page_size=100)
    for version in ("1.0", "2.0"):
        write("flat_delta_v" + version[0], table, compression="zstd", use_dictionary=False, data_page_version=version,
              column_encoding=delta_encodings(table), data_page_size=300)
    write("flat_streams", table, compression="zstd", use_dictionary=False, column_encoding=stream_encodings(table))
    write("flat_required", flat_table(40, 0), compression="zstd", data_page_size=200)
    write("flat_nulls", flat_table(20, 1), compression="zstd")
    write("flat_empty", flat_table(0, 0), compression="zstd")


def write_nested_files():
    table = nested_table(60, 0.2)
    write("nested_v1", table, compression="zstd", data_page_size=60, row_group_size=45)
    write("nested_v2", table, compression="snappy", data_page_version="2.0", data_page_size=60)
    write("nested_plain", table, compression="none", use_dictionary=False, data_page_size=60, write_page_index=True)
    write("nested_delta", table, compression="zstd", use_dictionary=False, data_page_version="2.0",
          column_encoding={"id": "DELTA_BINARY_PACKED", "ints.list.element": "DELTA_BINARY_PACKED", "words.list.element": "DELTA_BYTE_ARRAY",
                           "lists.list.element.list.element": "DELTA_LENGTH_BYTE_ARRAY", "record.c.d": "BYTE_STREAM_SPLIT"})
    write("nested_required", nested_table(30, 0), compression="zstd")
    write("nested_old_names", table.select(["id", "ints", "lists", "map"]), compression="zstd", use_compliant_nested_type=False)


def write_special_files():
    times = pa.table({"ts": pa.array([0, -1, 10**15, -10**15, None, 86400 * 10**6], pa.timestamp("us"))})
    write("int96", times, use_deprecated_int96_timestamps=True)
    write("float16", pa.table({"h": pa.array([0.5, -2.25, 65504.0, 6e-8, math.inf, None, math.nan], pa.float16())}))
    nanos = pa.table({"ns": pa.array([0, -1, 1999, -1001, None, 10**18], pa.timestamp("ns"))})
    write("nanos", nanos)
    rows = pa.table({"k": pa.array([i // 4 for i in range(400)], pa.int64()), "s": pa.array(["word %d" % (i % 50) for i in range(400)]),
                     "f": pa.array([i / 8 for i in range(400)], pa.float64())})
    write("page_index", rows, data_page_size=200, write_batch_size=20, write_page_index=True, use_dictionary=False, compression="none")


def write_odd_types():
    """Only their schemas matter."""
    tables = {"times": {"ms": pa.array([1, 2], pa.time32("ms"))},
              "nulls_alone": {"a": pa.nulls(2), "b": pa.array([1, 2]), "c": pa.array([[None], []], pa.list_(pa.null()))}}
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), os.path.join(FOLDER, name + ".parquet"))


def write_duckdb_file():
    """DuckDB writes Bloom filters for its dictionary-encoded columns."""
    path = os.path.join(FOLDER, "duckdb_bloom.parquet")
    query = ("SELECT (i * 7 % 40)::INT AS i, 'name ' || (i % 30) AS s, (i % 20)::BIGINT * 1000 AS b, (i % 10)::DOUBLE AS d, "
             "(i % 9)::DECIMAL(9, 2) AS c FROM range(500) t(i)")
    duckdb.sql("COPY (" + query + ") TO '" + path + "' (FORMAT parquet, COMPRESSION zstd)")
    write_rows("duckdb_bloom", pq.read_table(path))


def write_spark_files():
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    source = os.path.join(FOLDER, "nested_v1.parquet")
    for name, legacy, stamps in (("spark_modern", "false", "TIMESTAMP_MICROS"), ("spark_legacy", "true", "INT96")):
        spark.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
        spark.conf.set("spark.sql.parquet.outputTimestampType", stamps)
        target = os.path.join(FOLDER, name)
        frame = spark.read.parquet(source).selectExpr("*", "cast(id as decimal(7, 2)) d7", "cast(id as decimal(16, 2)) d16", "timestamp_micros(id * 1000001) ts")
        frame.coalesce(1).write.mode("overwrite").parquet(target)
        shutil.move(glob.glob(target + "/part-*.parquet")[0], target + ".parquet")
        shutil.rmtree(target)
        table = pq.read_table(source)
        ids = table.column("id").to_pylist()
        table = table.append_column("d7", pa.array([decimal.Decimal(i) for i in ids], pa.decimal128(7, 2)))
        table = table.append_column("d16", pa.array([decimal.Decimal(i) for i in ids], pa.decimal128(16, 2)))
        table = table.append_column("ts", pa.array([i * 1000001 for i in ids], pa.timestamp("us", tz="UTC")))
        write_rows(name, table)
    spark.stop()


def main():
    os.makedirs(FOLDER, exist_ok=True)
    write_flat_files()
    write_nested_files()
    write_special_files()
    write_odd_types()
    write_duckdb_file()
    if "--spark" in sys.argv:
        write_spark_files()


if __name__ == "__main__":
    main()
