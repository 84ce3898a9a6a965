"""Athena's API with boto3: the chapter's query, results with paging, failures, everything that is kept."""
import csv
import io
import os
import signal
import sys
import time

from support import Lakehouse, equal, run_tests

import pyarrow
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import (BinaryType, BooleanType, DateType, DecimalType, DoubleType, FloatType, IntegerType, ListType, LongType, MapType, NestedField, StringType, StructType,
                             TimestampType, TimestamptzType)


def check(text, actual, expected):
    equal(actual, expected, text)


def run(athena, sql, **more):
    """As the book's athena_query.py: waits, then gives the rows."""
    query = athena.start_query_execution(QueryString=sql, **more)["QueryExecutionId"]
    while True:
        execution = athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]
        if execution["Status"]["State"] not in ("QUEUED", "RUNNING"):
            break
        time.sleep(0.02)
    if execution["Status"]["State"] != "SUCCEEDED":
        return execution
    rows, token = [], {}
    while True:
        page = athena.get_query_results(QueryExecutionId=query, **token)
        rows += [[cell.get("VarCharValue") for cell in row["Data"]] for row in page["ResultSet"]["Rows"]]
        if "NextToken" not in page:
            return rows
        token = {"NextToken": page["NextToken"]}


def fails(call, code, **arguments):
    try:
        call(**arguments)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return error.response["Error"]["Code"] == code or print(error)
    return False


def fill(lake):
    tables = lake.client("s3tables")
    arn = tables.create_table_bucket(name="lakehouse")["arn"]
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    catalog = RestCatalog("lake", uri=lake.url("s3tables") + "/iceberg", warehouse=arn,
                          **{"rest.sigv4-enabled": "true", "rest.signing-name": "s3tables", "rest.signing-region": "us-east-1", "s3.endpoint": lake.url("s3"),
                             "client.access-key-id": "nilas", "client.secret-access-key": "nilas", "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas",
                             "s3.region": "us-east-1"})
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()), NestedField(3, "amount", DecimalType(10, 2)), NestedField(4, "d", DateType()),
                    NestedField(5, "ts", TimestampType()), NestedField(6, "tz", TimestamptzType()), NestedField(7, "b", BooleanType()), NestedField(8, "r", DoubleType()),
                    NestedField(9, "bin", BinaryType()), NestedField(10, "i", IntegerType()), NestedField(11, "f", FloatType()),
                    NestedField(12, "l", ListType(20, IntegerType(), element_required=False)), NestedField(13, "m", MapType(21, StringType(), 22, IntegerType(), value_required=False)),
                    NestedField(14, "s", StructType(NestedField(23, "a", IntegerType()), NestedField(24, "x", StringType()))))
    table = catalog.create_table("sales.types", schema)
    import datetime
    import decimal
    utc = datetime.timezone.utc
    when = datetime.datetime(2026, 10, 2, 3, 4, 5, 678900)
    row = {"id": 1, "name": 'say "hi", you', "amount": decimal.Decimal("1.50"), "d": when.date(), "ts": when, "tz": when.replace(tzinfo=utc), "b": True, "r": 1e10,
           "bin": b"\x01\xff", "i": -3, "f": 0.5, "l": [1, None, 3], "m": [("k", 1)], "s": {"a": 1, "x": "y"}}
    empty = {**{key: None for key in row}, "id": 2, "name": ""}
    table.append(pyarrow.Table.from_pylist([row, empty], schema=table.schema().as_arrow()))
    many = catalog.create_table("sales.many", Schema(NestedField(1, "n", LongType()), NestedField(2, "t", StringType())))
    many.append(pyarrow.table({"n": pyarrow.array(range(2500), pyarrow.int64()), "t": [f"line\n{i}" for i in range(2500)]}))
    return arn


def test_athena():
    with Lakehouse() as lake:
        fill(lake)
        athena = lake.client("athena")
        name = '"s3tablescatalog/lakehouse"."sales"'
        rows = run(athena, f"SELECT * FROM {name}.\"types\" ORDER BY id")
        check("a row of every type", rows, [
            ["id", "name", "amount", "d", "ts", "tz", "b", "r", "bin", "i", "f", "l", "m", "s"],
            ["1", 'say "hi", you', "1.50", "2026-10-02", "2026-10-02 03:04:05.678", "2026-10-02 03:04:05.678 UTC", "true", "1.0E10", "01 ff", "-3", "0.5", "[1, null, 3]", "{k=1}",
             "{a=1, x=y}"],
            ["2", ""] + [None] * 12])
        rows = run(athena, f"SELECT n, t FROM {name}.many ORDER BY 1")
        check("pages of 1000", [len(rows), rows[0], rows[1], rows[2500]], [2501, ["n", "t"], ["0", "line\n0"], ["2499", "line\n2499"]])
        check("context instead of names", run(athena, "SELECT count(*) AS c FROM many", QueryExecutionContext={"Catalog": "s3tablescatalog/lakehouse", "Database": "sales"}), [["c"], ["2500"]])
        check("parameters", run(athena, f"SELECT t FROM {name}.many WHERE n = ? AND t <> '?'", ExecutionParameters=["7"]), [["t"], ["line\n7"]])
        check("no rows", run(athena, f"SELECT n FROM {name}.many WHERE n < 0"), [["n"]])

        # The files of a result.
        s3 = lake.client("s3")
        s3.create_bucket(Bucket="results")
        query = athena.start_query_execution(QueryString="SELECT 1 AS a, CAST(NULL AS varchar(10)) AS b, '' AS c", ResultConfiguration={"OutputLocation": "s3://results/here/"})["QueryExecutionId"]
        while athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]["State"] in ("QUEUED", "RUNNING"):
            time.sleep(0.02)
        execution = athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]
        check("its place", execution["ResultConfiguration"]["OutputLocation"], f"s3://results/here/{query}.csv")
        text = s3.get_object(Bucket="results", Key=f"here/{query}.csv")["Body"].read().decode()
        check("the file", text, '"a","b","c"\n"1",,""\n')
        check("kind of statement", [execution["StatementType"], execution["SubstatementType"], execution["EngineVersion"]["EffectiveEngineVersion"], execution["WorkGroup"]],
              ["DML", "SELECT", "Athena engine version 3", "primary"])
        columns = athena.get_query_results(QueryExecutionId=query)["ResultSet"]["ResultSetMetadata"]["ColumnInfo"]
        check("columns", [(column["Name"], column["Type"], column["CatalogName"], column["Nullable"]) for column in columns],
              [("a", "integer", "hive", "UNKNOWN"), ("b", "varchar", "hive", "UNKNOWN"), ("c", "varchar", "hive", "UNKNOWN")])
        check("csv reads it", list(csv.reader(io.StringIO(text))), [["a", "b", "c"], ["1", "", ""]])

        # Failures.
        for sql, words in (("SELECT x FROM " + name + ".many", "COLUMN_NOT_FOUND: line 1:8: Column 'x' cannot be resolved"),
                           ("SELECT 1 FROM " + name + ".absent", "TABLE_NOT_FOUND: line 1:15"), ("SELEC 1", "SYNTAX_ERROR: line 1:1")):
            execution = run(athena, sql)
            check(sql, [execution["Status"]["State"], execution["Status"]["StateChangeReason"].startswith(words), execution["Status"]["AthenaError"]["ErrorCategory"]], ["FAILED", True, 2])
            check(sql + " results", fails(athena.get_query_results, "InvalidRequestException", QueryExecutionId=execution["QueryExecutionId"]), True)
        check("no such query", fails(athena.get_query_execution, "InvalidRequestException", QueryExecutionId="00000000-0000-0000-0000-000000000000"), True)
        check("no such work group", fails(athena.start_query_execution, "InvalidRequestException", QueryString="SELECT 1", WorkGroup="absent"), True)

        # Clients see the lakehouse, not this machine.
        secret = lake.folder + "/secret.csv"
        with open(secret, "w", encoding="utf-8") as out:
            out.write("hidden\n")
        kept = lake.folder + "/kept"
        os.mkdir(kept)
        with open(kept + "/file", "w", encoding="utf-8") as out:
            out.write("x")
        for sql in (f"SELECT * FROM csv.`{secret}`", f"SELECT * FROM csv.\"file://{secret}\"", f"SELECT * FROM csv.`{lake.folder}/sec*`", f"SELECT * FROM csv.`{lake.folder}/s[e]cret.csv`",
                    f"CREATE TEMPORARY VIEW v USING csv OPTIONS (path '{secret}')", f"INSERT OVERWRITE DIRECTORY '{kept}' USING csv SELECT 1",
                    f"INSERT OVERWRITE LOCAL DIRECTORY '{kept}' USING csv SELECT 1", f"INSERT OVERWRITE DIRECTORY 'file:{kept}' USING csv SELECT 1",
                    "SET spark.sql.catalog.evil=org.apache.iceberg.spark.SparkCatalog", "CREATE TABLE local.default.t (a int)", "CREATE TABLE spark_catalog.default.t (a int)",
                    f"ALTER TABLE {name}.many SET TBLPROPERTIES ('write.metadata.path' = '{kept}')",
                    f"CREATE TABLE {name}.m (a int) TBLPROPERTIES ('table_type' = 'ICEBERG', 'write.metadata.path' = '{kept}')"):
            execution = run(athena, sql)
            check(sql, isinstance(execution, dict) and execution["Status"]["State"] == "FAILED" and "hidden" not in str(execution), True)
        check("nothing was written or removed", os.listdir(kept), ["file"])

        # Tokens, lists, batches, stopping.
        token = "x" * 32
        first = athena.start_query_execution(QueryString="SELECT 1", ClientRequestToken=token)["QueryExecutionId"]
        check("the same token", athena.start_query_execution(QueryString="SELECT 1", ClientRequestToken=token)["QueryExecutionId"], first)
        check("another query with it", fails(athena.start_query_execution, "InvalidRequestException", QueryString="SELECT 2", ClientRequestToken=token), True)
        page = athena.list_query_executions(MaxResults=2)
        check("newest first", [page["QueryExecutionIds"][0], len(page["QueryExecutionIds"]), "NextToken" in page], [first, 2, True])
        batch = athena.batch_get_query_execution(QueryExecutionIds=[query, "11111111-0000-0000-0000-000000000000"])
        check("batch", [len(batch["QueryExecutions"]), len(batch["UnprocessedQueryExecutionIds"])], [1, 1])
        slow = athena.start_query_execution(QueryString="SELECT count(*) FROM TABLE(sequence(1, 1000000)) AS a(id), TABLE(sequence(1, 1000000)) AS b(id) WHERE a.id * b.id = -1")["QueryExecutionId"]
        while athena.get_query_execution(QueryExecutionId=slow)["QueryExecution"]["Status"]["State"] == "QUEUED":
            time.sleep(0.02)
        check("not finished", fails(athena.get_query_results, "InvalidRequestException", QueryExecutionId=slow), True)
        athena.stop_query_execution(QueryExecutionId=slow)
        deadline = time.time() + 20
        while athena.get_query_execution(QueryExecutionId=slow)["QueryExecution"]["Status"]["State"] == "RUNNING" and time.time() < deadline:
            time.sleep(0.02)
        check("stopped", athena.get_query_execution(QueryExecutionId=slow)["QueryExecution"]["Status"]["State"], "CANCELLED")
        check("statistics", "TotalExecutionTimeInMillis" in athena.get_query_runtime_statistics(QueryExecutionId=query)["QueryRuntimeStatistics"]["Timeline"], True)

        # Metadata.
        catalogs = {found["CatalogName"]: found["Type"] for found in athena.list_data_catalogs()["DataCatalogsSummary"]}
        check("catalogs", [catalogs["AwsDataCatalog"], catalogs["s3tablescatalog/lakehouse"]], ["GLUE", "FEDERATED"])
        check("catalog", athena.get_data_catalog(Name="AwsDataCatalog")["DataCatalog"]["Type"], "GLUE")
        check("databases", [found["Name"] for found in athena.list_databases(CatalogName="s3tablescatalog/lakehouse")["DatabaseList"]], ["sales"])
        check("database", athena.get_database(CatalogName="s3tablescatalog/lakehouse", DatabaseName="sales")["Database"]["Name"], "sales")
        check("no database", fails(athena.get_database, "MetadataException", CatalogName="s3tablescatalog/lakehouse", DatabaseName="absent"), True)
        table = athena.get_table_metadata(CatalogName="s3tablescatalog/lakehouse", DatabaseName="sales", TableName="types")["TableMetadata"]
        check("table", [table["TableType"], table["Parameters"]["table_type"], [(column["Name"], column["Type"]) for column in table["Columns"]][9:]],
              ["EXTERNAL_TABLE", "ICEBERG", [("i", "integer"), ("f", "real"), ("l", "array(integer)"), ("m", "map(varchar, integer)"), ("s", "row(a integer, x varchar)")]])
        check("tables", [found["Name"] for found in athena.list_table_metadata(CatalogName="s3tablescatalog/lakehouse", DatabaseName="sales")["TableMetadataList"]], ["many", "types"])

        # What is kept.
        athena.create_work_group(Name="team", Configuration={"ResultConfiguration": {"OutputLocation": "s3://results/team/"}}, Description="ours")
        check("work group twice", fails(athena.create_work_group, "InvalidRequestException", Name="team"), True)
        athena.update_work_group(WorkGroup="team", Description="theirs", ConfigurationUpdates={"EnforceWorkGroupConfiguration": True})
        group = athena.get_work_group(WorkGroup="team")["WorkGroup"]
        check("work group", [group["Description"], group["State"], group["Configuration"]["ResultConfiguration"]["OutputLocation"], group["Configuration"]["EnforceWorkGroupConfiguration"]],
              ["theirs", "ENABLED", "s3://results/team/", True])
        check("work groups", [found["Name"] for found in athena.list_work_groups()["WorkGroups"]], ["primary", "team"])
        athena.create_prepared_statement(StatementName="by_n", WorkGroup="team", QueryStatement=f"SELECT t FROM {name}.many WHERE n = ? OR n = ? ORDER BY n")
        check("prepared", run(athena, "EXECUTE by_n USING 3, 4", WorkGroup="team"), [["t"], ["line\n3"], ["line\n4"]])
        check("prepared statements", [found["StatementName"] for found in athena.list_prepared_statements(WorkGroup="team")["PreparedStatements"]], ["by_n"])
        athena.update_prepared_statement(StatementName="by_n", WorkGroup="team", QueryStatement="SELECT ? AS a")
        check("prepared anew", athena.get_prepared_statement(StatementName="by_n", WorkGroup="team")["PreparedStatement"]["QueryStatement"], "SELECT ? AS a")
        athena.delete_prepared_statement(StatementName="by_n", WorkGroup="team")
        check("no prepared", fails(athena.get_prepared_statement, "ResourceNotFoundException", StatementName="by_n", WorkGroup="team"), True)
        named = athena.create_named_query(Name="q", Database="sales", QueryString="SELECT 1", Description="one")["NamedQueryId"]
        athena.update_named_query(NamedQueryId=named, Name="q2", QueryString="SELECT 2")
        check("named query", athena.get_named_query(NamedQueryId=named)["NamedQuery"]["QueryString"], "SELECT 2")
        check("named queries", athena.list_named_queries()["NamedQueryIds"], [named])
        check("named batch", len(athena.batch_get_named_query(NamedQueryIds=[named, "x"])["UnprocessedNamedQueryIds"]), 1)
        athena.tag_resource(ResourceARN="arn:aws:athena:us-east-1:123456789012:workgroup/team", Tags=[{"Key": "a", "Value": "b"}])
        check("tags", athena.list_tags_for_resource(ResourceARN="arn:aws:athena:us-east-1:123456789012:workgroup/team")["Tags"], [{"Key": "a", "Value": "b"}])
        check("engines", len(athena.list_engine_versions()["EngineVersions"]), 2)
        check("not offered", fails(athena.list_capacity_reservations, "InvalidRequestException"), True)

        # Killed and started again.
        running = athena.start_query_execution(QueryString="SELECT count(*) FROM TABLE(sequence(1, 1000000)) AS a(id), TABLE(sequence(1, 1000000)) AS b(id) WHERE a.id * b.id = -1")["QueryExecutionId"]
        lake.stop(signal.SIGKILL)
        lake.start()
        athena = lake.client("athena")
        check("an old result", athena.get_query_results(QueryExecutionId=query)["ResultSet"]["Rows"][1]["Data"][0], {"VarCharValue": "1"})
        check("a lost query", athena.get_query_execution(QueryExecutionId=running)["QueryExecution"]["Status"]["State"], "FAILED")
        check("work groups stay", len(athena.list_work_groups()["WorkGroups"]), 2)


def count_of(athena, sql, **more):
    query = athena.start_query_execution(QueryString=sql, **more)["QueryExecutionId"]
    while athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]["State"] in ("QUEUED", "RUNNING"):
        time.sleep(0.02)
    execution = athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]
    check(sql, (execution["Status"]["State"], execution["Status"].get("StateChangeReason")), ("SUCCEEDED", None))
    return athena.get_query_results(QueryExecutionId=query).get("UpdateCount")


def test_tables_are_made_changed_and_looked_after():
    with Lakehouse() as lake:
        fill(lake)
        athena = lake.client("athena")
        here = {"QueryExecutionContext": {"Catalog": "s3tablescatalog/lakehouse", "Database": "sales"}}
        count_of(athena, "CREATE TABLE visits (`id` bigint, who string, at timestamp, tags array<string>) PARTITIONED BY (bucket(4, id), day(at)) "
                         "TBLPROPERTIES ('table_type' = 'ICEBERG', 'format' = 'parquet')", **here)
        check("inserted", count_of(athena, "INSERT INTO visits VALUES (1, 'a', TIMESTAMP '2026-01-01 00:00:00', ARRAY['x']), (2, 'b', TIMESTAMP '2026-01-02 00:00:00', NULL)", **here), 2)
        check("inserted again", count_of(athena, "INSERT INTO visits (id, who) VALUES (3, 'c')", **here), 1)
        check("updated", count_of(athena, "UPDATE visits SET who = upper(who) WHERE id < 3", **here), 2)
        check("deleted", count_of(athena, "DELETE FROM visits WHERE id = 3", **here), 1)
        check("merged", count_of(athena, "MERGE INTO visits t USING (VALUES (1, 'one'), (9, 'new')) AS s(id, who) ON t.id = s.id WHEN MATCHED THEN UPDATE SET who = s.who "
                                         "WHEN NOT MATCHED THEN INSERT (id, who) VALUES (s.id, s.who)", **here), 2)
        check("rows", run(athena, "SELECT id, who, cardinality(tags) FROM visits ORDER BY id", **here), [["id", "who", "_col2"], ["1", "one", "1"], ["2", "B", None], ["9", "new", None]])
        check("made of a query", count_of(athena, "CREATE TABLE copied WITH (table_type = 'ICEBERG', is_external = false, partitioning = ARRAY['bucket(id, 2)'], format = 'PARQUET') "
                                                  "AS SELECT id, who FROM visits", **here), 3)
        count_of(athena, "OPTIMIZE visits REWRITE DATA USING BIN_PACK WHERE id > 0", **here)
        count_of(athena, "VACUUM visits", **here)
        check("the same rows", run(athena, "SELECT count(*) AS c FROM visits", **here), [["c"], ["3"]])
        check("snapshots", run(athena, 'SELECT count(*) > 0 AS c FROM "visits$snapshots"', **here), [["c"], ["true"]])
        count_of(athena, "ALTER TABLE visits SET TBLPROPERTIES ('write.target-file-size-bytes' = '1000000')", **here)
        check("a property", ["write.target-file-size-bytes", "1000000"] in run(athena, "SHOW TBLPROPERTIES visits", **here), True)
        check("UNLOAD is refused by name", "UNLOAD" in run(athena, "UNLOAD (SELECT 1) TO 's3://x/y' WITH (format = 'PARQUET')", **here)["Status"]["StateChangeReason"], True)
        for parameter, count in (("1", "1"), ("9 -- ", "1"), ("1 + 8", "1"), ("NULL", "0"), ("1 OR true", None), ("1) OR (true", None), ("1; DROP TABLE visits", None), ("'1", None), ("1 /*", None)):
            told = run(athena, "SELECT count(*) AS c FROM visits WHERE id = ?", ExecutionParameters=[parameter], **here)
            check(f"with {parameter}", told if isinstance(told, list) else told["Status"]["State"], [["c"], [count]] if count else "FAILED")
        # Names that Glue takes are names of tables, whatever stands in them.
        lake.client("s3").create_bucket(Bucket="odd")
        for number, name in enumerate(("a/b", "../x", "a'b", "a`b", "a.b", "a;b", "a\\b", "ü", "<b>&amp;", "a b", "%2F", "-", "select")):
            quoted = f'"default"."{name}"'
            count_of(athena, f"CREATE TABLE {quoted} (id bigint) LOCATION 's3://odd/{number}/' TBLPROPERTIES ('table_type' = 'ICEBERG')")
            check(name, count_of(athena, f"INSERT INTO {quoted} VALUES (1)"), 1)
            check(name, run(athena, f"SELECT id FROM {quoted}"), [["id"], ["1"]])
            check(name, lake.client("glue").get_table(DatabaseName="default", Name=name)["Table"]["Name"], name)
            count_of(athena, f"DROP TABLE {quoted}")
        check("refused by name", "nvl" in run(athena, "SELECT nvl(1, 2)")["Status"]["StateChangeReason"], True)


run_tests(sys.modules[__name__])
