"""driver.py - runs the dbt project beside it for three days in the session of $SPARK_REMOTE and prints what came of it.

What is printed is the same wherever it runs: no times, no paths. project_test.py compares it with what real Spark printed."""
import json
import os
import sys

from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

SCHEMA = os.environ["DBT_SCHEMA"]
WINDOW = ["--event-time-start", "2026-10-01", "--event-time-end", "2026-10-04"]
TABLES = {
    "raw_customers": "*", "raw_orders": "*", "stg_orders": "*", "customers": "*", "large_customers": "*", "orders_appended": "*", "orders_by_day": "*",
    "orders_merged": "*", "statuses_merged": "*", "orders_micro": "*", "contracted": "*", "utilities": "*", "orders_current": "*",
    "orders_history": "order_id, customer_id, status, ordered_at, dbt_scd_id, dbt_updated_at, dbt_valid_from, dbt_valid_to IS NULL AS is_valid",
    "customers_history": "customer_id, city, orders, dbt_valid_to IS NULL AS is_valid",
}


def step(*arguments):
    print("==== dbt", *arguments)
    result = dbtRunner().invoke(["--quiet", *arguments])
    if result.exception:
        print("exception", type(result.exception).__name__, result.exception)
    results = getattr(result.result, "results", None) or []
    for one in sorted(results, key=lambda each: each.node.unique_id if hasattr(each, "node") else ""):
        if not hasattr(one, "node"):
            continue
        status = str(getattr(one.status, "value", one.status))
        wrong = one.message if status not in ("success", "pass") else ""
        print(one.node.unique_id, status, one.failures if one.failures else "", wrong)
    return result


def contents(spark, *names):
    for name in names or TABLES:
        frame = spark.sql(f"SELECT {TABLES[name]} FROM {SCHEMA}.{name}")
        print("----", name, ", ".join(f"{field.name} {field.dataType.simpleString()} {field.metadata.get('comment', '')}".strip() for field in frame.schema))
        for row in sorted(map(repr, frame.collect())):
            print(row)


def catalog():
    with open(os.path.join(os.environ["DBT_TARGET_PATH"], "catalog.json"), encoding="utf-8") as file:
        content = json.load(file)
    print("errors", content["errors"])
    for group in ("nodes", "sources"):
        for key, node in sorted(content[group].items()):
            about = node["metadata"]
            columns = ", ".join(f"{column['name']} {column['type']}" for column in node["columns"].values())
            print(key, about["type"], about["schema"] == SCHEMA, columns, sorted(name for name in node["stats"]))


def properties(spark, name):
    keys = ("comment", "last.day", "owner.team", "write.format.default")
    for row in spark.sql(f"SHOW TBLPROPERTIES {SCHEMA}.{name}").collect():
        if row.key in keys:
            print(name, row.key, row.value)


def main():
    builder = SparkSession.builder
    for key, value in json.loads(os.environ["DBT_CONFS"]).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sql("CREATE NAMESPACE IF NOT EXISTS default")  # for dbt's temporary views
    step("debug", "--connection")
    step("build", *WINDOW)
    contents(session)
    for day in (2, 3):
        step("build", "--vars", "{day: %d}" % day, *WINDOW)
        contents(session, "orders_appended", "orders_by_day", "orders_merged", "statuses_merged", "orders_micro", "customers", "orders_history", "customers_history")
    for name in ("customers", "statuses_merged", "orders_merged"):
        properties(session, name)
    step("docs", "generate", "--vars", "{day: 3}")
    catalog()
    step("run", "--full-refresh", "--vars", "{day: 3}", "--select", "orders_appended orders_merged customers orders_current")
    contents(session, "orders_appended", "orders_merged", "customers")
    step("snapshot", "--vars", "{day: 3}")
    step("test", "--vars", "{day: 3}")
    step("run", "--vars", "{day: 3}", "--empty", "--select", "contracted")
    contents(session, "contracted")
    shown = step("show", "--inline", "select order_id, status from {{ ref('orders_current') }} order by order_id", "--limit", "2", "--vars", "{day: 3}")
    print([dict(row) for row in shown.result.results[0].agate_table.rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
