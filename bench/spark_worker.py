"""A Spark session that runs statements for bench.py: one JSON object with "sql" a line in, one with "seconds" out."""
import json
import sys
import time

from pyspark.sql import SparkSession

jar, warehouse = sys.argv[1:3]
catalog = "spark.sql.catalog.local"
spark = (SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").config("spark.ui.enabled", "false")
         .config("spark.jars", jar).config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false")
         .config("spark.sql.shuffle.partitions", "2").config("spark.sql.defaultCatalog", "local")
         .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
         .config(catalog, "org.apache.iceberg.spark.SparkCatalog").config(catalog + ".type", "hadoop")
         .config(catalog + ".warehouse", warehouse).config(catalog + ".cache-enabled", "false").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
print(json.dumps({"seconds": 0}), flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    try:
        for statement in json.loads(line)["sql"]:
            spark.sql(statement).collect()
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
    except Exception as error:
        print(json.dumps({"error": str(error)}), flush=True)
