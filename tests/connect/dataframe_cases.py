"""DataFrame expressions, one a line, and what each gives: rows with their schema, a value, or the error.

record_dataframes.py evaluates them with real Spark and writes dataframe_expected.json; dataframe_test.py with nilas.
Rows are compared in order only where the expression sorts.
"""
import contextlib
import datetime
import decimal
import io

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

COMMANDS = """
drop = [spark.sql(s) for s in ("DROP TABLE IF EXISTS lake.dfcases.t", "DROP TABLE IF EXISTS lake.dfcases.u", "DROP TABLE IF EXISTS lake.dfcases.m", "CREATE NAMESPACE IF NOT EXISTS lake.dfcases")]
"""

CASES = r"""
people
people.select("id", "name")
people.select(people.id, people["name"], F.col("age"))
people.select("*", (F.col("age") + 1).alias("next"))
people.select(people["*"])
people.select(F.col("nosuch"))
people.select(other.id)
people.select()
people.select(people.age + people.id, people.age - 1, people.age * 2, people.age / 2, people.age % 2, -people.age, people.age ** 2)
people.select(people.age == 3, people.age != 3, people.age < 3, people.age <= 3, people.age > 3, people.age >= 3, people.age.eqNullSafe(None))
people.select((people.age > 2) & (people.id < 3), (people.age > 2) | people.name.isNull(), ~(people.age > 2))
people.select(people.id.bitwiseAND(1), people.id.bitwiseOR(4), people.id.bitwiseXOR(1))
people.select(people.name.startswith("A"), people.name.endswith("b"), people.name.contains("o"), people.name.like("A%"), people.name.ilike("a%"), people.name.rlike("^A"))
people.select(people.name.substr(1, 2), people.age.between(1, 3), people.id.isin(1, 3), people.id.isin([]), people.age.isNull(), people.age.isNotNull())
people.select(people.id.cast("string"), people.id.cast(T.DoubleType()), people.age.astype("bigint"), people.name.try_cast("int"))
people.select(F.when(people.age > 2, "old").when(people.age > 1, "mid").otherwise("young"), F.when(people.age > 2, 1))
people.select(F.lit(None), F.lit(True), F.lit(1), F.lit(2**40), F.lit(1.5), F.lit("a'b"), F.lit(b"\x01\xff"), F.lit(decimal.Decimal("1.50")))
people.select(F.lit(datetime.date(2026, 11, 30)), F.lit(datetime.datetime(2026, 11, 30, 1, 2, 3)), F.lit(datetime.timedelta(days=1, seconds=2)))
people.select(F.lit([1, 2]), F.lit(["a"]), F.array(F.lit(1), people.age), F.create_map(F.lit("k"), people.age), F.struct(people.id, people.name.alias("n")))
people.select(F.expr("age + 1"), F.expr("age AS a"), F.expr("upper(name)"))
people.selectExpr("id", "age * 2 AS twice", "nullif(name, 'Al')")
people.select(F.expr("nosuch(1)"))
people.select(F.expr("1 +"))
people.select(people.name.alias("n", metadata={"a": 1}))
people.select(F.col("name").alias("a b"), F.col("`name`"))
people.select(people.colRegex("`(id|name)`"))
people.filter(people.age > 2)
people.filter("age > 2 AND name IS NOT NULL").select("id")
people.where(people.name == "Al")
people.filter(people.name)
people.select("id").filter(people.name == "Al")
people.select("id").select(people.name)
people.select("id").sort(people.name.desc())
people.select("id").orderBy(F.col("age").desc_nulls_last(), "id")
people.orderBy(people.age.asc_nulls_last(), people.id.desc())
people.orderBy("age", ascending=False).limit(2)
people.orderBy(F.desc("name")).select("name")
people.sort("id").limit(3).offset(1)
people.sort("id").offset(2)
people.limit(-1)
people.sort("id").tail(2)
people.sort("id").head(2)
people.sort("id").first()
people.count()
people.isEmpty()
people.columns
people.dtypes
people.schema.json()
people.withColumn("x", people.id * 10)
people.withColumn("id", people.id + 1).select(people.id)
people.withColumn("id", people.id + 1).filter(people.id == 2)
people.withColumns({"a": F.col("id") + 1, "b": F.lit("z")})
people.withColumns({"a": F.col("id") + 1, "b": F.col("a") * 2})
people.withColumnRenamed("name", "n")
people.withColumnsRenamed({"name": "n", "id": "i", "zz": "y"})
people.withColumnRenamed("name", "n").select(people.name)
people.withMetadata("id", {"k": "v"}).schema.json()
people.drop("age")
people.drop("age", "nosuch")
people.drop(people.age, people.name)
people.drop(F.col("nosuch"))
people.toDF("a", "b", "c")
people.toDF("a")
people.to(T.StructType([T.StructField("name", T.StringType()), T.StructField("id", T.LongType()), T.StructField("extra", T.IntegerType())]))
people.to(T.StructType([T.StructField("name", T.IntegerType())]))
people.to(T.StructType([T.StructField("age", T.IntegerType(), False)]))
people.alias("p").select("p.id", F.col("p.name"), people.age)
people.alias("p").select("q.id")
people.distinct()
people.union(people).dropDuplicates()
people.dropDuplicates(["name"]).count()
people.dropDuplicates(["nosuch"])
people.union(other.select("id", "name", "id"))
people.unionByName(other, allowMissingColumns=True)
people.unionByName(other)
people.select("id", "name").unionByName(other.select("name", "id"))
people.union(other)
people.intersect(people.limit(2)).count()
people.select("id").intersectAll(other.select("id"))
people.select("id").exceptAll(other.select("id"))
people.select("id").subtract(other.select("id"))
people.join(other, "id")
people.join(other, people.id == other.id)
people.join(other, people.id == other.id).select(people.name, other.name)
people.join(other, ["id", "name"], "left")
people.join(other, "id", "outer").select(people.id, other.id, "id")
people.join(other, people.id == other.id, "right")
people.join(other, people.id == other.id, "left_semi")
people.join(other, people.id == other.id, "left_anti")
people.crossJoin(other.limit(1))
people.join(people, people.id == people.id)
people.join(older, people.id == older.id).select(people.id, older.name)
older.join(people, people.id == older.id, "left").select(older.id)
people.alias("a").join(people.alias("b"), F.col("a.id") == F.col("b.age")).select("a.name", "b.name")
people.join(other, "nosuch")
people.join(other, people.id == other.id).select("id")
people.hint("broadcast").join(other, "id").count()
people.groupBy("name").count()
people.groupBy(people.name).agg(F.sum("age"), F.max("id").alias("m"))
people.groupBy().agg(F.count("*"), F.countDistinct("name"), F.avg("age"))
people.agg({"age": "max"})
people.agg(F.collect_list("id")).collect()[0][0].__len__()
people.groupBy((people.id % 2).alias("odd")).agg(F.sum("age").alias("s")).orderBy("odd")
people.groupBy("name").agg(F.sum("age")).sort(F.sum("age").desc_nulls_last(), "name")
people.groupBy("name").agg(F.sum("age").alias("s")).filter("s > 2")
people.groupBy("name").max("age", "id")
people.groupBy("name").agg(people.age)
people.rollup("name").agg(F.sum("id"), F.grouping_id())
people.cube("name", "age").count()
people.groupingSets([[people.name], []], people.name).agg(F.sum("id"))
people.groupBy("id").pivot("name").sum("age")
people.groupBy("id").pivot("name", ["Al", "Bob"]).agg(F.sum("age").alias("s"), F.count("*"))
people.groupBy(F.window(F.lit("2026-11-30 10:07:00").cast("timestamp"), "5 minutes")).count().select("count", "window.start")
people.unpivot("id", ["age"], "var", "val")
people.select("id", "age").unpivot("id", None, "var", "val")
people.unpivot(["id", "age", "name"], None, "var", "val")
people.na.fill(0)
people.na.fill("none", ["name"])
people.na.fill({"age": 7, "name": "x"})
people.na.drop()
people.na.drop("all")
people.na.drop(thresh=2, subset=["age", "name"])
people.na.replace("Al", "Alan")
people.na.replace([1, 2], [10, 20], "id")
people.replace({"Bob": None})
people.describe("age")
people.select("id", "name").summary("count", "min", "max", "50%")
people.summary("nosuch")
people.stat.crosstab("id", "name").count()
people.stat.cov("id", "age")
people.stat.corr("id", "age")
people.approxQuantile("id", [0.0, 0.5, 1.0], 0.0)
people.stat.freqItems(["id"]).collect()[0][0].__len__()
people.sample(0.5, seed=3).count() <= 4
people.sample(2.0, seed=3)
people.sampleBy("id", {1: 1.0, 2: 0.0}, seed=1)
people.select("id", "age").transpose()
people.repartition(3).count()
people.repartition("nosuch")
people.coalesce(1).count()
people.sortWithinPartitions("id").count()
people.cache().count()
people.unpersist().count()
people.select(F.row_number().over(Window.partitionBy("name").orderBy("id")).alias("r"), "id")
people.select("id", F.sum("age").over(Window.orderBy("id").rowsBetween(-1, 0)))
people.select("id", F.sum("id").over(Window.orderBy("id").rangeBetween(Window.unboundedPreceding, 1)))
people.select("id", F.lag("name", 1, "none").over(Window.orderBy("id")), F.lead("id").over(Window.orderBy("id")))
people.select("id", F.rank().over(Window.orderBy(F.desc("age"))), F.ntile(2).over(Window.orderBy("id")))
people.select(F.rank())
people.select("id", F.explode(F.array(F.lit(1), F.lit(2))).alias("e"))
people.select("id", F.posexplode(F.array(F.lit("a"), F.lit("b"))).alias("p", "v")).filter("id = 1")
people.withColumn("e", F.explode(F.array("id", "age")))
people.select(F.upper("name"), F.length("name"), F.concat("name", F.lit("!")), F.concat_ws("-", "name", "id"), F.coalesce("name", F.lit("?")))
people.select(F.round(F.lit(2.567), 1), F.abs("age"), F.greatest("id", "age"), F.least("id", "age"), F.isnull("age"), F.nvl("age", F.lit(0)))
people.select(F.to_date(F.lit("2026-11-30")), F.date_add(F.lit("2026-11-30"), 1), F.datediff(F.lit("2026-12-01"), F.lit("2026-11-30")), F.year(F.lit("2026-11-30")))
people.select(F.date_format(F.lit("2026-11-30").cast("timestamp"), "yyyy/MM/dd"), F.trunc(F.lit("2026-11-30").cast("date"), "month"))
people.select(F.split(F.lit("a,b"), ","), F.regexp_replace("name", "l", "L"), F.lpad("name", 5, "*"), F.trim(F.lit(" x ")))
people.select(F.transform(F.array("id", "age"), lambda x: x + 1), F.filter(F.array("id", "age"), lambda x: x > 1), F.exists(F.array("id"), lambda x: x == 1))
people.select(F.aggregate(F.array("id", F.lit(5)), F.lit(0), lambda a, x: a + x), F.zip_with(F.array("id"), F.array("id"), lambda a, b: a * b))
people.select(F.size(F.array("id")), F.array_contains(F.array("id"), 1), F.sort_array(F.array("age", "id")), F.element_at(F.array("id"), 1))
people.select(F.from_json(F.lit('{"a": 1}'), "a INT"), F.from_json(F.lit('{"a": [1]}'), T.StructType([T.StructField("a", T.ArrayType(T.IntegerType()))])), F.to_json(F.struct("id")))
people.select(F.get_json_object(F.lit('{"a": 1}'), "$.a"), F.json_tuple(F.lit('{"a": 1}'), "a")).limit(1)
people.select(F.count_if(people.age > 2), F.bool_and(people.id > 0), F.any_value("id").isNotNull(), F.min_by("name", "id"), F.mode("name", True))
people.select(F.first("name", ignorenulls=True), F.percentile_approx("id", 0.5), F.stddev("id"), F.variance("id"))
people.select(F.call_function("upper", "name"), F.call_function("nosuch", "name"))
people.select(F.lit(1) / F.lit(0))
people.select(F.try_divide(F.lit(1), F.lit(0)), F.try_add(F.lit(2147483647), F.lit(1)))
people.select(F.lit("x").cast("int"))
nested.select("s.a", nested.s.b, nested.s["a"], nested["s"].getField("b"), nested.arr[0], nested.arr.getItem(1), nested.m["k"], nested.m.k)
nested.select("s.*")
nested.select(nested.s.withField("c", F.lit(1)).alias("w"), nested.s.dropFields("a").alias("d"), nested.s.withField("a", F.lit("q")).alias("r"))
nested.select(nested.s.dropFields("a", "b"))
nested.select("s.nosuch")
nested.select(nested.arr["x"])
nested.select(F.explode("m"))
nested.select(F.inline(F.array("s")))
nested.filter(nested.s.a == 1).select("arr")
nested.groupBy("m").count()
spark.range(3)
spark.range(2, 10, 3)
spark.range(5, 0, -2)
spark.range(0)
spark.range(3).select((F.col("id") * 2).cast("int").alias("x")).filter("x > 0")
spark.createDataFrame([(1, "a")], "x int, y string")
spark.createDataFrame([], "x int")
spark.createDataFrame([{"a": 1, "b": [1, 2]}])
spark.createDataFrame([Row(d=datetime.date(2026, 1, 2), t=datetime.datetime(2026, 1, 2, 3, 4, 5), x=decimal.Decimal("1.5"))])
spark.createDataFrame([(None, b"x", {"k": 1.5}, (1, "z"))], "a int, b binary, c map<string,double>, d struct<e:int,f:string>")
spark.createDataFrame([1, 2], "int")
spark.sql("SELECT 1 AS a, 'x' AS b")
spark.sql("SELECT :a + :b AS s", args={"a": 1, "b": 2})
spark.sql("SELECT ? AS x, ? AS y", args=[1, "z"])
spark.sql("SELECT :missing")
spark.sql("SELECT * FROM {p} WHERE id = {n}", p=people, n=1)
spark.sql("SELECT nosuch FROM VALUES (1) AS t(a)")
spark.sql("SELEC 1")
spark.sql("SELECT a FROM VALUES (1), (2) AS t(a)").filter("a > 1").withColumn("b", F.col("a") + 1)
spark.table("nosuch")
spark.sql("SELECT 1/0")
[people.createOrReplaceTempView("people"), spark.table("people").count(), spark.sql("SELECT name FROM people WHERE id = 1").collect()][1:]
people.createTempView("people")
[spark.table("people").filter("id = 1").createOrReplaceTempView("people"), spark.table("people").count()][1:]
[people.createOrReplaceGlobalTempView("gp"), spark.table("global_temp.gp").count(), spark.catalog.dropGlobalTempView("gp")][1:]
[spark.catalog.tableExists("people"), spark.catalog.dropTempView("people"), spark.catalog.tableExists("people"), spark.catalog.dropTempView("people")]
[spark.catalog.databaseExists("lake.dfcases"), spark.catalog.databaseExists("lake.nosuch"), spark.catalog.functionExists("upper"), spark.catalog.functionExists("nosuch")]
[spark.catalog.databaseExists("default"), spark.catalog.databaseExists("spark_catalog.default")]
spark.catalog.setCurrentCatalog("nosuch")
people["nosuch"]
people.join(people.select("id", F.lit(1).alias("x")), "id", "left_semi").columns
people.join(people.select("name", "id"), ["name", "id"], "left_anti").columns
people.select(F.col("id").cast("int") * 2147483647)
[people.write.format("parquet").mode("overwrite").saveAsTable("dfplain"), people.write.mode("append").saveAsTable("dfplain"), spark.table("dfplain").count()][2:]
spark.table("dfplain").write.format("parquet").mode("overwrite").saveAsTable("dfplain")
[people.select("id").write.format("json").mode("overwrite").saveAsTable("dfplain"), spark.table("dfplain").orderBy("id").collect(), spark.sql("DROP TABLE dfplain").collect()][1:2]
[spark.sql("CREATE TABLE lake.dfcases.parts(s string, i int, j int) USING iceberg PARTITIONED BY (s, bucket(4, i))").collect(), [(c.name, c.isPartition, c.isBucket) for c in spark.catalog.listColumns("lake.dfcases.parts")], spark.sql("DROP TABLE lake.dfcases.parts").collect()][1:2]
[people.writeTo("lake.dfcases.w").using("iceberg").createOrReplace(), spark.sql("DELETE FROM lake.dfcases.w WHERE id IN (SELECT id FROM {d})", d=people.filter("id = 1")), spark.sql("UPDATE lake.dfcases.w SET name = 'u' WHERE id IN (SELECT id FROM {d})", d=people.filter("id = 2")), spark.sql("MERGE INTO lake.dfcases.w t USING {d} s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *", d=people), spark.table("lake.dfcases.w").select("id", "name").orderBy("id").collect(), spark.sql("DROP TABLE lake.dfcases.w")][4:5]
spark.catalog.getTable("nosuch")
[people.writeTo("lake.dfcases.t").using("iceberg").tableProperty("k", "v").partitionedBy("name").create(), spark.table("lake.dfcases.t").count()][1:]
people.writeTo("lake.dfcases.t").create()
[people.select("name", "id", "age").writeTo("lake.dfcases.t").append(), spark.table("lake.dfcases.t").orderBy("id").collect()][1:]
[people.filter("id = 1").writeTo("lake.dfcases.t").overwrite(F.col("name") == "Al"), spark.table("lake.dfcases.t").count()][1:]
[people.filter("id = 2").writeTo("lake.dfcases.t").overwritePartitions(), spark.table("lake.dfcases.t").count()][1:]
[people.writeTo("lake.dfcases.t").createOrReplace(), spark.table("lake.dfcases.t").orderBy("id").collect()][1:]
[people.writeTo("lake.dfcases.t").replace(), spark.table("lake.dfcases.t").count()][1:]
people.writeTo("lake.dfcases.nosuch").append()
people.writeTo("lake.dfcases.nosuch").replace()
people.select("id").writeTo("lake.dfcases.t").append()
[people.write.mode("append").saveAsTable("lake.dfcases.t"), spark.table("lake.dfcases.t").count()][1:]
[people.write.insertInto("lake.dfcases.t"), spark.table("lake.dfcases.t").count()][1:]
[people.write.mode("overwrite").saveAsTable("lake.dfcases.t"), spark.table("lake.dfcases.t").count()][1:]
people.write.saveAsTable("lake.dfcases.t")
[people.write.mode("ignore").saveAsTable("lake.dfcases.t"), spark.table("lake.dfcases.t").count()][1:]
[people.write.format("iceberg").mode("append").save("lake.dfcases.t"), spark.read.format("iceberg").load("lake.dfcases.t").count()][1:]
[people.writeTo("lake.dfcases.u").partitionedBy(F.partitioning.bucket(4, "id"), F.partitioning.years(F.col("d"))).create() if False else people.withColumn("d", F.lit(datetime.date(2026, 1, 1))).writeTo("lake.dfcases.u").partitionedBy(F.bucket(4, "id"), F.years("d")).create(), sorted(r.spec_id for r in spark.table("lake.dfcases.u.partitions").collect())[:1]][1:]
[people.write.format("noop").mode("overwrite").save()]
[other.alias("s").mergeInto("lake.dfcases.t", F.expr("s.id = lake.dfcases.t.id")).whenMatched().update({"name": F.col("s.name")}).whenNotMatched().insert({"id": F.col("s.id"), "name": F.col("s.name")}).merge()] and spark.table("lake.dfcases.t").orderBy("id", "name").collect()
spark.read.option("snapshot-id", "1").table("lake.dfcases.t")
spark.table("lake.dfcases.t").select("id", "_spec_id").orderBy("id").limit(1)
spark.table("lake.dfcases.t").schema.json()
text(lambda: people.sort("id").show())
text(lambda: people.sort("id").show(2))
text(lambda: people.sort("id").show(2, truncate=2))
text(lambda: people.sort("id").show(2, truncate=False))
text(lambda: people.sort("id").show(1, vertical=True))
text(lambda: people.filter("id > 99").show(vertical=True))
text(lambda: nested.show(truncate=False))
text(lambda: nested.printSchema())
people.sort("id")._show_string(1, 5, False)
"""


def text(action):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        action()
    return out.getvalue()


def start(spark):
    names = {"spark": spark, "F": F, "T": T, "Window": Window, "Row": Row, "datetime": datetime, "decimal": decimal, "text": text}
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.connect.session.planCache.enabled", "false")  # Spark 4.0.1 loses plan ids in it
    exec(COMMANDS, names)
    names["people"] = spark.createDataFrame([(1, "Al", 1), (2, "Bob", 3), (3, None, None), (4, "Al", 4)], "id int, name string, age int")
    names["other"] = spark.createDataFrame([(1, "one"), (2, "Bob"), (9, "nine")], "id int, name string")
    names["older"] = names["people"].filter(names["people"].age > 2)
    names["nested"] = spark.createDataFrame([((1, "x"), [1, 2], {"k": 5}), (None, None, None)], "s struct<a:int,b:string>, arr array<int>, m map<string,int>")
    return names


def evaluate(expression, names):
    try:
        value = eval(expression, names)
        if isinstance(value, DataFrame):
            rows = [repr(row) for row in value.collect()]
            is_sorted = "sort(" in expression or "orderBy(" in expression
            return {"schema": value.schema.simpleString(), "rows": rows if is_sorted else sorted(rows)}
        return repr(value)
    except PySparkException as error:
        return {"class": type(error).__name__, "condition": error.getCondition(), "parameters": error.getMessageParameters()}
    except Exception as error:
        return {"class": type(error).__name__, "text": str(error).splitlines()[0][:200]}


def expressions():
    return [line for line in CASES.split("\n") if line.strip()]
