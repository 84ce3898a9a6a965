"""A Spark session that runs statements for bench.py: one JSON object with "sql" a line in, one with "seconds" out."""
import json
import sys
import time

from spark_side import session

spark = session(*sys.argv[1:3], shuffle_partitions=2)
print(json.dumps({"seconds": 0}), flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    try:
        for statement in json.loads(line)["sql"]:
            spark.sql(statement).collect()
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
    except Exception as error:
        print(json.dumps({"error": str(error)}), flush=True)
