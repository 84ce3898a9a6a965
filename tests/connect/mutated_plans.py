#!/usr/bin/env python3
"""mutated_plans.py NILAS [SEED [SECONDS]] - plans of PySpark with bytes changed, cut and mixed: every one is answered or refused,
and the server lives. Best with a nilas built with a sanitizer."""
import logging
import os
import random
import sys
import time
import uuid

import grpc
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from server import Server
from wire_test import varint

logging.disable(logging.CRITICAL)


def plans(url):
    spark = SparkSession.builder.remote(url).create()
    numbers = spark.range(10)
    frame = spark.createDataFrame([(1, "a", 2.5), (2, None, 3.5)], ["i", "s", "d"])
    window = Window.partitionBy("s").orderBy("i").rowsBetween(Window.unboundedPreceding, 0)
    frames = [numbers, frame, frame.filter(F.col("i") > 1), frame.groupBy("s").agg(F.sum("d"), F.count("*")), frame.join(numbers, frame.i == numbers.id, "left"),
              frame.withColumn("x", F.row_number().over(window)), frame.union(frame).distinct().sort("i").limit(5), frame.na.fill(0).na.drop(),
              frame.select(F.array("i").alias("a"), F.struct("s", "d"), F.when(F.col("i") > 1, "x").otherwise("y"), F.expr("transform(array(1), x -> x + 1)")),
              frame.groupBy("s").pivot("i").sum("d"), frame.unpivot("i", ["d"], "k", "v"), frame.select(F.lit(1), F.lit("x"), F.lit(None), F.current_date()),
              spark.sql("SELECT * FROM range(3) WHERE id > :x", {"x": 1}), frame.sample(0.5, 3), frame.toDF("a", "b", "c").drop("a"), frame.cube("s").count(),
              frame.crosstab("i", "s"), frame.select(F.transform(F.array("i"), lambda x: x + 1)), frame.describe()]
    return [made._plan.to_proto(spark.client).root.SerializeToString() for made in frames]


def mutate(all_plans):
    plan = bytearray(random.choice(all_plans))
    for _ in range(random.choice([1, 1, 2, 3, 8])):
        kind, at = random.random(), random.randrange(len(plan))
        if kind < 0.5:
            plan[at] = random.choice([0, 1, 2, 127, 128, 255, plan[at] ^ 1 << random.randrange(8)])
        elif kind < 0.7 and len(plan) > 8:
            del plan[at : at + random.choice([1, 2, 5])]
        elif kind < 0.9:
            plan[at:at] = plan[random.randrange(len(plan)) :][: random.randrange(1, 20)]
        else:
            other = random.choice(all_plans)
            start = random.randrange(len(other))
            plan[at : at + 10] = other[start : start + 10]
    return bytes(plan)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def main():
    random.seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 60
    server = Server(sys.argv[1])
    all_plans = plans(server.url)
    channel = grpc.insecure_channel(f"localhost:{server.port}")
    service = "/spark.connect.SparkConnectService/"
    execute = channel.unary_stream(service + "ExecutePlan", request_serializer=bytes, response_deserializer=bytes)
    analyze = channel.unary_unary(service + "AnalyzePlan", request_serializer=bytes, response_deserializer=bytes)
    head = field(1, str(uuid.uuid4()).encode()) + field(2, field(1, b"mutated"))
    end, counts = time.monotonic() + seconds, {}
    plan = b""
    while time.monotonic() < end and server.is_alive():
        plan = mutate(all_plans)
        try:
            if random.random() < 0.5:
                analyze(head + field(4, field(1, field(1, plan))), timeout=20)
            else:
                list(execute(head + field(3, field(1, plan)), timeout=20))
            answer = "answered"
        except grpc.RpcError as error:
            answer = error.code().name
        counts[answer] = counts.get(answer, 0) + 1
    print(counts)
    problem = None if server.is_alive() and set(counts) <= {"answered", "INTERNAL"} else f"after {plan.hex()}: {server.read_log()[-3000:]}"
    server.stop()
    print(problem or "every plan was answered or refused", flush=True)
    os._exit(1 if problem else 0)  # PySpark's threads wait for a server that is gone


if __name__ == "__main__":
    main()
