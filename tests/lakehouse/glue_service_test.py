"""The Glue Data Catalog with boto3; the same Iceberg tables from PyIceberg, `nilas sql` and Athena by turns; writers at once."""
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pyarrow
from botocore.exceptions import ClientError
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from support import NILAS, Lakehouse, check, equal, run_tests

ACCOUNT = "123456789012"
COLUMNS = [{"Name": "id", "Type": "bigint"}, {"Name": "name", "Type": "string", "Comment": "of a person"}]


def same(text, actual, expected):
    equal(actual, expected, text)


def fails(text, code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        return check(error.response["Error"]["Code"] == code, f"{text}: {error}")
    return check(False, f"{text}: no error")


def names(tables):
    return [table["Name"] for table in tables]


def plain(name, **more):
    return {"Name": name, "TableType": "EXTERNAL_TABLE", "Parameters": {"classification": "csv"},
            "StorageDescriptor": {"Columns": COLUMNS, "Location": f"s3://awsdatacatalog/{name}/"}, **more}


def run_athena(athena, sql, fails_with=None):
    query = athena.start_query_execution(QueryString=sql)["QueryExecutionId"]
    while athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]["State"] in ("QUEUED", "RUNNING"):
        time.sleep(0.02)
    status = athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]
    if fails_with:
        check(fails_with in status.get("StateChangeReason", ""), f"{sql}: {status}")
        return None
    if status["State"] != "SUCCEEDED":
        check(False, f"{sql}: {status}")
        return None
    rows = athena.get_query_results(QueryExecutionId=query)["ResultSet"]["Rows"]
    return [[cell.get("VarCharValue") for cell in row["Data"]] for row in rows][1:]


def python_catalog(lake, **more):
    return GlueCatalog("glue", **{"glue.endpoint": lake.url("glue"), "glue.region": "us-east-1", "glue.access-key-id": "nilas", "glue.secret-access-key": "nilas",
                                  "warehouse": "s3://awsdatacatalog", "s3.endpoint": lake.url("s3"), "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas",
                                  "s3.region": "us-east-1", **more})


def run_nilas(lake, sql):
    prefix = "spark.sql.catalog.g"
    confs = {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.type": "glue", f"{prefix}.glue.endpoint": lake.url("glue"), f"{prefix}.s3.endpoint": lake.url("s3"),
             f"{prefix}.s3.path-style-access": "true", f"{prefix}.client.region": "us-east-1", f"{prefix}.warehouse": "s3://awsdatacatalog", f"{prefix}.cache-enabled": "false"}
    flags = [flag for key, value in confs.items() for flag in ("--conf", f"{key}={value}")]
    done = subprocess.run([NILAS, "sql", "-S", *flags, "-e", sql], capture_output=True, text=True, timeout=120,
                          env={**lake.environment, "AWS_ACCESS_KEY_ID": "nilas", "AWS_SECRET_ACCESS_KEY": "nilas"})
    check(done.returncode == 0, f"{sql}: {done.stderr}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_databases():
    with Lakehouse(names=["glue"]) as lake:
        glue = lake.client("glue")
        same("at first", names(glue.get_databases()["DatabaseList"]), ["default"])
        glue.create_database(DatabaseInput={"Name": "Sales", "Description": "what was sold", "LocationUri": "s3://awsdatacatalog/sales.db", "Parameters": {"k": "v"},
                                            "CreateTableDefaultPermissions": [{"Principal": {"DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS"}, "Permissions": ["ALL"]}]},
                             Tags={"team": "one"})
        found = glue.get_database(Name="sales", CatalogId=ACCOUNT)["Database"]
        same("in lower case", [found["Name"], found["Description"], found["LocationUri"], found["Parameters"], found["CatalogId"], found["CreateTableDefaultPermissions"][0]["Permissions"]],
             ["sales", "what was sold", "s3://awsdatacatalog/sales.db", {"k": "v"}, ACCOUNT, ["ALL"]])
        fails("twice", "AlreadyExistsException", glue.create_database, DatabaseInput={"Name": "sales"})
        fails("none", "EntityNotFoundException", glue.get_database, Name="absent")
        fails("another catalog", "EntityNotFoundException", glue.get_database, Name="sales", CatalogId="999999999999")
        glue.update_database(Name="sales", DatabaseInput={"Name": "sales", "Parameters": {"a": "b"}})
        found = glue.get_database(Name="sales")["Database"]
        same("replaced", [found.get("Description"), found.get("LocationUri"), found["Parameters"], "CreateTableDefaultPermissions" in found], [None, None, {"a": "b"}, False])
        fails("no renaming", "InvalidInputException", glue.update_database, Name="sales", DatabaseInput={"Name": "other"})
        fails("updating none", "EntityNotFoundException", glue.update_database, Name="absent", DatabaseInput={"Name": "absent"})
        for number in range(5):
            glue.create_database(DatabaseInput={"Name": f"d{number}"})
        pages = [names(page["DatabaseList"]) for page in glue.get_paginator("get_databases").paginate(PaginationConfig={"PageSize": 3})]
        same("pages", pages, [["d0", "d1", "d2"], ["d3", "d4", "default"], ["sales"]])
        glue.create_table(DatabaseName="sales", TableInput=plain("t"))
        arn = f"arn:aws:glue:us-east-1:{ACCOUNT}:database/sales"
        same("tags of the creation", glue.get_tags(ResourceArn=arn)["Tags"], {"team": "one"})
        glue.tag_resource(ResourceArn=arn, TagsToAdd={"x": "y", "team": "two"})
        glue.untag_resource(ResourceArn=arn, TagsToRemove=["x", "not there"])
        same("tags", glue.get_tags(ResourceArn=arn)["Tags"], {"team": "two"})
        table_arn = f"arn:aws:glue:us-east-1:{ACCOUNT}:table/sales/t"
        glue.tag_resource(ResourceArn=table_arn, TagsToAdd={"a": "b"})
        same("of a table", glue.get_tags(ResourceArn=table_arn)["Tags"], {"a": "b"})
        fails("of nothing", "EntityNotFoundException", glue.get_tags, ResourceArn=arn + "x")
        glue.delete_database(Name="sales")
        fails("gone with its tables", "EntityNotFoundException", glue.get_table, DatabaseName="sales", Name="t")
        fails("deleting none", "EntityNotFoundException", glue.delete_database, Name="sales")
        glue.create_database(DatabaseInput={"Name": "sales"})
        same("anew, and empty", [glue.get_tables(DatabaseName="sales")["TableList"], glue.get_tags(ResourceArn=arn)["Tags"]], [[], {}])
        same("nothing to import", glue.get_catalog_import_status()["ImportStatus"]["ImportCompleted"], True)
        fails("not offered", "OperationNotSupportedException", glue.get_crawlers)
        fails("not offered either", "OperationNotSupportedException", glue.get_jobs)
        lake.stop(signal.SIGKILL)
        lake.start()
        same("after a kill", names(lake.client("glue").get_databases()["DatabaseList"])[-1], "sales")


def test_tables_and_versions():
    with Lakehouse(names=["glue"]) as lake:
        glue = lake.client("glue")
        glue.create_database(DatabaseInput={"Name": "db"})
        glue.create_table(DatabaseName="db", TableInput=plain("First", Description="one", Owner="me", Retention=3, PartitionKeys=[{"Name": "day", "Type": "date"}], ViewOriginalText="v"))
        table = glue.get_table(DatabaseName="DB", Name="FIRST")["Table"]
        same("as given", [table["Name"], table["DatabaseName"], table["Description"], table["Owner"], table["Retention"], table["PartitionKeys"], table["Parameters"],
                          table["StorageDescriptor"]["Columns"], table["VersionId"], table["CatalogId"], table["TableType"], table["ViewOriginalText"]],
             ["first", "db", "one", "me", 3, [{"Name": "day", "Type": "date"}], {"classification": "csv"}, COLUMNS, "0", ACCOUNT, "EXTERNAL_TABLE", "v"])
        fails("twice", "AlreadyExistsException", glue.create_table, DatabaseName="db", TableInput=plain("first"))
        fails("no database", "EntityNotFoundException", glue.create_table, DatabaseName="absent", TableInput=plain("t"))
        fails("no table", "EntityNotFoundException", glue.get_table, DatabaseName="db", Name="absent")
        fails("no table to change", "EntityNotFoundException", glue.update_table, DatabaseName="db", TableInput=plain("absent"))
        glue.update_table(DatabaseName="db", TableInput=plain("first", Description="two"), VersionId="0")
        fails("an old version", "ConcurrentModificationException", glue.update_table, DatabaseName="db", TableInput=plain("first", Description="lost"), VersionId="0")
        glue.update_table(DatabaseName="db", TableInput=plain("first", Description="three"), SkipArchive=True)
        glue.update_table(DatabaseName="db", TableInput=plain("first", Description="four"))
        versions = glue.get_table_versions(DatabaseName="db", TableName="first")["TableVersions"]
        same("versions, newest first", [(version["VersionId"], version["Table"]["Description"], version["Table"]["VersionId"]) for version in versions],
             [("3", "four", "3"), ("2", "three", "2"), ("0", "one", "0")])
        same("pages of versions", [[version["VersionId"] for version in page["TableVersions"]]
                                   for page in glue.get_paginator("get_table_versions").paginate(DatabaseName="db", TableName="first", PaginationConfig={"PageSize": 2})], [["3", "2"], ["0"]])
        same("one version", glue.get_table_version(DatabaseName="db", TableName="first", VersionId="0")["TableVersion"]["Table"]["Description"], "one")
        same("the present one", glue.get_table_version(DatabaseName="db", TableName="first")["TableVersion"]["VersionId"], "3")
        fails("skipped", "EntityNotFoundException", glue.get_table_version, DatabaseName="db", TableName="first", VersionId="1")
        glue.delete_table_version(DatabaseName="db", TableName="first", VersionId="0")
        fails("deleted", "EntityNotFoundException", glue.delete_table_version, DatabaseName="db", TableName="first", VersionId="0")
        fails("the present one stays", "InvalidInputException", glue.delete_table_version, DatabaseName="db", TableName="first", VersionId="3")
        errors = glue.batch_delete_table_version(DatabaseName="db", TableName="first", VersionIds=["2", "9"])["Errors"]
        same("in a batch", [(error["VersionId"], error["ErrorDetail"]["ErrorCode"]) for error in errors], [("9", "EntityNotFoundException")])
        for name in ("alpha", "beta", "gamma", "alphabet"):
            glue.create_table(DatabaseName="db", TableInput=plain(name))
        same("all", names(glue.get_tables(DatabaseName="db")["TableList"]), ["alpha", "alphabet", "beta", "first", "gamma"])
        same("by pattern", names(glue.get_tables(DatabaseName="db", Expression="alpha.*|.*mma")["TableList"]), ["alpha", "alphabet", "gamma"])
        same("a whole name", names(glue.get_tables(DatabaseName="db", Expression="alpha")["TableList"]), ["alpha"])
        fails("no pattern", "InvalidInputException", glue.get_tables, DatabaseName="db", Expression="(")
        same("pages", [names(page["TableList"]) for page in glue.get_paginator("get_tables").paginate(DatabaseName="db", Expression=".*a.*", PaginationConfig={"PageSize": 2})],
             [["alpha", "alphabet"], ["beta", "gamma"]])
        fails("tables of none", "EntityNotFoundException", glue.get_tables, DatabaseName="absent")
        errors = glue.batch_delete_table(DatabaseName="db", TablesToDelete=["alpha", "absent"])["Errors"]
        same("a batch", [(error["TableName"], error["ErrorDetail"]["ErrorCode"]) for error in errors], [("absent", "EntityNotFoundException")])
        glue.delete_table(DatabaseName="db", Name="beta")
        fails("deleted twice", "EntityNotFoundException", glue.delete_table, DatabaseName="db", Name="beta")
        same("left", names(glue.get_tables(DatabaseName="db")["TableList"]), ["alphabet", "first", "gamma"])

        glue.create_database(DatabaseInput={"Name": "other"})
        glue.create_table(DatabaseName="other", TableInput=plain("gamma", Owner="you", Description="Quarterly Figures"))
        search = lambda **arguments: [f"{table['DatabaseName']}.{table['Name']}" for table in glue.search_tables(**arguments)["TableList"]]  # noqa: E731
        same("search: all", search(), ["db.alphabet", "db.first", "db.gamma", "other.gamma"])
        same("search: text", search(SearchText="quarterly"), ["other.gamma"])
        same("search: a column's comment", search(SearchText="person"), ["db.alphabet", "db.first", "db.gamma", "other.gamma"])
        same("search: a whole name", search(SearchText='"gamma"'), ["db.gamma", "other.gamma"])
        same("search: members", search(Filters=[{"Key": "DatabaseName", "Value": "db"}, {"Key": "Name", "Value": "gamma", "Comparator": "EQUALS"}]), ["db.gamma"])
        same("search: parameters", search(Filters=[{"Key": "classification", "Value": "orc"}]), [])
        same("search: sorted", search(SortCriteria=[{"FieldName": "Name", "Sort": "DESC"}]), ["db.gamma", "other.gamma", "db.first", "db.alphabet"])
        page = glue.search_tables(MaxResults=3)
        same("search: pages", [names(page["TableList"]), names(glue.search_tables(MaxResults=3, NextToken=page["NextToken"])["TableList"])], [["alphabet", "first", "gamma"], ["gamma"]])


def test_partitions():
    with Lakehouse(names=["glue"]) as lake:
        glue = lake.client("glue")
        glue.create_database(DatabaseInput={"Name": "db"})
        keys = [{"Name": "year", "Type": "int"}, {"Name": "city", "Type": "string"}]
        glue.create_table(DatabaseName="db", TableInput=plain("t", PartitionKeys=keys))
        where = {"DatabaseName": "db", "TableName": "t"}
        entry = lambda *values, **more: {"Values": list(values), "StorageDescriptor": {"Columns": COLUMNS, "Location": "s3://awsdatacatalog/t/" + "/".join(values)}, **more}  # noqa: E731
        glue.create_partition(**where, PartitionInput=entry("2024", "Berlin", Parameters={"k": "v"}))
        fails("twice", "AlreadyExistsException", glue.create_partition, **where, PartitionInput=entry("2024", "Berlin"))
        fails("too few values", "InvalidInputException", glue.create_partition, **where, PartitionInput=entry("2024"))
        errors = glue.batch_create_partition(**where, PartitionInputList=[entry("2025", "Oslo"), entry("2024", "Berlin"), entry("2025", "O'Hara"), entry("900", "Rome")])["Errors"]
        same("one of a batch was there", [(error["PartitionValues"], error["ErrorDetail"]["ErrorCode"]) for error in errors], [(["2024", "Berlin"], "AlreadyExistsException")])
        found = glue.get_partition(**where, PartitionValues=["2024", "Berlin"])["Partition"]
        same("as given", [found["Values"], found["Parameters"], found["StorageDescriptor"]["Location"], found["DatabaseName"], found["TableName"], "CreationTime" in found],
             [["2024", "Berlin"], {"k": "v"}, "s3://awsdatacatalog/t/2024/Berlin", "db", "t", True])
        fails("none", "EntityNotFoundException", glue.get_partition, **where, PartitionValues=["1", "x"])
        list_of = lambda **more: [partition["Values"][1] for page in glue.get_paginator("get_partitions").paginate(**where, **more) for partition in page["Partitions"]]  # noqa: E731
        for expression, expected in (("", ["Berlin", "O'Hara", "Oslo", "Rome"]), ("year = 2025", ["O'Hara", "Oslo"]), ("year = '2025' AND city = 'O''Hara'", ["O'Hara"]), ("year < 2000", ["Rome"]),
                                     ("(year >= 2024 and city <> 'Oslo') OR city = 'Rome'", ["Berlin", "O'Hara", "Rome"]), ("city IN ('Oslo', 'Rome')", ["Oslo", "Rome"]),
                                     ("year BETWEEN 1000 AND 2024", ["Berlin"]), ("NOT year = 2025", ["Berlin", "Rome"]), ("city NOT IN ('Oslo')", ["Berlin", "O'Hara", "Rome"])):
            same(f"where {expression}", list_of(Expression=expression), expected)
        for expression in ("year =", "absent = 1", "year = 1 AND", "(year = 1", "year LIKE 'x'", "(" * 5000):
            if len(expression) < 2048:
                fails(expression, "InvalidInputException", glue.get_partitions, **where, Expression=expression)
        same("pages", list_of(PaginationConfig={"PageSize": 3}), ["Berlin", "O'Hara", "Oslo", "Rome"])
        same("segments", sorted(list_of(Segment={"SegmentNumber": 0, "TotalSegments": 2}) + list_of(Segment={"SegmentNumber": 1, "TotalSegments": 2})), ["Berlin", "O'Hara", "Oslo", "Rome"])
        same("without columns", ["Columns" in partition["StorageDescriptor"] for partition in glue.get_partitions(**where, ExcludeColumnSchema=True)["Partitions"]], [False] * 4)
        batch = glue.batch_get_partition(**where, PartitionsToGet=[{"Values": ["900", "Rome"]}, {"Values": ["1", "x"]}])
        same("some of them", [partition["Values"] for partition in batch["Partitions"]], [["900", "Rome"]])
        glue.update_partition(**where, PartitionValueList=["900", "Rome"], PartitionInput=entry("901", "Rome"))
        fails("its values changed", "EntityNotFoundException", glue.update_partition, **where, PartitionValueList=["900", "Rome"], PartitionInput=entry("900", "Rome"))
        errors = glue.batch_update_partition(**where, Entries=[{"PartitionValueList": ["901", "Rome"], "PartitionInput": entry("901", "Rome", Parameters={"new": "1"})},
                                                               {"PartitionValueList": ["1", "x"], "PartitionInput": entry("1", "x")}])["Errors"]
        same("updates in a batch", [(error["PartitionValueList"], error["ErrorDetail"]["ErrorCode"]) for error in errors], [(["1", "x"], "EntityNotFoundException")])
        same("updated", glue.get_partition(**where, PartitionValues=["901", "Rome"])["Partition"]["Parameters"], {"new": "1"})
        glue.delete_partition(**where, PartitionValues=["901", "Rome"])
        fails("deleted", "EntityNotFoundException", glue.delete_partition, **where, PartitionValues=["901", "Rome"])
        errors = glue.batch_delete_partition(**where, PartitionsToDelete=[{"Values": ["2025", "Oslo"]}, {"Values": ["1", "x"]}])["Errors"]
        same("deleted in a batch", [error["PartitionValues"] for error in errors], [["1", "x"]])
        same("left", list_of(), ["Berlin", "O'Hara"])
        same("indexes", glue.get_partition_indexes(**where)["PartitionIndexDescriptorList"], [])
        glue.delete_table(DatabaseName="db", Name="t")
        glue.create_table(DatabaseName="db", TableInput=plain("t", PartitionKeys=keys))
        same("they went with the table", list_of(), [])

        function = lambda name, **more: {"FunctionName": name, "ClassName": "com.example.F", "OwnerName": "me", "OwnerType": "USER", "ResourceUris": [{"ResourceType": "JAR", "Uri": "s3://x/f.jar"}], **more}  # noqa: E731
        for name in ("Twice", "thrice", "other"):
            glue.create_user_defined_function(DatabaseName="db", FunctionInput=function(name))
        fails("a function twice", "AlreadyExistsException", glue.create_user_defined_function, DatabaseName="db", FunctionInput=function("twice"))
        found = glue.get_user_defined_function(DatabaseName="db", FunctionName="twice")["UserDefinedFunction"]
        same("a function", [found["FunctionName"], found["ClassName"], found["DatabaseName"], found["ResourceUris"][0]["Uri"]], ["twice", "com.example.F", "db", "s3://x/f.jar"])
        same("functions", [found["FunctionName"] for found in glue.get_user_defined_functions(DatabaseName="db", Pattern="t.*")["UserDefinedFunctions"]], ["thrice", "twice"])
        same("functions of all", [found["FunctionName"] for page in glue.get_paginator("get_user_defined_functions").paginate(Pattern="*", PaginationConfig={"PageSize": 2})
                                  for found in page["UserDefinedFunctions"]], ["other", "thrice", "twice"])
        glue.update_user_defined_function(DatabaseName="db", FunctionName="twice", FunctionInput=function("twice", ClassName="com.example.G"))
        same("changed", glue.get_user_defined_function(DatabaseName="db", FunctionName="twice")["UserDefinedFunction"]["ClassName"], "com.example.G")
        glue.delete_user_defined_function(DatabaseName="db", FunctionName="twice")
        fails("deleted", "EntityNotFoundException", glue.get_user_defined_function, DatabaseName="db", FunctionName="twice")


def test_iceberg_by_turns():
    with Lakehouse(names=["glue", "athena"]) as lake:
        glue, athena, python = lake.client("glue"), lake.client("athena"), python_catalog(lake)
        python.create_namespace("sales")
        table = python.create_table("sales.orders", Schema(NestedField(1, "id", LongType()), NestedField(2, "who", StringType())))
        entry = lambda: glue.get_table(DatabaseName="sales", Name="orders")["Table"]  # noqa: E731
        same("made by PyIceberg", [entry()["Parameters"]["table_type"], entry()["VersionId"], entry()["StorageDescriptor"]["Location"]], ["ICEBERG", "0", "s3://awsdatacatalog/sales.db/orders"])
        rows = lambda *pairs: pyarrow.Table.from_pylist([{"id": number, "who": who} for number, who in pairs], schema=table.schema().as_arrow())  # noqa: E731
        table.append(rows((1, "python")))
        same("appended", [entry()["VersionId"], entry()["Parameters"]["metadata_location"] == table.metadata_location], ["1", True])
        select = "SELECT id, who FROM {}sales.orders ORDER BY id"
        same("Athena reads", run_athena(athena, select.format("")), [["1", "python"]])
        same("nilas reads", run_nilas(lake, select.format("g.")), [["1", "python"]])
        run_athena(athena, "INSERT INTO sales.orders VALUES (2, 'athena')")
        same("Athena's commit", [entry()["VersionId"], entry()["Parameters"]["previous_metadata_location"] == table.metadata_location], ["2", True])
        fails("of an old version", "ConcurrentModificationException", glue.update_table, DatabaseName="sales", VersionId="1", TableInput={"Name": "orders", "Parameters": {"table_type": "ICEBERG", "metadata_location": table.metadata_location}})
        run_nilas(lake, "INSERT INTO g.sales.orders VALUES (3, 'nilas')")
        same("nilas's commit", entry()["VersionId"], "3")
        stale = table
        try:
            stale.append(rows((9, "stale")))  # refreshed and tried again, or refused: never lost
            expected = [["9", "stale"]]
        except CommitFailedException:
            expected = []
        table = python.load_table("sales.orders")
        table.append(rows((4, "python")))
        everything = [["1", "python"], ["2", "athena"], ["3", "nilas"], ["4", "python"]] + expected
        same("PyIceberg reads", sorted([str(row["id"]), row["who"]] for row in table.scan().to_arrow().to_pylist()), everything)
        same("Athena reads all", run_athena(athena, select.format("")), everything)
        same("nilas reads all", run_nilas(lake, select.format("g.")), everything)
        run_athena(athena, "ALTER TABLE sales.orders ADD COLUMNS (note string)")
        same("columns of Athena's commit", [column["Name"] for column in entry()["StorageDescriptor"]["Columns"]], ["id", "who", "note"])
        run_nilas(lake, "ALTER TABLE g.sales.orders SET TBLPROPERTIES ('k' = 'v')")
        same("columns of nilas's", [column["Name"] for column in entry()["StorageDescriptor"]["Columns"]], ["id", "who", "note"])
        run_athena(athena, "CREATE TABLE sales.made (a int) LOCATION 's3://awsdatacatalog/sales/made/' TBLPROPERTIES ('table_type' = 'ICEBERG')")
        made = glue.get_table(DatabaseName="sales", Name="made")["Table"]
        same("made by Athena", [made["Parameters"]["table_type"], made["TableType"], made["VersionId"], made["StorageDescriptor"]["Columns"][0]["Name"]], ["ICEBERG", "EXTERNAL_TABLE", "0", "a"])
        same("listed", sorted(name[1] for name in python.list_tables("sales")), ["made", "orders"])
        glue.create_table(DatabaseName="sales", TableInput=plain("other"))
        same("another format is no table of Iceberg's", sorted(name[1] for name in python.list_tables("sales")), ["made", "orders"])
        fails("stays Iceberg's", "InvalidInputException", glue.update_table, DatabaseName="sales", TableInput=plain("orders"))
        fails("a local place", "InvalidInputException", glue.create_table, DatabaseName="sales", TableInput={"Name": "evil", "Parameters": {"table_type": "ICEBERG", "metadata_location": "file:/etc/passwd"}})
        try:
            python.create_table("sales.orders", table.schema())
            check(False, "created twice")
        except TableAlreadyExistsError:
            pass

        # Not Iceberg's at first, then it is: its versions stay.
        glue.create_table(DatabaseName="sales", TableInput={"Name": "late", "Parameters": {"table_type": "ICEBERG"}})
        glue.update_table(DatabaseName="sales", TableInput={"Name": "late", "Parameters": {"table_type": "ICEBERG", "metadata_location": table.metadata_location}})
        same("adopted", [run_athena(athena, "SELECT count(*) FROM sales.late"), [version["VersionId"] for version in glue.get_table_versions(DatabaseName="sales", TableName="late")["TableVersions"]]],
             [[[str(len(everything))]], ["1", "0"]])

        python.rename_table("sales.orders", "sales.renamed")
        same("renamed", [run_nilas(lake, select.format("g.").replace("orders", "renamed")), run_athena(athena, "SELECT count(*) FROM sales.renamed")], [everything, [[str(len(everything))]]])
        fails("under its old name", "EntityNotFoundException", glue.get_table, DatabaseName="sales", Name="orders")
        run_nilas(lake, "ALTER TABLE g.sales.renamed RENAME TO g.sales.again")
        python.drop_table("sales.again")
        try:
            python.load_table("sales.again")
            check(False, "it was dropped")
        except NoSuchTableError:
            pass
        run_athena(athena, "DROP TABLE sales.made")
        same("dropped by Athena", names(glue.get_tables(DatabaseName="sales")["TableList"]), ["late", "other"])
        run_nilas(lake, "CREATE NAMESPACE g.mine COMMENT 'hello'; CREATE TABLE g.mine.t AS SELECT 1 AS a")
        same("a database of nilas's", glue.get_database(Name="mine")["Database"]["Description"], "hello")
        glue.delete_database(Name="mine")
        same("its pointer went too", [found["Name"] for found in athena.list_databases(CatalogName="AwsDataCatalog")["DatabaseList"]], ["default", "sales"])


def test_what_sql_does_shows_in_glue():
    with Lakehouse(names=["glue", "athena"]) as lake:
        glue, athena = lake.client("glue"), lake.client("athena")
        run_athena(athena, "CREATE DATABASE db COMMENT 'of Athena'")
        same("a database", glue.get_database(Name="db")["Database"]["Description"], "of Athena")
        run_athena(athena, "CREATE TABLE db.t (a int, b string) LOCATION 's3://awsdatacatalog/db/t/' TBLPROPERTIES ('table_type' = 'ICEBERG')")
        run_athena(athena, "CREATE VIEW db.v AS SELECT a FROM db.t")
        view = glue.get_table(DatabaseName="db", Name="v")["Table"]
        same("a view", [view["TableType"], view["Parameters"]["table_type"]], ["VIRTUAL_VIEW", "ICEBERG_VIEW"])
        fails("a view is changed with SQL", "InvalidInputException", glue.update_table, DatabaseName="db", TableInput=plain("v"))
        glue.update_table(DatabaseName="db", TableInput={"Name": "t", "Description": "described", "Owner": "me", "StorageDescriptor": {"Columns": COLUMNS},
                                                         "Parameters": {**glue.get_table(DatabaseName="db", Name="t")["Table"]["Parameters"], "more": "yes"}})
        run_athena(athena, "ALTER TABLE db.t RENAME TO u")
        table = glue.get_table(DatabaseName="db", Name="u")["Table"]
        same("what Glue was told stays through a renaming", [table["Owner"], table["Parameters"]["more"], table["VersionId"]], ["me", "yes", "2"])
        same("and its versions", [version["VersionId"] for version in glue.get_table_versions(DatabaseName="db", TableName="u")["TableVersions"]], ["2", "0"])
        run_athena(athena, "INSERT INTO db.u VALUES (1, 'x')")
        table = glue.get_table(DatabaseName="db", Name="u")["Table"]
        same("and a commit, but for the columns", [table["Owner"], table["Parameters"]["more"], [column["Name"] for column in table["StorageDescriptor"]["Columns"]]], ["me", "yes", ["a", "b"]])
        glue.create_table(DatabaseName="db", TableInput=plain("files"))
        run_athena(athena, "CREATE TABLE db.files (a int) LOCATION 's3://awsdatacatalog/db/files/' TBLPROPERTIES ('table_type' = 'ICEBERG')", fails_with="exist")
        run_athena(athena, "ALTER TABLE db.u RENAME TO files", fails_with="exist")
        run_athena(athena, "DROP TABLE db.u")
        run_athena(athena, "DROP VIEW db.v")
        run_athena(athena, "DROP DATABASE db", fails_with="still has tables of the Glue catalog")
        same("it is there", names(glue.get_tables(DatabaseName="db")["TableList"]), ["files"])
        glue.delete_table(DatabaseName="db", Name="files")
        run_athena(athena, "DROP DATABASE db")
        fails("dropped", "EntityNotFoundException", glue.get_database, Name="db")

        # A data folder of before the Glue service.
        run_athena(athena, "CREATE DATABASE old")
        run_athena(athena, "CREATE TABLE old.t (a int) LOCATION 's3://awsdatacatalog/old/t/' TBLPROPERTIES ('table_type' = 'ICEBERG')")
        lake.stop()
        database = sqlite3.connect(lake.folder + "/data/lakehouse.db")
        for kind in ("trigger", "table"):
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = ? AND name LIKE 'glue_%'", (kind,)).fetchall():
                database.execute(f"DROP {kind} {name}")
        database.execute("DELETE FROM nilas_parts WHERE part = 'glue'")
        database.commit()
        database.close()
        lake.start()
        glue, athena = lake.client("glue"), lake.client("athena")
        run_athena(athena, "INSERT INTO old.t VALUES (1)")
        table = glue.get_table(DatabaseName="old", Name="t")["Table"]
        same("its tables are shown", [table["VersionId"], table["Parameters"]["table_type"], table["StorageDescriptor"]["Columns"][0]["Name"]], ["1", "ICEBERG", "a"])


def test_spark():
    python, jars = os.environ.get("NILAS_SPARK_PYTHON"), os.environ.get("NILAS_SPARK_JARS")
    if not check(python and jars, "NILAS_SPARK_PYTHON and NILAS_SPARK_JARS must name a Python with PySpark and Iceberg's jars"):
        return
    with Lakehouse(names=["glue", "athena"]) as lake:
        script = f"""
from pyspark.sql import SparkSession
b = SparkSession.builder.master("local[2]").config("spark.jars", {jars!r}).config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2") \\
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
for k, v in {{"": "org.apache.iceberg.spark.SparkCatalog", ".catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", ".warehouse": "s3://awsdatacatalog", ".cache-enabled": "false", ".glue.endpoint": {lake.url('glue')!r},
              ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO", ".s3.endpoint": {lake.url('s3')!r}, ".s3.path-style-access": "true", ".client.region": "us-east-1"}}.items():
    b = b.config("spark.sql.catalog.g" + k, v)
spark = b.getOrCreate()
spark.sql("CREATE NAMESPACE g.db COMMENT 'of Spark'")
spark.sql("CREATE TABLE g.db.t (id BIGINT, s STRING COMMENT 'text') USING iceberg PARTITIONED BY (bucket(4, id)) COMMENT 'hello'")
spark.sql("INSERT INTO g.db.t VALUES (1, 'spark'), (2, 'spark')")
print("READY", flush=True)
input()
print("rows", [tuple(row) for row in spark.sql("SELECT * FROM g.db.t ORDER BY id").collect()])
spark.sql("MERGE INTO g.db.t USING (SELECT 1 AS id) x ON t.id = x.id WHEN MATCHED THEN DELETE")
spark.sql("ALTER TABLE g.db.t RENAME TO db.u")
print("tables", [row.tableName for row in spark.sql("SHOW TABLES IN g.db").collect()], flush=True)
spark.sql("CREATE TABLE g.db.gone AS SELECT 1 AS a")
spark.sql("DROP TABLE g.db.gone PURGE")
"""
        environment = {**lake.environment, "AWS_ACCESS_KEY_ID": "nilas", "AWS_SECRET_ACCESS_KEY": "nilas", "AWS_REGION": "us-east-1", "SPARK_LOCAL_IP": "127.0.0.1"}
        spark = subprocess.Popen([python, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(lake.folder + "/spark.log", "w"), text=True, env=environment)
        line = spark.stdout.readline()
        same("Spark has written", line, "READY\n")
        glue, athena = lake.client("glue"), lake.client("athena")
        table = glue.get_table(DatabaseName="db", Name="t")["Table"]
        same("its table", [table["Description"], table["StorageDescriptor"]["Columns"][1]["Comment"], table["VersionId"]], ["hello", "text", "1"])
        run_athena(athena, "INSERT INTO db.t VALUES (3, 'athena')")
        run_nilas(lake, "INSERT INTO g.db.t VALUES (4, 'nilas')")
        out, _ = spark.communicate("\n", timeout=240)
        check("rows [(1, 'spark'), (2, 'spark'), (3, 'athena'), (4, 'nilas')]" in out, out)
        with open(lake.folder + "/spark.log", errors="replace") as log:
            check("tables ['u']" in out and spark.returncode == 0, out + log.read()[:3000])
        same("Spark's commits", run_athena(athena, "SELECT id, s FROM db.u ORDER BY id"), [["2", "spark"], ["3", "athena"], ["4", "nilas"]])
        same("the rest is gone", names(glue.get_tables(DatabaseName="db")["TableList"]), ["u"])


def test_writers_at_once():
    with Lakehouse(names=["glue", "athena"]) as lake:
        python = python_catalog(lake)
        python.create_namespace("race")
        schema = Schema(NestedField(1, "writer", LongType()), NestedField(2, "n", LongType()))
        python.create_table("race.t", schema, properties={"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "5"})
        begun = time.time()

        def write(writer):
            catalog = python_catalog(lake)
            for number in range(20):
                for _ in range(400):
                    try:
                        catalog.load_table("race.t").append(pyarrow.table({"writer": pyarrow.array([writer], pyarrow.int64()), "n": pyarrow.array([number], pyarrow.int64())}))
                        break
                    except CommitFailedException:
                        pass
                else:
                    check(False, f"writer {writer} never came to its turn")
        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        print(f"       80 commits by 4 writers in {time.time() - begun:.1f} s")
        found = sorted((row["writer"], row["n"]) for row in python.load_table("race.t").scan().to_arrow().to_pylist())
        same("every row once", found, [(writer, number) for writer in range(4) for number in range(20)])
        same("a version each", lake.client("glue").get_table(DatabaseName="race", Name="t")["Table"]["VersionId"], "80")
        same("Athena counts", run_athena(lake.client("athena"), "SELECT count(*), count(DISTINCT writer * 100 + n) FROM race.t"), [["80", "80"]])


def test_requests_of_any_shape():
    """Raw JSON of wrong types for every operation: refused or answered, never a fault of the service."""
    with Lakehouse(names=["glue"]) as lake:
        glue = lake.client("glue")
        glue.create_database(DatabaseInput={"Name": "db"})
        glue.create_table(DatabaseName="db", TableInput=plain("t", PartitionKeys=[{"Name": "k", "Type": "int"}]))
        model = glue.meta.service_model

        def call(target, body):
            request = urllib.request.Request(lake.url("glue") + "/", body, {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"})
            try:
                with urllib.request.urlopen(request, timeout=60) as reply:
                    return reply.status, json.loads(reply.read())
            except urllib.error.HTTPError as error:
                return error.code, json.loads(error.read())

        for target, body, expected in (("AWSGlue.GetTable", b"[]", "SerializationException"), ("AWSGlue.GetTable", b"{", "SerializationException"), ("Other.GetTable", b"{}", "UnknownOperationException"),
                                       ("AWSGlue.Nothing", b"{}", "OperationNotSupportedException"), ("AWSGlue.GetTable", b"{}", "InvalidInputException"),
                                       ("AWSGlue.GetTables", b'{"DatabaseName":"db","MaxResults":0}', "InvalidInputException"), ("AWSGlue.GetTable", b'{"a":' * 100000, "SerializationException"),
                                       ("AWSGlue.SearchTables", b'{"NextToken":"x"}', "InvalidInputException")):
            status, answer = call(target, body)
            same(f"{target} {body[:40]}", [status, answer["__type"]], [400, expected])
        wanted = [name for name in model.operation_names if any(word in name for word in ("Database", "Table", "Partition", "Tag", "UserDefinedFunction", "CatalogImportStatus"))]
        values = [None, 1, -1, 1e300, True, "", "db", "t", "\u0000", "x" * 5000, [], {}, [None], [1], ["1"], [{}], {"Name": 1}, {"Name": "t"}, {"Name": "t", "Parameters": 5}, {"Values": ["1"]}, {"Values": 3},
                  [{"Values": ["1"]}], {"a": "b"}, {"SegmentNumber": 1e9, "TotalSegments": 0}, "(", "k = 1", "99999999999999999999"]
        chosen = random.Random(7)
        for name, _ in itertools.product(wanted, range(40)):
            members = model.operation_model(name).input_shape.members
            body = {member: chosen.choice(values) for member in members if chosen.random() < 0.6 and member not in ("CatalogId", "TransactionId", "QueryAsOfTime")}
            if chosen.random() < 0.7 and "DatabaseName" in members:
                body["DatabaseName"] = "db"
            if chosen.random() < 0.7 and "TableName" in members:
                body["TableName"] = "t"
            status, answer = call("AWSGlue." + name, json.dumps(body).encode())
            if not check(status in (200, 400), f"{name} {body}: {status} {answer}"):
                break
        check(lake.client("glue").get_databases()["DatabaseList"] != [], "it still answers")


def test_who_may_ask():
    with Lakehouse("--strict", names=["glue"]) as lake:
        import boto3
        same("the key", names(lake.client("glue").get_databases()["DatabaseList"]), ["default"])
        for key, secret in (("nilas", "wrong"), ("other", "nilas")):
            other = boto3.Session(aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1").client("glue", endpoint_url=lake.url("glue"))
            try:
                other.get_databases()
                check(False, f"{key}/{secret} was let in")
            except ClientError as error:
                same(key, error.response["ResponseMetadata"]["HTTPStatusCode"], 403)


run_tests(sys.modules[__name__])
