"""The S3 Tables API of `nilas up` with boto3: every operation of the service model, errors and pages included."""
import json
import sys
import uuid

import botocore.exceptions

import support
from support import Lakehouse, check, equal


def fails(code, status, call, **arguments):
    try:
        call(**arguments)
    except botocore.exceptions.ClientError as error:
        equal((error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]), (code, status), f"{call.__name__} {arguments}")
        check(error.response["Error"]["Message"], f"{call.__name__}: no message")
        return error
    check(False, f"{call.__name__}({arguments}) should have failed")
    return None


FIELDS = [{"name": "id", "type": "long", "required": True}, {"name": "ts", "type": "timestamptz"}, {"name": "amount", "type": "decimal(10,2)"}]


def make(client, name=None, namespace="sales", table=None):
    """A bucket with a namespace, and a table if wanted."""
    arn = client.create_table_bucket(name=name or "b-" + uuid.uuid4().hex[:12])["arn"]
    client.create_namespace(tableBucketARN=arn, namespace=[namespace])
    if table:
        client.create_table(tableBucketARN=arn, namespace=namespace, name=table, format="ICEBERG", metadata={"iceberg": {"schema": {"fields": FIELDS}}})
    return arn


def clean_up(client, name):
    """The chapter's own clean-up: tables, namespaces, the bucket."""
    arn = client.list_table_buckets(prefix=name)["tableBuckets"][0]["arn"]
    for table in client.list_tables(tableBucketARN=arn)["tables"]:
        client.delete_table(tableBucketARN=arn, namespace=table["namespace"][0], name=table["name"])
    for namespace in client.list_namespaces(tableBucketARN=arn)["namespaces"]:
        client.delete_namespace(tableBucketARN=arn, namespace=namespace["namespace"][0])
    client.delete_table_bucket(tableBucketARN=arn)


def test_the_chapter():
    client = lake.client("s3tables")
    equal(client.meta.endpoint_url, lake.url("s3tables"))
    arn = client.create_table_bucket(name="lakehouse")["arn"]
    equal(arn, "arn:aws:s3tables:us-east-1:123456789012:bucket/lakehouse")
    equal(client.list_table_buckets(prefix="lakehouse")["tableBuckets"][0]["arn"], arn)
    client.create_namespace(tableBucketARN=arn, namespace=["sales"])
    equal([entry["namespace"] for entry in client.list_namespaces(tableBucketARN=arn)["namespaces"]], [["sales"]])
    made = client.create_table(tableBucketARN=arn, namespace="sales", name="orders", format="ICEBERG", metadata={"iceberg": {"schema": {"fields": FIELDS}}})
    check(made["tableARN"].startswith(arn + "/table/"), made["tableARN"])
    clean_up(client, "lakehouse")
    equal(client.list_table_buckets(prefix="lakehouse")["tableBuckets"], [])


def test_buckets():
    client = lake.client("s3tables")
    arn = client.create_table_bucket(name="one-bucket", tags={"team": "a"}, encryptionConfiguration={"sseAlgorithm": "AES256"}, storageClassConfiguration={"storageClass": "INTELLIGENT_TIERING"})["arn"]
    bucket = client.get_table_bucket(tableBucketARN=arn)
    equal((bucket["name"], bucket["ownerAccountId"], bucket["type"], bucket["arn"]), ("one-bucket", "123456789012", "customer", arn))
    check(bucket["createdAt"].year >= 2026 and bucket["tableBucketId"], bucket)
    equal(client.list_tags_for_resource(resourceArn=arn)["tags"], {"team": "a"})
    equal(client.get_table_bucket_storage_class(tableBucketARN=arn)["storageClassConfiguration"], {"storageClass": "INTELLIGENT_TIERING"})
    fails("ConflictException", 409, client.create_table_bucket, name="one-bucket")
    for name in ("ab", "Upper", "under_score", "-start", "end-", "x" * 64):
        fails("BadRequestException", 400, client.create_table_bucket, name=name) if 3 <= len(name) <= 63 else None
    fails("BadRequestException", 400, client.create_table_bucket, name="bad-kms", encryptionConfiguration={"sseAlgorithm": "aws:kms"})
    fails("NotFoundException", 404, client.get_table_bucket, tableBucketARN=arn + "x")
    client.create_namespace(tableBucketARN=arn, namespace=["n"])
    fails("ConflictException", 409, client.delete_table_bucket, tableBucketARN=arn)
    client.delete_namespace(tableBucketARN=arn, namespace="n")
    client.delete_table_bucket(tableBucketARN=arn)
    fails("NotFoundException", 404, client.delete_table_bucket, tableBucketARN=arn)
    europe = lake.session().client("s3tables", region_name="eu-west-1", endpoint_url=lake.url("s3tables"))
    equal(europe.create_table_bucket(name="in-europe")["arn"], "arn:aws:s3tables:eu-west-1:123456789012:bucket/in-europe")


def test_pages():
    client = lake.client("s3tables")
    names = [f"page-{i:02}" for i in range(7)]
    arns = [make(client, name) for name in names]
    pages = list(client.get_paginator("list_table_buckets").paginate(prefix="page-", PaginationConfig={"PageSize": 3}))
    equal([[bucket["name"] for bucket in page["tableBuckets"]] for page in pages], [names[:3], names[3:6], names[6:]])
    arn = arns[0]
    for namespace in ("a", "b", "c"):
        client.create_namespace(tableBucketARN=arn, namespace=[namespace])
        for table in ("t1", "t2", "u1"):
            client.create_table(tableBucketARN=arn, namespace=namespace, name=table, format="ICEBERG")
    pages = list(client.get_paginator("list_namespaces").paginate(tableBucketARN=arn, PaginationConfig={"PageSize": 2}))
    equal([[entry["namespace"][0] for entry in page["namespaces"]] for page in pages], [["a", "b"], ["c", "sales"]])
    everything = [(table["namespace"][0], table["name"]) for page in client.get_paginator("list_tables").paginate(tableBucketARN=arn, PaginationConfig={"PageSize": 2}) for table in page["tables"]]
    equal(everything, [(namespace, table) for namespace in "abc" for table in ("t1", "t2", "u1")])
    equal([table["name"] for table in client.list_tables(tableBucketARN=arn, namespace="b", prefix="t")["tables"]], ["t1", "t2"])
    first = client.list_tables(tableBucketARN=arn, namespace="b", maxTables=2)
    equal([table["name"] for table in client.list_tables(tableBucketARN=arn, namespace="b", continuationToken=first["continuationToken"])["tables"]], ["u1"])
    fails("NotFoundException", 404, client.list_tables, tableBucketARN=arn, namespace="none")
    fails("BadRequestException", 400, client.list_tables, tableBucketARN=arn, continuationToken="zz")
    equal(client.list_table_buckets(type="aws")["tableBuckets"], [])


def test_namespaces():
    client = lake.client("s3tables")
    arn = make(client)
    equal(client.create_namespace(tableBucketARN=arn, namespace=["more_1"]), {"tableBucketARN": arn, "namespace": ["more_1"], "ResponseMetadata": support_metadata})
    entry = client.get_namespace(tableBucketARN=arn, namespace="sales")
    equal((entry["namespace"], entry["createdBy"], entry["ownerAccountId"]), (["sales"], "123456789012", "123456789012"))
    equal(entry["tableBucketId"], client.get_table_bucket(tableBucketARN=arn)["tableBucketId"])
    fails("ConflictException", 409, client.create_namespace, tableBucketARN=arn, namespace=["sales"])
    fails("BadRequestException", 400, client.create_namespace, tableBucketARN=arn, namespace=["Bad-Name"])
    fails("NotFoundException", 404, client.create_namespace, tableBucketARN=arn + "x", namespace=["x"])
    fails("NotFoundException", 404, client.get_namespace, tableBucketARN=arn, namespace="none")
    client.create_table(tableBucketARN=arn, namespace="sales", name="t", format="ICEBERG")
    fails("ConflictException", 409, client.delete_namespace, tableBucketARN=arn, namespace="sales")
    client.delete_namespace(tableBucketARN=arn, namespace="more_1")
    fails("NotFoundException", 404, client.delete_namespace, tableBucketARN=arn, namespace="more_1")


class Anything:
    def __eq__(self, other):
        return True


support_metadata = Anything()


def read_metadata(location):
    """The metadata file, through the REST catalog's own eyes when there is no S3 service."""
    body = lake.client("s3").get_object(Bucket=location.split("/")[2], Key="/".join(location.split("/")[3:]))["Body"].read()
    return json.loads(body)


def test_tables():
    client = lake.client("s3tables")
    arn = make(client)
    where = {"tableBucketARN": arn, "namespace": "sales"}
    metadata = {"iceberg": {"schema": {"fields": FIELDS}, "partitionSpec": {"fields": [{"sourceId": 2, "transform": "day", "name": "ts_day"}]},
                            "writeOrder": {"orderId": 1, "fields": [{"sourceId": 1, "transform": "identity", "direction": "asc", "nullOrder": "nulls-first"}]},
                            "properties": {"k": "v"}}}
    made = client.create_table(**where, name="orders", format="ICEBERG", metadata=metadata, tags={"a": "b"})
    table = client.get_table(**where, name="orders")
    equal(table, {**client.get_table(tableArn=made["tableARN"]), "ResponseMetadata": support_metadata})
    equal((table["name"], table["namespace"], table["type"], table["format"], table["versionToken"], table["tableARN"]),
          ("orders", ["sales"], "customer", "ICEBERG", made["versionToken"], made["tableARN"]))
    equal(table["warehouseLocation"], f"s3://{made['tableARN'].split('/')[-1]}--table-s3")
    check(table["metadataLocation"].startswith(table["warehouseLocation"] + "/metadata/00000-"), table["metadataLocation"])
    if "s3" in lake.ports:
        content = read_metadata(table["metadataLocation"])
        equal([(field["id"], field["name"], field["type"], field["required"]) for field in content["schemas"][0]["fields"]],
              [(1, "id", "long", True), (2, "ts", "timestamptz", False), (3, "amount", "decimal(10, 2)", False)])
        equal((content["partition-specs"][0]["fields"][0]["transform"], content["sort-orders"][0]["fields"][0]["source-id"], content["properties"]["k"]), ("day", 1, "v"))
        check(table["warehouseLocation"][5:] not in [bucket["Name"] for bucket in lake.client("s3").list_buckets()["Buckets"]], "a hidden bucket is listed")
    equal(client.list_tags_for_resource(resourceArn=made["tableARN"])["tags"], {"a": "b"})
    nested = {"iceberg": {"schemaV2": {"type": "struct", "identifierFieldIds": [1], "fields": [
        {"id": 1, "name": "id", "type": "int", "required": True}, {"id": 2, "name": "tags", "required": False, "doc": "words",
                                                                  "type": {"type": "list", "element-id": 3, "element": "string", "element-required": False}}]}}}
    client.create_table(**where, name="nested", format="ICEBERG", metadata=nested)
    fails("ConflictException", 409, client.create_table, **where, name="orders", format="ICEBERG")
    fails("NotFoundException", 404, client.create_table, tableBucketARN=arn, namespace="none", name="x", format="ICEBERG")
    fails("BadRequestException", 400, client.create_table, **where, name="Bad", format="ICEBERG")
    fails("BadRequestException", 400, client.create_table, **where, name="x", format="ICEBERG", metadata={"iceberg": {"schema": {"fields": [{"name": "a", "type": "nonsense"}]}}})
    fails("BadRequestException", 400, client.create_table, **where, name="x", format="ICEBERG", metadata={"iceberg": {"schema": {"fields": []}}})
    fails("NotFoundException", 404, client.get_table, **where, name="none")
    fails("NotFoundException", 404, client.get_table, tableArn=arn + "/table/" + str(uuid.uuid4()))
    fails("BadRequestException", 400, client.get_table, tableBucketARN=arn)
    bare = client.create_table(**where, name="bare", format="ICEBERG")
    check("metadataLocation" not in client.get_table(**where, name="bare"), "a bare table has metadata")
    location = client.get_table_metadata_location(**where, name="bare")
    equal((location["versionToken"], "metadataLocation" in location), (bare["versionToken"], False))
    fails("ConflictException", 409, client.delete_table, **where, name="orders", versionToken="stale")
    client.delete_table(**where, name="orders", versionToken=table["versionToken"])
    fails("NotFoundException", 404, client.delete_table, **where, name="orders")


def test_renames():
    client = lake.client("s3tables")
    arn = make(client, table="t")
    client.create_namespace(tableBucketARN=arn, namespace=["other"])
    where = {"tableBucketARN": arn, "namespace": "sales"}
    before = client.get_table(**where, name="t")
    fails("BadRequestException", 400, client.rename_table, **where, name="t")
    fails("ConflictException", 409, client.rename_table, **where, name="t", newName="u", versionToken="stale")
    fails("NotFoundException", 404, client.rename_table, **where, name="t", newNamespaceName="none")
    fails("NotFoundException", 404, client.rename_table, **where, name="none", newName="u")
    client.rename_table(**where, name="t", newName="u", newNamespaceName="other", versionToken=before["versionToken"])
    after = client.get_table(tableArn=before["tableARN"])
    equal((after["namespace"], after["name"], after["metadataLocation"]), (["other"], "u", before["metadataLocation"]))
    check(after["versionToken"] != before["versionToken"], "the token did not change")
    client.create_table(**where, name="u", format="ICEBERG")
    fails("ConflictException", 409, client.rename_table, **where, name="u", newNamespaceName="other")


def test_metadata_location():
    client = lake.client("s3tables")
    arn = make(client, table="t")
    where = {"tableBucketARN": arn, "namespace": "sales", "name": "t"}
    first = client.get_table_metadata_location(**where)
    fails("BadRequestException", 400, client.update_table_metadata_location, **where, versionToken=first["versionToken"], metadataLocation="s3://warehouse/x.metadata.json")
    fails("BadRequestException", 400, client.update_table_metadata_location, **where, versionToken=first["versionToken"], metadataLocation=first["warehouseLocation"] + "/metadata/none.metadata.json")
    fails("ConflictException", 409, client.update_table_metadata_location, **where, versionToken="stale", metadataLocation=first["metadataLocation"])
    second = client.update_table_metadata_location(**where, versionToken=first["versionToken"], metadataLocation=first["metadataLocation"])
    equal((second["name"], second["namespace"], second["metadataLocation"], second["tableARN"]), ("t", ["sales"], first["metadataLocation"], client.get_table(**where)["tableARN"]))
    check(second["versionToken"] != first["versionToken"], "the token did not change")
    fails("ConflictException", 409, client.update_table_metadata_location, **where, versionToken=first["versionToken"], metadataLocation=first["metadataLocation"])


def test_documents():
    client = lake.client("s3tables")
    arn = make(client, table="t")
    where = {"tableBucketARN": arn, "namespace": "sales", "name": "t"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    for get, put, delete, place in ((client.get_table_bucket_policy, client.put_table_bucket_policy, client.delete_table_bucket_policy, {"tableBucketARN": arn}),
                                    (client.get_table_policy, client.put_table_policy, client.delete_table_policy, where)):
        fails("NotFoundException", 404, get, **place)
        put(**place, resourcePolicy=policy)
        equal(get(**place)["resourcePolicy"], policy)
        fails("BadRequestException", 400, put, **place, resourcePolicy="no json")
        delete(**place)
        fails("NotFoundException", 404, get, **place)
    kms = {"sseAlgorithm": "aws:kms", "kmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/x"}
    equal(client.get_table_encryption(**where)["encryptionConfiguration"], {"sseAlgorithm": "AES256"})
    client.put_table_bucket_encryption(tableBucketARN=arn, encryptionConfiguration=kms)
    equal(client.get_table_bucket_encryption(tableBucketARN=arn)["encryptionConfiguration"], kms)
    equal(client.get_table_encryption(**where)["encryptionConfiguration"], kms)
    client.delete_table_bucket_encryption(tableBucketARN=arn)
    equal(client.get_table_bucket_encryption(tableBucketARN=arn)["encryptionConfiguration"], {"sseAlgorithm": "AES256"})
    equal(client.get_table_storage_class(**where)["storageClassConfiguration"], {"storageClass": "STANDARD"})
    client.put_table_bucket_storage_class(tableBucketARN=arn, storageClassConfiguration={"storageClass": "INTELLIGENT_TIERING"})
    equal(client.get_table_bucket_storage_class(tableBucketARN=arn)["storageClassConfiguration"], {"storageClass": "INTELLIGENT_TIERING"})
    equal(client.get_table_bucket_logging(tableBucketARN=arn)["tableBucketLoggingStatus"], {})
    logging = {"loggingEnabled": {"targetBucket": "logs", "targetPrefix": "x", "targetObjectKeyFormat": {"partitionedPrefix": {"partitionDateSource": "EventTime"}}}}
    client.put_table_bucket_logging(tableBucketARN=arn, tableBucketLoggingStatus=logging)
    equal(client.get_table_bucket_logging(tableBucketARN=arn)["tableBucketLoggingStatus"], logging)
    fails("NotFoundException", 404, client.get_table_bucket_metrics_configuration, tableBucketARN=arn)
    client.put_table_bucket_metrics_configuration(tableBucketARN=arn)
    metrics = client.get_table_bucket_metrics_configuration(tableBucketARN=arn)
    check(metrics["id"] and metrics["tableBucketARN"] == arn, metrics)
    client.delete_table_bucket_metrics_configuration(tableBucketARN=arn)
    fails("NotFoundException", 404, client.get_table_bucket_metrics_configuration, tableBucketARN=arn)


def test_maintenance():
    client = lake.client("s3tables")
    arn = make(client, table="t")
    where = {"tableBucketARN": arn, "namespace": "sales", "name": "t"}
    equal(client.get_table_bucket_maintenance_configuration(tableBucketARN=arn)["configuration"],
          {"icebergUnreferencedFileRemoval": {"status": "enabled", "settings": {"icebergUnreferencedFileRemoval": {"unreferencedDays": 3, "nonCurrentDays": 10}}}})
    configuration = client.get_table_maintenance_configuration(**where)
    equal((configuration["tableARN"], configuration["configuration"]), (client.get_table(**where)["tableARN"], {
        "icebergCompaction": {"status": "enabled", "settings": {"icebergCompaction": {"targetFileSizeMB": 512, "strategy": "auto"}}},
        "icebergSnapshotManagement": {"status": "enabled", "settings": {"icebergSnapshotManagement": {"minSnapshotsToKeep": 1, "maxSnapshotAgeHours": 120}}}}))
    client.put_table_maintenance_configuration(**where, type="icebergCompaction", value={"status": "enabled", "settings": {"icebergCompaction": {"targetFileSizeMB": 64}}})
    client.put_table_maintenance_configuration(**where, type="icebergCompaction", value={"settings": {"icebergCompaction": {"strategy": "sort"}}})
    client.put_table_maintenance_configuration(**where, type="icebergSnapshotManagement", value={"status": "disabled"})
    configuration = client.get_table_maintenance_configuration(**where)["configuration"]
    equal(configuration["icebergCompaction"], {"status": "enabled", "settings": {"icebergCompaction": {"targetFileSizeMB": 64, "strategy": "sort"}}})
    equal(configuration["icebergSnapshotManagement"]["status"], "disabled")
    for size in (63, 513):
        fails("BadRequestException", 400, client.put_table_maintenance_configuration, **where, type="icebergCompaction", value={"settings": {"icebergCompaction": {"targetFileSizeMB": size}}})
    fails("BadRequestException", 400, client.put_table_maintenance_configuration, **where, type="icebergUnreferencedFileRemoval", value={"status": "enabled"})
    client.put_table_bucket_maintenance_configuration(tableBucketARN=arn, type="icebergUnreferencedFileRemoval",
                                                      value={"settings": {"icebergUnreferencedFileRemoval": {"unreferencedDays": 5}}})
    equal(client.get_table_bucket_maintenance_configuration(tableBucketARN=arn)["configuration"]["icebergUnreferencedFileRemoval"]["settings"],
          {"icebergUnreferencedFileRemoval": {"unreferencedDays": 5, "nonCurrentDays": 10}})
    status = client.get_table_maintenance_job_status(**where)["status"]
    equal(status["icebergSnapshotManagement"]["status"], "Disabled")
    check(status["icebergCompaction"]["status"] in ("Not_Yet_Run", "Successful"), status)
    equal(sorted(status), ["icebergCompaction", "icebergSnapshotManagement", "icebergUnreferencedFileRemoval"])


def test_tags():
    client = lake.client("s3tables")
    arn = make(client, table="t")
    table = client.get_table(tableBucketARN=arn, namespace="sales", name="t")["tableARN"]
    for resource in (arn, table):
        equal(client.list_tags_for_resource(resourceArn=resource)["tags"], {})
        client.tag_resource(resourceArn=resource, tags={"a": "1", "b/c": "ü", "d": "3"})
        client.tag_resource(resourceArn=resource, tags={"a": "2"})
        client.untag_resource(resourceArn=resource, tagKeys=["d", "b/c", "none"])
        equal(client.list_tags_for_resource(resourceArn=resource)["tags"], {"a": "2"})
    fails("BadRequestException", 400, client.tag_resource, resourceArn=arn, tags={str(i): "x" for i in range(51)})
    fails("NotFoundException", 404, client.list_tags_for_resource, resourceArn=arn + "x")


def test_expiration_replication_migration():
    client = lake.client("s3tables")
    arn = make(client, table="t")
    table = client.get_table(tableBucketARN=arn, namespace="sales", name="t")["tableARN"]
    equal(client.get_table_record_expiration_configuration(tableArn=table)["configuration"], {"status": "disabled"})
    equal(client.get_table_record_expiration_job_status(tableArn=table)["status"], "Disabled")
    value = {"status": "enabled", "settings": {"days": 30}}
    client.put_table_record_expiration_configuration(tableArn=table, value=value)
    equal(client.get_table_record_expiration_configuration(tableArn=table)["configuration"], value)
    equal(client.get_table_record_expiration_job_status(tableArn=table)["status"], "NotYetRun")
    configuration = {"role": "arn:aws:iam::123456789012:role/r", "rules": [{"destinations": [{"destinationTableBucketARN": arn}]}]}
    for get, put, delete, place in ((client.get_table_bucket_replication, client.put_table_bucket_replication, client.delete_table_bucket_replication, {"tableBucketARN": arn}),
                                    (client.get_table_replication, client.put_table_replication, client.delete_table_replication, {"tableArn": table})):
        fails("NotFoundException", 404, get, **place)
        token = put(**place, configuration=configuration)["versionToken"]
        equal((get(**place)["configuration"], get(**place)["versionToken"]), (configuration, token))
        fails("ConflictException", 409, put, **place, configuration=configuration, versionToken="stale")
        status = client.get_table_replication_status(tableArn=table)
        equal((status["sourceTableArn"], status["destinations"][0]["replicationStatus"]), (table, "pending"))
        delete(**place, versionToken=token)
        fails("NotFoundException", 404, get, **place)
    fails("BadRequestException", 400, client.disassociate_table_replication, tableArn=table)
    equal(client.list_table_migrations()["migrations"], [])
    fails("BadRequestException", 400, client.get_table_migration, migrationId="m")
    fails("BadRequestException", 400, client.complete_table_migration, tableARN=table)


def test_every_operation_of_the_model_is_known():
    """A row for each: an empty request answers something else than 'no such operation'."""
    import urllib.error
    import urllib.request
    client = lake.client("s3tables")
    model = client.meta.service_model
    for name in model.operation_names:
        http = model.operation_model(name).http
        path = http["requestUri"].replace("{tableBucketARN}", "arn%3Aaws%3As3tables%3Aus-east-1%3A123456789012%3Abucket%2Fnone").replace("{resourceArn}", "arn%3Aaws%3Ax")
        request = urllib.request.Request(lake.url("s3tables") + path.replace("{namespace}", "n").replace("{name}", "t").replace("{type}", "x"), method=http["method"], data=b"" if http["method"] != "GET" else None)
        try:
            with urllib.request.urlopen(request) as answer:
                status, body = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read().decode()
        check(status < 500 and status != 405 and "no such operation" not in body, f"{name}: {status} {body}")


def test_strange_requests():
    import urllib.error
    import urllib.request
    for method, path, body, expected in (("GET", "/nothing", None, 404), ("POST", "/buckets", b"{}", 405), ("PUT", "/buckets", b"{nonsense", 400), ("PUT", "/buckets", b"", 400),
                                         ("PUT", "/buckets", b'{"name":3}', 400), ("GET", "/buckets/x", None, 400), ("GET", "/buckets?maxBuckets=0", None, 400), ("GET", "/buckets/%zz", None, 400)):
        request = urllib.request.Request(lake.url("s3tables") + path, method=method, data=body)
        try:
            with urllib.request.urlopen(request) as answer:
                status, headers = answer.status, answer.headers
        except urllib.error.HTTPError as error:
            status, headers = error.code, error.headers
            check("message" in json.loads(error.read()), f"{method} {path}: no message")
        equal(status, expected, f"{method} {path} {body}")
        check(headers.get("x-amzn-ErrorType", "").endswith("Exception"), f"{method} {path}: {headers.get('x-amzn-ErrorType')}")


def test_signatures():
    import boto3
    import botocore.config
    good = dict(endpoint_url=lake.url("s3tables"), region_name="us-east-1", config=botocore.config.Config(retries={"max_attempts": 0}))
    wrong = boto3.client("s3tables", aws_access_key_id="nilas", aws_secret_access_key="wrong", **good)
    fails("InvalidSignatureException", 403, wrong.list_table_buckets)
    other = boto3.client("s3tables", aws_access_key_id="other", aws_secret_access_key="wrong", **good)
    other.list_table_buckets()


if __name__ == "__main__":
    with Lakehouse() as lake:
        support.run_tests(sys.modules[__name__])
