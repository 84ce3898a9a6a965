#!/usr/bin/env python3
"""jdbc_test.py NILAS - spark.read.jdbc and df.write.jdbc over PostgreSQL and SQLite: each line below against what real Spark 4.0.1 gave
(jdbc_expected.json; `--record JARS` asks it anew, with the drivers' jars, comma-separated)."""
import json
import logging
import os
import shutil
import sqlite3
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "catalogs"))
from postgres import Postgres

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
TABLES = """
CREATE TABLE t (id int PRIMARY KEY, small smallint, big bigint, r real, d double precision, n numeric(10,2), n0 numeric, nw numeric(50,10), b boolean, s text, v varchar(20), c char(5),
 day date, at timestamp, atz timestamptz, bytes bytea, u uuid, j json, jb jsonb, i interval, o oid, e inet, mood mood, money money);
INSERT INTO t VALUES (1, 2, 3, 1.5, 2.5, 12.34, 1.5, 1.25, true, 'x''y?', 'v', 'c', '2020-01-02', '2020-01-02 03:04:05.678901', '2020-01-02 03:04:05+02', '\\x4142', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
 '{"a": 1}', '{"b": 2}', '1 day 02:00:00', 5, '10.0.0.1', 'happy', 12.5);
INSERT INTO t (id) VALUES (2);
INSERT INTO t (id, s, d, r, day) VALUES (3, '', 'NaN', 'Infinity', '0001-01-01');
CREATE TABLE "Odd Name" ("a b" int, "C" text, "d""q" int);
INSERT INTO "Odd Name" VALUES (1, 'x', 2);
CREATE TABLE arrays (a int[], b text[], c numeric(10,2)[]);
INSERT INTO arrays VALUES (ARRAY[1,2,null], ARRAY['x','y,z','"q"',null,''], ARRAY[1.25]), (null, '{}', null);
CREATE TABLE many (id bigint, name text, part int);
INSERT INTO many SELECT i, 'n' || i, i % 7 FROM generate_series(1, 10000) i;
INSERT INTO many VALUES (null, 'none', null);
CREATE SCHEMA other; CREATE TABLE other.t2 (x int); INSERT INTO other.t2 VALUES (7);
CREATE VIEW seen AS SELECT id, name FROM many WHERE id <= 3;
CREATE TABLE kept (a int PRIMARY KEY, b text); INSERT INTO kept VALUES (1, 'one');
CREATE TABLE bits (x bit(1), y time);
"""
CASES = r"""
pg("t").schema.simpleString()
rows(pg("t").drop("atz"))
rows(pg("t").select("id", "s", "b"))
rows(pg("t").select("atz"))
pg("t").count()
rows(pg("t").filter("id > 1 and d is null").select("id"))
rows(pg("t").filter("s = 'x''y?'").select("id")), rows(pg("t").filter("day = date'2020-01-02'").select("id")), rows(pg("t").filter("s like 'x%' or id in (2, 3)").select("id"))
rows(pg("t").filter("n > 12.3").select("n")), rows(pg("t").filter("not (id = 1)").select("id")), rows(pg("t").filter("b").select("id")), rows(pg("t").filter("isnan(d)").select("id"))
rows(pg("t").filter("at > timestamp'2020-01-01'").select("id")), rows(pg("t").filter("c = 'c    '").select("id")), rows(pg("t").filter("s > 'w'").select("id"))
rows(pg('"Odd Name"')), pg('"Odd Name"').columns
rows(pg('"Odd Name"').filter("`a b` = 1").select("d\"q"))
pg("arrays").schema.simpleString(), rows(pg("arrays"))
pg("many").selectExpr("sum(id)", "count(name)").collect()
pg("many").filter("id is null").collect()
pg("many", fetchsize=10).filter("id <= 25").count()
len(pg("many").limit(5).collect()), pg("many").orderBy("id").limit(3).collect()
pg("(select id, name from many where id < 4) as q").orderBy("id").collect()
spark.read.format("jdbc").options(**opts, query="select part, count(*) as n from many group by part").load().orderBy("part").collect()
rows(pg("seen")), rows(pg("other.t2"))
pg("many", partitionColumn="id", lowerBound=1, upperBound=10000, numPartitions=4).agg({"id": "sum"}).collect()
pg("many", partitionColumn="id", lowerBound=1, upperBound=10000, numPartitions=4).count()
pg("t", partitionColumn="day", lowerBound="2020-01-01", upperBound="2020-02-01", numPartitions=3).count()
pg("t", partitionColumn="at", lowerBound="2020-01-01 00:00:00", upperBound="2020-02-01 00:00:00", numPartitions=3).count()
pg("many", partitionColumn="id", lowerBound=1)
pg("many", partitionColumn="nope", lowerBound=1, upperBound=5, numPartitions=2).count()
pg("many", partitionColumn="name", lowerBound=1, upperBound=5, numPartitions=2).count()
pg("many", partitionColumn="id", lowerBound=5, upperBound=1, numPartitions=2).count()
spark.read.jdbc(url, "many", predicates=["id < 10", "id >= 10 and id < 20"], properties=auth).count()
spark.read.jdbc(url, "many", column="id", lowerBound=1, upperBound=100, numPartitions=3, properties=auth).count()
fails(lambda: spark.read.format("jdbc").option("url", url).option("dbtable", "many").load().count())
spark.read.format("jdbc").options(**opts).load()
spark.read.format("jdbc").options(**opts, dbtable="many", query="select 1").load()
spark.read.format("jdbc").option("dbtable", "many").load()
pg("many", customSchema="id DECIMAL(20, 0), part STRING").schema.simpleString()
rows(pg("many", customSchema="id DECIMAL(20, 0), part STRING").filter("id < 3"))
pg("t", preferTimestampNTZ="true").select("at", "atz").schema.simpleString()
spark.sql(f"create temporary view jdbc_view using jdbc options (url '{url}', dbtable 'many', user 'postgres', password 'postgres')"), spark.sql("select max(id) from jdbc_view").collect()
pg("many").join(pg("seen"), "id").count()
rows(lite("t")), lite("t").schema.simpleString()
lite("t").filter("id > 1").count(), lite("many").count(), lite("many").agg({"id": "sum"}).collect()
lite("(select id, name from many where id < 3) q").collect()
lite("many", partitionColumn="id", lowerBound=0, upperBound=100, numPartitions=3).count()
write(small, "made"), rows(pg("made")), columns("made")
write(small, "made")
write(small, "made", "append"), pg("made").count()
write(small, "made", "ignore"), pg("made").count()
write(small.limit(1), "made", "overwrite"), pg("made").count(), columns("made")
write(small.select("i"), "made", "overwrite"), columns("made")
write(small.selectExpr("i as a", "s as b"), "kept", "overwrite", truncate="true"), rows(pg("kept")), columns("kept")
fails(lambda: write(small.selectExpr("s as b", "i as a"), "kept", "append")), pg("kept").count()
write(small.selectExpr("i + 10 as a", "s as b"), "kept", "append", batchsize=1), rows(pg("kept"))
write(small.selectExpr("i as a", "s as nope"), "kept", "append")
write(small.select("i", "s"), "typed", createTableColumnTypes="s VARCHAR(10)"), columns("typed")
write(small.selectExpr("array(i) x", "array(s) y"), "listed"), rows(pg("listed")), columns("listed")
write(small.selectExpr("struct(i) x"), "structs")
write(spark.range(25000), "ranged", numPartitions=3), pg("ranged").agg({"id": "sum"}).collect()
write(small.selectExpr("i `A b`", "s `q\"r`"), "odd"), pg("odd").columns
small.write.option("createTableOptions", "WITH (fillfactor=70)").jdbc(url, "opted", properties=auth), pg("opted").count()
small.write.partitionBy("i").jdbc(url, "parted", properties=auth)
small.select("i", "s").write.jdbc(lite_url, "made"), rows(lite("made"))
small.select("i", "s").write.jdbc(lite_url, "made", mode="append"), lite("made").count()
"""


def prepare(spark, postgres, folder):
    for statement in ["CREATE TYPE mood AS ENUM ('sad', 'happy')"] + TABLES.split(";\n"):
        if statement.strip():
            postgres.sql(statement)
    with sqlite3.connect(folder + "/l.db") as made:
        made.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, b BIGINT, s TEXT, r REAL, d DOUBLE, n DECIMAL(10,2), f BOOLEAN, v VARCHAR(10), k BLOB, y TINYINT)")
        made.execute("INSERT INTO t VALUES (1, 2, 'x', 1.5, 2.5, 12.34, 1, 'v', x'4142', 3), (2, null, null, null, null, null, null, null, null, null)")
        made.execute("CREATE TABLE many (id INTEGER, name TEXT)")
        made.executemany("INSERT INTO many VALUES (?, ?)", [(i, f"n{i}") for i in range(10000)])
    url, lite_url = f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres", f"jdbc:sqlite:{folder}/l.db"
    auth = {"user": "postgres", "password": "postgres"}
    opts = {"url": url, **auth}

    def fails(run_it):
        try:
            run_it()
        except Exception:
            return True
        return False

    def rows(frame):
        return sorted(map(str, frame.collect()))

    def pg(table, **options):
        return spark.read.format("jdbc").options(**opts, dbtable=table, **options).load()

    def lite(table, **options):
        return spark.read.format("jdbc").options(url=lite_url, dbtable=table, **options).load()

    def write(frame, table, mode="error", **options):
        return frame.write.options(**options).jdbc(url, table, mode=mode, properties=auth)

    def columns(table):
        return postgres.sql(f"SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum")

    small = spark.sql("select i, cast(i as bigint) l, cast(i as smallint) h, cast(i as tinyint) y, cast(i as float) f, cast(i as double) d, cast(i as decimal(20,3)) n, i = 1 b, "
                      "concat('it''s ? ', i) s, cast('AB' as binary) k, date'2020-01-02' day, timestamp'2020-01-02 03:04:05.678901' at, timestamp_ntz'2020-01-02 03:04:05' atn, "
                      "nullif(i, 2) z from values (1), (2), (3) t(i)")
    return dict(locals())


def evaluate(line, names):
    try:
        return repr(eval(line, names))
    except Exception as error:
        condition = (error.getCondition() if hasattr(error, "getCondition") else None) or None
        java = getattr(error, "java_exception", None) if not condition else None
        words = (java.getMessage() if java else str(error)).splitlines()[0].rstrip(" ;").split(" relation: struct<")[0]
        return f"{type(error).__name__} {condition} {words}".replace(names["folder"], "FOLDER").replace(str(names["postgres"].port), "PORT")


def run(spark):
    folder, postgres = tempfile.mkdtemp(), Postgres()
    try:
        names = prepare(spark, postgres, folder)
        return {line: evaluate(line, names) for line in CASES.strip().splitlines()}
    finally:
        postgres.stop()
        shutil.rmtree(folder)


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jdbc_expected.json")
    from pyspark.sql import SparkSession
    if sys.argv[1] == "--record":
        spark = SparkSession.builder.master("local[2]").config("spark.driver.extraClassPath", sys.argv[2].replace(",", ":")).config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false").getOrCreate()
        with open(here, "w", encoding="utf-8") as file:
            json.dump(run(spark), file, indent=1)
            file.write("\n")
        return 0
    from server import serving
    with open(here, encoding="utf-8") as file:
        expected = json.load(file)
    with serving(sys.argv[1]) as server:
        spark = SparkSession.builder.remote(server.url).create()
        found = run(spark)
        spark.stop()
    failed = [line for line in found if found[line] != expected.get(line)]
    for line in failed:
        print(f"DIFFERENT {line}\n  Spark: {expected.get(line)}\n  nilas: {found[line]}")
    print(f"jdbc: {len(found)} expressions, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
