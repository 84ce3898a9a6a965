"""What a program with pandas-on-Spark sees: every line of cases.txt, evaluated with the session of a Spark Connect server."""
import json
import os
import warnings

os.environ.setdefault("SPARK_CONNECT_MODE_ENABLED", "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def lines():
    with open(os.path.join(HERE, "cases.txt"), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def start(url, folder):
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.remote(url).getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.ansi.enabled", "false")  # pandas-on-Spark asks for it
    warnings.simplefilter("ignore")
    import pyspark.pandas as ps
    born = pd.to_datetime(["1990-05-06", "1985-01-02 03:04:05", None, "2000-12-31"], format="mixed")
    plain = pd.DataFrame({"name": ["Ada", "Bob", "Cara", "Dan"], "age": [36, 41, 28, 41], "pay": [1.5, 2.25, np.nan, 4.0],
                          "city": ["Rome", "Oslo", None, "Rome"], "born": born})
    cities = pd.DataFrame({"city": ["Rome", "Oslo", "Paris"], "country": ["IT", "NO", "FR"]})
    plain.to_parquet(os.path.join(folder, "people.parquet"), index=False, coerce_timestamps="us")
    plain[["name", "age", "city"]].to_csv(os.path.join(folder, "people.csv"), index=False)
    plain[["name", "age"]].to_json(os.path.join(folder, "people.json"), orient="records", lines=True)
    names = {"ps": ps, "pd": pd, "np": np, "people": ps.from_pandas(plain), "cities": ps.from_pandas(cities),
             "ages": ps.from_pandas(pd.DataFrame({"age": [20, 30, 40], "label": ["a", "b", "c"]})), "folder": folder}
    names["people"].to_spark().createOrReplaceTempView("people_table")

    def setting(frame, column, value):
        copy = frame.copy()
        copy[column] = value(copy)
        return copy

    def with_options(key, value, action):
        with ps.option_context(key, value):
            return shown(action())

    return spark, {**names, "setting": setting, "with_options": with_options}


def shown(value):
    """As text: the frame in pandas with its types and names, or the value's repr."""
    if hasattr(value, "_to_pandas") and not isinstance(value, type):
        value = value._to_pandas() if "DataFrame" in type(value).__name__ or "Series" in type(value).__name__ else value.to_pandas()
    elif hasattr(value, "to_pandas"):
        value = value.to_pandas()
    with pd.option_context("display.max_rows", 100, "display.max_columns", 100, "display.width", 1000):
        if isinstance(value, pd.DataFrame):
            return f"{value}\n{[str(kind) for kind in value.dtypes]} {value.index.dtype} {list(value.index.names)} {list(value.columns.names)}"
        return f"{value!r}"


def evaluate(line, names):
    try:
        return shown(eval(line, names))  # the lines are ours
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        return f"{type(error).__name__}: {first}"


def evaluate_all(url, folder, until=lambda: True):
    spark, names = start(url, folder)
    found = {}
    for line in lines():
        found[line] = evaluate(line, names)
        if not until():
            break
    spark.stop()
    return found


def record(url, folder):
    found = evaluate_all(url, folder)
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1, ensure_ascii=False, sort_keys=True)
        file.write("\n")
