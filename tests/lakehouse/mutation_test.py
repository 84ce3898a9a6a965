"""Valid requests with one part replaced by something else, to every operation of the catalog services.

Whatever a client sends is the client's fault: the answer is below 500 (501: not offered), is JSON with a reason, comes soon, and the
service goes on. The operations of Glue, Athena and S3 Tables and their inputs are those of botocore's models."""
import copy
import http.client
import json
import os
import sys
import time
import urllib.parse
import uuid

import botocore.session

from support import Lakehouse, check, equal, run_tests

ARN = "arn:aws:s3tables:us-east-1:123456789012:bucket/lakehouse"
ALL = "NILAS_ALL_MUTATIONS" in os.environ  # else some of them: as many as a minute allows
WORDS = [None, True, 0, -1, 2147483648, -9223372036854775808, 18446744073709551615, 1e300, "", " ", "x" * 3000, "a\u0000b", "../../etc/passwd", "s3://", "s3://no-such-bucket/x",
         "file:/etc/passwd", "ä\U0001f4a9", "%s%n%x", "{", [], [None], ["a", "a"], {}, {"": None}, {"a": {"b": []}}]
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": True, "type": "long"},
                                                       {"id": 2, "name": "tags", "required": False, "type": {"type": "list", "element-id": 3, "element": "string", "element-required": False}},
                                                       {"id": 4, "name": "ts", "required": False, "type": "timestamptz", "doc": "when"}]}


class Service:
    """One connection; counts what was asked."""

    def __init__(self, lake, name):
        self.port = lake.ports[name]
        self.name = name
        self.peer = http.client.HTTPConnection("localhost", self.port, timeout=30)
        self.count = 0

    def __call__(self, method, path, body=None, headers=None):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        begun = time.time()
        try:
            self.peer.request(method, path, data, headers or {})
            reply = self.peer.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException) as problem:
            check(False, f"{self.name}: {method} {path} {data!r:.300}: {problem!r}")
            self.peer.close()
            return 0, None
        self.count += 1
        said = f"{self.name}: {method} {path:.200} {headers or ''} {data!r:.400}: {reply.status} {text!r:.300}"
        check(reply.status < 500 or reply.status == 501, said)
        check(time.time() - begun < 30, f"{said}: {time.time() - begun:.1f} s")
        try:
            answer = json.loads(text) if text else None
        except ValueError:
            answer = None
            check(False, said)
        return reply.status, answer


def places(value, path=()):
    """The paths of all parts of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, path + (key,))


def mutations(value):
    """Each part replaced by each word, and left out."""
    for path in places(value):
        for word in WORDS:
            if not path:
                yield word
                continue
            made = copy.deepcopy(value)
            part = made
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = word
            yield made
        if path:
            made = copy.deepcopy(value)
            part = made
            for key in path[:-1]:
                part = part[key]
            del part[path[-1]]
            yield made


def renamed(value, marker="$NEW"):
    """The marker becomes a name of its own."""
    text = json.dumps(value)
    return json.loads(text.replace(marker, "n" + uuid.uuid4().hex[:12])) if marker in text else value


SNAPSHOT = {"snapshot-id": 11, "sequence-number": 1, "timestamp-ms": 1700000000000, "manifest-list": "$LOCATION/metadata/list.avro", "summary": {"operation": "append"}, "schema-id": 0,
            "first-row-id": 0, "added-rows": 0}
UPDATES = [
    {"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
    {"action": "upgrade-format-version", "format-version": 3},
    {"action": "add-schema", "schema": SCHEMA, "last-column-id": 4},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": {"spec-id": 1, "fields": [{"source-id": 1, "field-id": 1000, "name": "b", "transform": "bucket[4]"}, {"source-id": 4, "transform": "day", "name": "d"}]}},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}]}},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "add-snapshot", "snapshot": SNAPSHOT},
    {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 11, "max-ref-age-ms": 1000, "max-snapshot-age-ms": 1000, "min-snapshots-to-keep": 1},
    {"action": "remove-snapshots", "snapshot-ids": [11]},
    {"action": "remove-snapshot-ref", "ref-name": "main"},
    {"action": "set-location", "location": "$LOCATION/other"},
    {"action": "set-properties", "updates": {"a": "1", "write.metadata.path": "$LOCATION/m", "commit.retry.num-retries": "1", "write.metadata.compression-codec": "gzip"}},
    {"action": "remove-properties", "removals": ["a"]},
    {"action": "set-statistics", "snapshot-id": 11, "statistics": {"snapshot-id": 11, "statistics-path": "$LOCATION/s.puffin", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1,
                                                                   "blob-metadata": [{"type": "t", "snapshot-id": 11, "sequence-number": 1, "fields": [1], "properties": {"a": "b"}}]}},
    {"action": "remove-statistics", "snapshot-id": 11},
    {"action": "set-partition-statistics", "partition-statistics": {"snapshot-id": 11, "statistics-path": "$LOCATION/p", "file-size-in-bytes": 1}},
    {"action": "remove-partition-statistics", "snapshot-id": 11},
    {"action": "remove-partition-specs", "spec-ids": [1]},
    {"action": "remove-schemas", "schema-ids": [1]},
    {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "AAAA", "encrypted-by-id": "e", "properties": {"a": "b"}}},
    {"action": "remove-encryption-key", "key-id": "k"},
]
REQUIREMENTS = [{"type": "assert-create"}, {"type": "assert-table-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}, {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
                {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 4}, {"type": "assert-current-schema-id", "current-schema-id": 0},
                {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999}, {"type": "assert-default-spec-id", "default-spec-id": 0},
                {"type": "assert-default-sort-order-id", "default-sort-order-id": 0}]
VIEW_VERSION = {"version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {"a": "b"}, "default-catalog": "c", "default-namespace": ["a"],
                "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}]}


def rest_requests():
    """(method, path below the prefix, body); $TABLE is a table of its own for each row."""
    yield "POST", "/namespaces", {"namespace": ["$NEW"], "properties": {"a": "1", "location": "s3://warehouse/x"}}
    yield "POST", "/namespaces/base/properties", {"removals": ["a"], "updates": {"b": "2"}}
    yield "POST", "/namespaces/base/tables", {"name": "$NEW", "location": "s3://warehouse/$NEW", "schema": SCHEMA, "stage-create": True, "properties": {"format-version": "2", "a": "b"},
                                              "partition-spec": UPDATES[4]["spec"], "write-order": UPDATES[6]["sort-order"]}
    yield "POST", "/namespaces/base/tables", {"name": "$NEW", "schema": SCHEMA}
    yield "POST", "/namespaces/base/register", {"name": "$NEW", "metadata-location": "$METADATA", "overwrite": False}
    yield "POST", "/tables/rename", {"source": {"namespace": ["base"], "name": "$TABLE"}, "destination": {"namespace": ["base"], "name": "$NEW"}}
    yield "POST", "/namespaces/base/tables/$TABLE/metrics", {"report-type": "scan-report", "table-name": "t", "snapshot-id": 1, "filter": True, "schema-id": 0, "projected-field-ids": [1], "projected-field-names": ["id"],
                                                             "metrics": {"total-planning-duration": {"count": 1, "time-unit": "nanoseconds", "total-duration": 1}}}
    yield "POST", "/namespaces/base/tables/$TABLE/sign", {"region": "us-east-1", "uri": "http://localhost/warehouse/x", "method": "GET", "headers": {"a": ["b"]}, "body": "x"}
    yield "POST", "/namespaces/base/tables/$TABLE/plan", {"snapshot-id": None, "select": ["id"], "filter": {"type": "and", "left": {"type": "eq", "term": "id", "value": 1}, "right": {"type": "not", "child": {"type": "in", "term": {"type": "transform", "transform": "bucket[3]", "term": "id"}, "values": [1, 2]}}},
                                                          "case-sensitive": True, "use-snapshot-schema": False, "start-snapshot-id": None, "end-snapshot-id": None, "stats-fields": ["id"]}
    yield "POST", "/namespaces/base/tables/$TABLE/tasks", {"plan-task": "x"}
    yield "POST", "/namespaces/base/views", {"name": "$NEW", "location": "s3://warehouse/$NEW", "schema": SCHEMA, "view-version": VIEW_VERSION, "properties": {"a": "b"}}
    yield "POST", "/namespaces/base/register-view", {"name": "$NEW", "metadata-location": "$METADATA"}
    yield "POST", "/views/rename", {"source": {"namespace": ["base"], "name": "w"}, "destination": {"namespace": ["base"], "name": "$NEW"}}
    for update in ({"action": "assign-uuid", "uuid": "x"}, {"action": "upgrade-format-version", "format-version": 1}, {"action": "add-schema", "schema": SCHEMA}, {"action": "set-location", "location": "s3://warehouse/v"},
                   {"action": "set-properties", "updates": {"k": "v"}}, {"action": "remove-properties", "removals": ["k"]}, {"action": "add-view-version", "view-version": VIEW_VERSION},
                   {"action": "set-current-view-version", "view-version-id": -1}):
        yield "POST", "/namespaces/base/views/w", {"identifier": {"namespace": ["base"], "name": "w"}, "requirements": [{"type": "assert-view-uuid", "uuid": "x"}], "updates": [update]}
        yield "POST", "/namespaces/base/views/w", {"updates": [update]}
    for update in UPDATES:
        yield "POST", "/namespaces/base/tables/$TABLE", {"updates": [update]}
    yield "POST", "/namespaces/base/tables/$TABLE", {"requirements": [], "updates": UPDATES}
    for requirement in REQUIREMENTS:
        yield "POST", "/namespaces/base/tables/$TABLE", {"identifier": {"namespace": ["base"], "name": "$TABLE"}, "requirements": [requirement], "updates": []}
    yield "POST", "/namespaces/base/tables/$NEW", {"requirements": [{"type": "assert-create"}], "updates": UPDATES[:8] + UPDATES[12:14]}
    yield "POST", "/transactions/commit", {"table-changes": [{"identifier": {"namespace": ["base"], "name": "$TABLE"}, "requirements": [], "updates": [UPDATES[13]]}]}


def sweep_rest(lake, service, prefix):
    call = Service(lake, service)
    if service == "s3tables":
        lake.client("s3tables").create_table_bucket(name="lakehouse")
    equal(call("POST", prefix + "/namespaces", {"namespace": ["base"], "properties": {}})[0], 200)
    call("POST", prefix + "/namespaces/base/views", {"name": "w", "schema": SCHEMA, "view-version": VIEW_VERSION, "properties": {}})
    for method, path, body in rest_requests():
        table = "t" + uuid.uuid4().hex[:12]
        status, made = call("POST", prefix + "/namespaces/base/tables", {"name": table, "schema": SCHEMA})
        if not equal(status, 200, made):
            continue
        text = json.dumps(body).replace("$TABLE", table).replace("$METADATA", made["metadata-location"]).replace("$LOCATION", made["metadata"]["location"])
        for mutation in few(mutations(json.loads(text)), 50):
            call(method, prefix + renamed(path.replace("$TABLE", table)), renamed(mutation), {"Content-Type": "application/json"})
        parts = path.split("/")
        for i, part in enumerate(parts):
            for word in ("", "%00", "%ff", "%", "%1F", "a%1F", "x" * 2000, "..", "%2e%2e", "a%2Fb", "%F0%9F%92%A9"):
                if part:
                    call(method, prefix + renamed("/".join(parts[:i] + [word] + parts[i + 1:]).replace("$TABLE", table)), json.loads(text))
    for path in ("/namespaces", "/namespaces/base/tables", "/namespaces/base/views"):
        for name in ("pageToken", "pageSize", "parent"):
            for word in ("", "0", "-1", "x", "%00", "%ff", "zz", "00", "ff" * 5000, "99999999999999999999", "%1F", "a%1F"):
                call("GET", f"{prefix}{path}?{name}={word}")
    return call.count


def test_the_rest_catalog():
    with Lakehouse() as lake:
        print(f"       {sweep_rest(lake, 'rest', '/v1')} requests")


def test_the_rest_catalog_of_a_table_bucket():
    with Lakehouse() as lake:
        print(f"       {sweep_rest(lake, 's3tables', '/iceberg/v1/' + urllib.parse.quote(ARN, safe=''))} requests")


def sample(shape, names, depth=0):
    """A value of a botocore shape that has a chance of being accepted: names gives what members of that name should be."""
    if shape.type_name == "structure":
        made = {}
        for name, member in shape.members.items():
            if depth < 5 or name in shape.required_members:
                made[name] = names[name] if name in names and not callable(names[name]) else sample(member, names, depth + 1)
        return made
    if shape.type_name == "list":
        return [sample(shape.member, names, depth + 1)] if depth < 7 else []
    if shape.type_name == "map":
        return {"k": sample(shape.value, names, depth + 1)}
    if shape.type_name == "string":
        return shape.enum[0] if getattr(shape, "enum", None) else "x"
    return {"boolean": True, "integer": 1, "long": 1, "float": 1.0, "double": 1.0, "timestamp": 1700000000, "blob": "eA=="}.get(shape.type_name, "x")


def few(inputs, count_max):
    """At most so many, spread over all."""
    inputs = list(inputs)
    count_max *= 100 if ALL else 1
    return inputs if len(inputs) <= count_max else inputs[::-(-len(inputs) // count_max)]


def sweep_json(lake, name, target, names, count_max=60):
    model = botocore.session.get_session().get_service_model(name)
    call = Service(lake, name)
    for operation in model.operation_names:
        shape = model.operation_model(operation).input_shape
        wanted = sample(shape, names) if shape else {}
        headers = {"X-Amz-Target": f"{target}.{operation}", "Content-Type": "application/x-amz-json-1.1"}
        status, answer = call("POST", "/", wanted, headers)
        if status == 501 or (answer or {}).get("__type", "").startswith(("UnknownOperation", "OperationNotSupported")):
            continue
        for mutation in few(mutations(wanted), count_max):
            call("POST", "/", mutation, headers)
        small = {member: wanted[member] for member in (shape.required_members if shape else []) if member in wanted}
        for mutation in few(mutations(small), count_max):
            call("POST", "/", mutation, headers)
        for body in (b"", b"[", b"null", b"[]", b"\xff", b"{\"a\":" * 5000, b"{\"Name\":\"\xff\"}"):
            call("POST", "/", body, headers)
    return call.count


def test_glue():
    with Lakehouse() as lake:
        glue = lake.client("glue")
        glue.create_database(DatabaseInput={"Name": "db"})
        columns = [{"Name": "a", "Type": "int"}]
        storage = {"Columns": columns, "Location": "s3://awsdatacatalog/db/t"}
        glue.create_table(DatabaseName="db", TableInput={"Name": "t", "PartitionKeys": [{"Name": "p", "Type": "string"}], "StorageDescriptor": storage})
        glue.create_partition(DatabaseName="db", TableName="t", PartitionInput={"Values": ["1"], "StorageDescriptor": storage})
        names = {"DatabaseName": "db", "TableName": "t", "CatalogId": "123456789012", "Values": ["1"], "PartitionValues": ["1"], "PartitionKeys": [{"Name": "p", "Type": "string"}], "Columns": columns,
                 "ResourceArn": "arn:aws:glue:us-east-1:123456789012:database/db", "Expression": "p = '1'", "VersionId": "0", "NextToken": None, "TransactionId": None, "QueryAsOfTime": None}
        print(f"       {sweep_json(lake, 'glue', 'AWSGlue', names)} requests")


def test_athena():
    with Lakehouse() as lake:
        names = {"QueryString": "SELECT 1", "WorkGroup": "primary", "QueryExecutionId": str(uuid.uuid4()), "CatalogName": "AwsDataCatalog", "Catalog": "AwsDataCatalog", "DatabaseName": "default",
                 "Database": "default", "OutputLocation": "s3://no-such-bucket/x/", "NextToken": None, "ClientRequestToken": None, "ResourceARN": "arn:aws:athena:us-east-1:123456789012:workgroup/primary"}
        print(f"       {sweep_json(lake, 'athena', 'AmazonAthena', names, 40)} requests")


def test_s3_tables():
    with Lakehouse() as lake:
        client = lake.client("s3tables")
        client.create_table_bucket(name="lakehouse")
        client.create_namespace(tableBucketARN=ARN, namespace=["ns"])
        arn = client.create_table(tableBucketARN=ARN, namespace="ns", name="t", format="ICEBERG", metadata={"iceberg": {"schema": {"fields": [{"name": "a", "type": "int"}]}}})["tableARN"]
        location = client.get_table_metadata_location(tableBucketARN=ARN, namespace="ns", name="t")
        names = {"tableBucketARN": ARN, "namespace": "ns", "name": "t", "tableARN": arn, "resourceArn": arn, "versionToken": location["versionToken"], "metadataLocation": location["metadataLocation"], "tableName": "t",
                 "format": "ICEBERG", "type": "icebergCompaction", "newName": "$NEW", "newNamespaceName": "ns", "continuationToken": None, "maxResults": 1, "prefix": ""}
        model = botocore.session.get_session().get_service_model("s3tables")
        call = Service(lake, "s3tables")
        for operation in model.operation_names:
            if operation in ("DeleteTableBucket", "DeleteTable", "DeleteNamespace", "RenameTable"):
                continue  # nothing but a path, or the end of what the others ask for
            made = model.operation_model(operation)
            wanted = sample(made.input_shape, names)
            if operation == "CreateNamespace":
                wanted["namespace"] = ["$NEW"]
            if operation in ("CreateTableBucket", "CreateTable"):
                wanted["name"] = "$NEW"
            places_of = {member.serialization.get("name", key): (member.serialization.get("location"), wanted.get(key)) for key, member in made.input_shape.members.items()}
            body = {key: value for key, (location_of, value) in places_of.items() if location_of is None}
            path = made.http["requestUri"]
            for key, (location_of, value) in places_of.items():
                if location_of == "uri":
                    path = path.replace("{%s}" % key, urllib.parse.quote(str(value), safe=""))
            query = {key: value for key, (location_of, value) in places_of.items() if location_of == "querystring" and value is not None}
            whole = path + ("?" + urllib.parse.urlencode(query) if query else "")
            call(made.http["method"], whole, renamed(body) if body else None)
            for mutation in few(mutations(body), 200) if body else ():
                call(made.http["method"], renamed(whole), renamed(mutation))
            for key in query:
                for word in ("", "0", "-1", "x", "%00", "%ff", "x" * 5000, "99999999999999999999"):
                    call(made.http["method"], f"{path}?{key}={word}")
            parts = path.split("/")
            for i, part in enumerate(parts):
                for word in ("", "%00", "%ff", "%", "x" * 2000, "..", "a%2Fb", "arn%3Aaws"):
                    if part:
                        call(made.http["method"], "/".join(parts[:i] + [word] + parts[i + 1:]), renamed(body) if body else None)
            for text in (b"", b"[", b"null", b"[]", b"\xff", b"{\"a\":" * 5000):
                call(made.http["method"], whole, text)
        print(f"       {call.count} requests")


def test_files_that_are_no_metadata():
    """Named by a client, or put in the place of a table's own."""
    import gzip
    import io
    with Lakehouse() as lake:
        s3, tables, glue = lake.client("s3"), lake.client("s3tables"), lake.client("glue")
        call = Service(lake, "rest")
        call("POST", "/v1/namespaces", {"namespace": ["base"]})
        _, good = call("POST", "/v1/namespaces/base/tables", {"name": "good", "schema": SCHEMA})
        text = s3.get_object(Bucket="warehouse", Key=good["metadata-location"].split("/", 3)[3])["Body"].read()
        metadata = json.loads(text)
        files = {"empty.metadata.json": b"", "text.metadata.json": b"This is no JSON.", "half.metadata.json": text[:len(text) // 2], "list.metadata.json": b"[]", "none.metadata.json": b"null",
                 "object.metadata.json": b"{}", "bytes.metadata.json": bytes(range(256)) * 10, "deep.metadata.json": b"[" * 100000, "zip.gz.metadata.json": b"\x1f\x8b garbage",
                 "text.gz.metadata.json": text, "zipped.metadata.json": gzip.compress(b"no"), "future.metadata.json": json.dumps({**metadata, "format-version": 99}).encode(),
                 "bomb.gz.metadata.json": gzip.compress(b" " * (64 << 20))}
        for key in metadata:
            for number, word in enumerate((None, -1, "x", [], {}) if ALL else ({},)):
                files[f"{key}-{number}.metadata.json"] = json.dumps({**metadata, key: word}).encode()
        for name, content in files.items():
            s3.put_object(Bucket="warehouse", Key="bad/" + name, Body=content)
            location = "s3://warehouse/bad/" + name
            status, answer = call("POST", "/v1/namespaces/base/register", {"name": "n" + uuid.uuid4().hex[:8], "metadata-location": location})
            if name.endswith(("none.metadata.json", "object.metadata.json", "text.metadata.json", "half.metadata.json", "empty.metadata.json")):
                check(status == 400 and answer["error"]["message"], f"{name}: {status} {answer}")
            call("POST", "/v1/namespaces/base/register-view", {"name": "n" + uuid.uuid4().hex[:8], "metadata-location": location})
            table = "n" + uuid.uuid4().hex[:8]
            try:
                glue.create_table(DatabaseName="default", TableInput={"Name": table, "TableType": "EXTERNAL_TABLE", "Parameters": {"table_type": "ICEBERG", "metadata_location": location}})
                glue.get_table(DatabaseName="default", Name=table)
            except glue.exceptions.ClientError as problem:
                equal(problem.response["ResponseMetadata"]["HTTPStatusCode"], 400, f"Glue: {name}: {problem}")
        tables.create_table_bucket(name="lakehouse")
        tables.create_namespace(tableBucketARN=ARN, namespace=["ns"])
        iceberg = Service(lake, "s3tables")
        prefix = "/iceberg/v1/" + urllib.parse.quote(ARN, safe="")
        for name, content in list(files.items())[:13]:
            table = "n" + uuid.uuid4().hex[:8]
            tables.create_table(tableBucketARN=ARN, namespace="ns", name=table, format="ICEBERG")
            made = tables.get_table(tableBucketARN=ARN, namespace="ns", name=table)
            bucket = made["warehouseLocation"].removeprefix("s3://")
            s3.put_object(Bucket=bucket, Key="metadata/" + name, Body=content)
            try:
                tables.update_table_metadata_location(tableBucketARN=ARN, namespace="ns", name=table, versionToken=made["versionToken"], metadataLocation=f"s3://{bucket}/metadata/{name}")
            except tables.exceptions.ClientError as problem:
                check(problem.response["ResponseMetadata"]["HTTPStatusCode"] < 500, f"S3 Tables: {name}: {problem}")
            iceberg("GET", f"{prefix}/namespaces/ns/tables/{table}")
            iceberg("POST", f"{prefix}/namespaces/ns/tables/{table}", {"updates": []})
        # A client that may write into the bucket may spoil its own tables: that is no fault of the server either.
        for name, content in list(files.items())[:13]:
            table = "n" + uuid.uuid4().hex[:8]
            _, made = call("POST", "/v1/namespaces/base/tables", {"name": table, "schema": SCHEMA})
            s3.put_object(Bucket="warehouse", Key=made["metadata-location"].split("/", 3)[3], Body=content)
        lake.stop()  # what it remembers of them goes
        lake.start()
        call = Service(lake, "rest")
        _, listed = call("GET", "/v1/namespaces/base/tables")
        for entry in listed["identifiers"]:
            path = "/v1/namespaces/base/tables/" + entry["name"]
            call("GET", path)
            call("POST", path, {"updates": [{"action": "set-properties", "updates": {"a": "b"}}]})
            call("POST", path + "/plan", {})
            call("GET", path + "/credentials")
            call("DELETE", path + "?purgeRequested=true")
            call("DELETE", path)


run_tests(sys.modules[__name__])
