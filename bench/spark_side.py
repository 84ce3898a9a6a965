"""What suite.py needs real Spark and Iceberg's Java library for. Run by a Python that has pyspark; the first arguments
are Iceberg's jar and the warehouse folder of a Hadoop catalog.

    spark_side.py JAR WAREHOUSE record NAMESPACE ANSWERS     {name: sql} on standard input; an answer each to ANSWERS/name.json
    spark_side.py JAR WAREHOUSE deletes NAMESPACE            {table: {path, rows, ids}} on standard input: Parquet files with
                                                             keys become equality delete files of the tables
"""
import json
import os
import pathlib
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql.functions import col


def session(jar, warehouse, shuffle_partitions=4):
    catalog = "spark.sql.catalog.local"
    spark = (SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g").config("spark.ui.enabled", "false")
             .config("spark.jars", jar).config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
             .config("spark.sql.shuffle.partitions", shuffle_partitions).config("spark.sql.defaultCatalog", "local")
             .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
             .config(catalog, "org.apache.iceberg.spark.SparkCatalog").config(catalog + ".type", "hadoop")
             .config(catalog + ".warehouse", warehouse).config(catalog + ".cache-enabled", "false").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def answer(spark, sql):
    """Columns as "name type" and rows as the texts that Spark casts them to; or the error's condition. Any other failure (of memory) is raised."""
    try:
        frame = spark.sql(sql)
        columns = [f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields]
        numbered = frame.toDF(*(f"c{i}" for i in range(len(columns))))
        rows = numbered.select(*(col(name).cast("string") for name in numbered.columns)).collect()
        return {"columns": columns, "rows": [list(row) for row in rows]}
    except Exception as error:
        condition = getattr(error, "getCondition", lambda: None)()
        if not condition or "MEMORY" in condition:
            raise
        return {"error": condition}


def record(spark, namespace, answers):
    answers.mkdir(parents=True, exist_ok=True)
    spark.sql(f"USE local.{namespace}")
    for name, sql in json.load(sys.stdin).items():
        file = answers / f"{name}.json"
        if file.exists():
            continue
        begin = time.perf_counter()
        part = file.with_suffix(".part")
        part.write_text(json.dumps(answer(spark, sql)))
        part.rename(file)
        print(f"{name} {time.perf_counter() - begin:.1f} s", flush=True)


def deletes(spark, namespace):
    jvm = spark._jvm
    catalog = jvm.org.apache.iceberg.hadoop.HadoopCatalog(spark._jsc.hadoopConfiguration(), sys.argv[2])
    for name, file in json.load(sys.stdin).items():
        levels = spark.sparkContext._gateway.new_array(jvm.java.lang.String, 1)
        levels[0] = namespace
        table = catalog.loadTable(jvm.org.apache.iceberg.catalog.TableIdentifier.of(jvm.org.apache.iceberg.catalog.Namespace.of(levels), name))
        ids = spark.sparkContext._gateway.new_array(jvm.int, len(file["columns"]))
        for i, column in enumerate(file["columns"]):
            ids[i] = table.schema().findField(column).fieldId()
        written = (jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(ids).withPath(file["path"])
                   .withFormat("parquet").withFileSizeInBytes(os.path.getsize(file["path"])).withRecordCount(file["rows"]).build())
        table.newRowDelta().addDeletes(written).commit()


def main():
    jar, warehouse, command, namespace = sys.argv[1:5]
    spark = session(jar, warehouse, shuffle_partitions=32)  # four of them at scale 10 do not fit into its memory
    if command == "record":
        record(spark, namespace, pathlib.Path(sys.argv[5]))
    else:
        deletes(spark, namespace)
    spark.stop()


main() if __name__ == "__main__" else None
