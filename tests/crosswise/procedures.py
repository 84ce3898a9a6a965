"""What procedures leave behind, read by the other engine.

    python3 tests/crosswise/procedures.py path/to/nilas

Statistics files of one table, computed by nilas and by Spark, hold the same sketches and the same rows; Spark goes on from
partition statistics that nilas wrote. A table that one engine moved (rewrite_table_path) is whole for the other in its new
place. Files brought in by nilas (add_files) are read, changed and described by Spark and PyIceberg. Both say the same of
changes.
"""
import csv
import json
import os
import re
import shutil
import struct
import sys
import tempfile

import peers

MOVED = "moved"


def puffin_blobs(path):
    """Field ids, properties and content of a Puffin file's blobs."""
    import pyarrow
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<I", content[-12:-8])[0]
    footer = json.loads(content[-12 - length:-12])
    blobs = []
    for blob in footer["blobs"]:
        stored = content[blob["offset"]:blob["offset"] + blob["length"]]
        codec = blob.get("compression-codec")
        if codec == "zstd":
            stored = pyarrow.CompressedInputStream(pyarrow.BufferReader(stored), "zstd").read()
        blobs.append((blob["type"], blob["fields"], blob["snapshot-id"], blob["sequence-number"], codec, blob["properties"], stored.hex()))
    return blobs


def parquet_rows(path):
    import pyarrow.parquet
    file = pyarrow.parquet.ParquetFile(path)
    schema = re.sub(r"^<.*>\n", "", str(file.schema))
    return schema, json.loads(file.metadata.metadata[b"iceberg.schema"]), file.read().to_pylist()


def check(score, name, left, right):
    if left == right:
        score.passed += 1
    else:
        score.fail(name, f"\n  is      {str(left)[:900]}\n  must be {str(right)[:900]}")


def table_statistics(score, nilas, spark, warehouse):
    spark.run("CREATE TABLE lake.p.stats (id int, l bigint, v string, d decimal(20, 2), t timestamp, n timestamp_ntz, dt date, st struct<a: int, b: string>, x binary, "
              "f float, g double, bo boolean, c array<int>) USING iceberg")
    spark.run("INSERT INTO lake.p.stats SELECT CAST(id AS int), id % 17, concat('s', id % 700), CAST(id % 5 AS decimal(20, 2)) / 4, timestamp_seconds(id), "
              "CAST(timestamp_seconds(id % 3) AS timestamp_ntz), date_add(DATE'2020-01-01', CAST(id % 40 AS int)), named_struct('a', CAST(id % 9 AS int), 'b', ''), "
              "CAST(CAST(id % 6 AS string) AS binary), CAST(id % 8 AS float) / 2, id * 0.5D, id % 2 = 0, array(1) FROM range(0, 3000, 1, 2)")
    spark.run("INSERT INTO lake.p.stats (id, l, v, d, t, n, dt, st, x, f, g, bo, c) VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")
    for columns in ("", ", columns => array('id', 'st.a', 'st.b', 'v')"):
        call = f"CALL lake.system.compute_table_stats(table => 'p.stats'{columns})"
        mine, theirs = nilas.run(call)[0], spark.run(call)[0]
        check(score, f"sketches{columns}", puffin_blobs(mine), puffin_blobs(theirs))
    nilas.run("CALL lake.system.compute_table_stats(table => 'p.stats')")
    with open(peers.current_metadata(warehouse, "p.stats"), encoding="utf-8") as file:
        statistics = json.load(file)["statistics"]
    check(score, "statistics in the metadata", [(len(entry["blob-metadata"]), os.path.getsize(entry["statistics-path"])) for entry in statistics],
                [(11, entry["file-size-in-bytes"]) for entry in statistics])
    spark.run("INSERT INTO lake.p.stats (id, l, v, d, t, n, dt, st, x, f, g, bo, c) SELECT id, l, v, d, t, n, dt, st, x, f, g, bo, c FROM lake.p.stats LIMIT 1")


def forget_version(warehouse, table):
    """The table as it was one commit ago."""
    newest = peers.current_metadata(warehouse, table)
    number = int(re.search(r"/v(\d+)\.", newest).group(1))
    os.remove(newest)
    with open(f"{os.path.dirname(newest)}/version-hint.text", "w", encoding="utf-8") as hint:
        hint.write(str(number - 1))
    for name in os.listdir(os.path.dirname(newest)):
        if name.endswith(".crc"):
            os.remove(f"{os.path.dirname(newest)}/{name}")


def partition_statistics(score, nilas, spark, warehouse):
    for version in (2, 3):
        for engine, other in ((nilas, spark), (spark, nilas)):
            table = f"p.parts_{engine.name.lower()}_v{version}"
            engine.run(f"CREATE TABLE lake.{table} (id bigint, p string, d date) USING iceberg PARTITIONED BY (p) "
                       f"TBLPROPERTIES ('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read')")
            engine.run(f"INSERT INTO lake.{table} SELECT id, concat('p', id % 3), DATE'2020-01-01' FROM range(0, 30, 1, 1)")
            engine.run(f"DELETE FROM lake.{table} WHERE id = 4")
            engine.run(f"ALTER TABLE lake.{table} ADD PARTITION FIELD bucket(4, id)")
            engine.run(f"INSERT INTO lake.{table} VALUES (100, NULL, NULL), (101, 'p1', NULL)")
            files = []
            for computing in (engine, other):  # each has to compute it itself
                files.append(computing.run(f"CALL lake.system.compute_partition_stats('{table}')")[0])
                if computing is engine:
                    forget_version(warehouse, table)
            for place, name in enumerate(("schema", "iceberg.schema", "rows")):
                check(score, f"partition statistics of {table}: {name}", *[parquet_rows(file)[place] for file in files])
            spark.run(f"INSERT INTO lake.{table} VALUES (102, 'p1', NULL)")
            rows = parquet_rows(spark.run(f"CALL lake.system.compute_partition_stats('{table}')")[0])[2]
            engine.run(f"DELETE FROM lake.{table} WHERE p = 'p2'")
            other.run(f"INSERT INTO lake.{table} VALUES (103, 'p1', NULL), (104, 'p4', NULL)")
            files = []
            for computing in (engine, other):
                files.append(computing.run(f"CALL lake.system.compute_partition_stats('{table}')")[0])
                if computing is engine:
                    forget_version(warehouse, table)
            for place, name in enumerate(("schema", "iceberg.schema", "rows")):
                check(score, f"partition statistics of {table}, from earlier ones: {name}", *[parquet_rows(file)[place] for file in files])
            check(score, f"Spark goes on from {other.name}'s file", sum(row["data_record_count"] for row in rows), 33)


def copy_files(list_file):
    with open(list_file, encoding="utf-8") as file:
        for source, target in csv.reader(file):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(source, target)


def moved_tables(score, nilas, spark, warehouse):
    for engine, other in ((nilas, spark), (spark, nilas)):
        table = f"move_{engine.name.lower()}"
        engine.run(f"CREATE TABLE lake.p.{table} (id bigint, p string) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
        engine.run(f"INSERT INTO lake.p.{table} SELECT id, concat('p', id % 2) FROM range(0, 10, 1, 1)")
        engine.run(f"DELETE FROM lake.p.{table} WHERE id IN (3, 5)")
        other.run(f"INSERT INTO lake.p.{table} VALUES (100, 'p0')")
        expected = sorted(engine.run(f"SELECT id, p FROM lake.p.{table}"))
        answer = engine.run(f"CALL lake.system.rewrite_table_path(table => 'p.{table}', source_prefix => '{warehouse}/p/{table}', target_prefix => '{warehouse}/{MOVED}/{table}', "
                            f"staging_location => '{warehouse}/stage_{table}')")[0].split("\t")
        check(score, f"{table}: the answer", answer, ["v4.metadata.json", f"{warehouse}/stage_{table}/file-list"])
        copy_files(answer[1])
        with open(f"{warehouse}/{MOVED}/{table}/metadata/version-hint.text", "w", encoding="utf-8") as hint:
            hint.write("4")
        shutil.move(f"{warehouse}/p/{table}", f"{warehouse}/gone_{table}")  # nothing may still be read there
        for reader in (nilas, spark):
            check(score, f"{table} read by {reader.name}", sorted(reader.run(f"SELECT id, p FROM lake.{MOVED}.{table}")), expected)
            check(score, f"{table} of old read by {reader.name}", reader.run(f"SELECT count(*) FROM lake.{MOVED}.{table} FOR VERSION AS OF "
                        + reader.run(f"SELECT min_by(snapshot_id, committed_at) FROM lake.{MOVED}.{table}.snapshots")[0]), ["10"])
        lengths = spark.run(f"SELECT path, length FROM lake.{MOVED}.{table}.manifests")
        if engine is nilas:
            check(score, f"{table}: lengths", [os.path.getsize(line.split("\t")[0]) == int(line.split("\t")[1]) for line in lengths], [True] * len(lengths))
        other.run(f"DELETE FROM lake.{MOVED}.{table} WHERE id = 6")
        check(score, f"{table} goes on", engine.run(f"SELECT count(*) FROM lake.{MOVED}.{table}"), ["8"])
        # what came since
        second = engine.run(f"CALL lake.system.rewrite_table_path(table => '{MOVED}.{table}', source_prefix => '{warehouse}/{MOVED}/{table}', target_prefix => '{warehouse}/again/{table}', "
                            f"start_version => 'v4.metadata.json', staging_location => '{warehouse}/stage2_{table}')")[0].split("\t")[1]
        with open(second, encoding="utf-8") as file:
            kinds = sorted({re.sub(r".*/(snap|v\d+|.*-m\d+|.*-deletes|.*)[-.].*", lambda match: re.sub(r".*-(m\d+|deletes)$", r"\1", match.group(1)), line[1]) for line in csv.reader(file)})
        check(score, f"{table}: what came since", "v5" in " ".join(kinds) and "v4" not in " ".join(kinds), True)


def added_files(score, nilas, spark, warehouse):
    folder = f"{warehouse}/plain_files"
    spark.session.sql("SELECT CAST(id AS int) AS id, concat('v', id) AS v, CAST(id AS double) / 2 AS d, named_struct('a', id, 'b', array(id)) AS st, CAST(id % 2 AS int) AS p FROM range(0, 20, 1, 2)") \
        .write.partitionBy("p").parquet(folder)
    nilas.run("CREATE TABLE lake.p.added (id int, v string, d double, st struct<a: bigint, b: array<bigint>>, p int) USING iceberg PARTITIONED BY (p)")
    check(score, "add_files", nilas.run(f"CALL lake.system.add_files(table => 'p.added', source_table => '`parquet`.`{folder}`')"), ["4\tNULL"])
    query = "SELECT * FROM lake.p.added ORDER BY id"
    expected = spark.run(f"SELECT * FROM parquet.`{folder}` ORDER BY id")
    for reader in (nilas, spark):
        check(score, f"added files read by {reader.name}", reader.run(query), expected)
        check(score, f"added files filtered by {reader.name}", reader.run("SELECT id FROM lake.p.added WHERE id > 16 AND p = 1 AND d > 8 ORDER BY id"), ["17", "19"])
        check(score, f"nothing found by {reader.name}", reader.run("SELECT count(*) FROM lake.p.added WHERE id > 100 OR v > 'w' OR st.a < 0 OR isnan(d)"), ["0"])
    from pyiceberg.table import StaticTable
    rows = StaticTable.from_metadata(peers.current_metadata(warehouse, "p.added")).scan(row_filter="id >= 10").to_arrow()
    check(score, "added files read by PyIceberg", sorted(rows.column("id").to_pylist()), list(range(10, 20)))
    spark.run("UPDATE lake.p.added SET v = 'changed' WHERE id = 3")
    nilas.run("DELETE FROM lake.p.added WHERE id = 4")
    for reader in (nilas, spark):
        check(score, f"added files changed, by {reader.name}", reader.run("SELECT count(*), count_if(v = 'changed') FROM lake.p.added"), ["19\t1"])
    spark.run("CREATE TABLE lake.p.added_by_spark (id int, v string, d double, st struct<a: bigint, b: array<bigint>>, p int) USING iceberg PARTITIONED BY (p)")
    spark.run(f"CALL lake.system.add_files(table => 'p.added_by_spark', source_table => '`parquet`.`{folder}`')")
    check(score, "files that Spark added", nilas.run("SELECT * FROM lake.p.added_by_spark ORDER BY id"), expected)
    paths = [sorted(spark.run(f"SELECT file_path, record_count, file_size_in_bytes, partition FROM lake.p.{table}.files")) for table in ("added_by_spark",)]
    nilas.run("CREATE TABLE lake.p.added_again (id int, v string, d double, st struct<a: bigint, b: array<bigint>>, p int) USING iceberg PARTITIONED BY (p)")
    nilas.run(f"CALL lake.system.add_files(table => 'p.added_again', source_table => '`parquet`.`{folder}`')")
    check(score, "entries of added files", sorted(spark.run("SELECT file_path, record_count, file_size_in_bytes, partition FROM lake.p.added_again.files")), paths[0])
    mappings = [spark.run(f"SHOW TBLPROPERTIES lake.p.{table} ('schema.name-mapping.default')") for table in ("added_again", "added_by_spark")]
    check(score, "name mappings", *[json.loads("".join(lines).split("\t", 1)[1]) for lines in mappings])


def changes(score, nilas, spark, warehouse):
    del warehouse
    for engine in (nilas, spark):
        table = f"lake.p.changes_{engine.name.lower()}"
        for sql in (f"CREATE TABLE {table} (id int, v string) USING iceberg", f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (2, 'b'), (3, NULL)",
                    f"UPDATE {table} SET v = 'c' WHERE id = 2", f"INSERT OVERWRITE {table} SELECT id + 1, v FROM {table}", f"DELETE FROM {table} WHERE id > 3",
                    f"MERGE INTO {table} t USING (SELECT 2 AS id, 'z' AS v UNION ALL SELECT 9, 'y') s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"):
            engine.run(sql)
    for table in ("changes_nilas", "changes_spark"):
        for options in ("", ", net_changes => true"):
            call = f"CALL lake.system.create_changelog_view(table => 'p.{table}', changelog_view => 'seen'{options});\nSELECT * FROM seen"
            check(score, f"{table}{options}", sorted(line for line in nilas.run(call) if line != "seen"), sorted(spark.run(call)))


def main():
    score = peers.Score()
    with tempfile.TemporaryDirectory() as warehouse:
        nilas, spark = peers.Nilas(sys.argv[1], warehouse), peers.Spark(warehouse)
        os.makedirs(f"{warehouse}/p")
        for part in (table_statistics, partition_statistics, moved_tables, added_files, changes):
            if len(sys.argv) > 2 and part.__name__ not in sys.argv[2:]:
                continue
            try:
                part(score, nilas, spark, warehouse)
            except peers.SqlError as error:
                score.fail(part.__name__, str(error)[:600])
    return score.finish("procedures crosswise")


if __name__ == "__main__":
    sys.exit(main())
