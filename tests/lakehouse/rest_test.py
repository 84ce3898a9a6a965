"""The Iceberg REST catalogs of `nilas up`: raw requests for what clients rarely send, and PyIceberg with and without SigV4."""
import concurrent.futures
import hashlib
import json
import random
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid

import support
from support import Lakehouse, check, equal

SCHEMA = {"type": "struct", "fields": [{"id": 7, "name": "id", "required": True, "type": "long"}, {"id": 9, "name": "data", "required": False, "type": "string"}]}


class Api:
    """Requests below one base URL; .status, .json, .headers of the last answer."""

    def __init__(self, base):
        self.base = base

    def __call__(self, method, path, body=None, headers=None):
        data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                self.status, self.headers, content = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            self.status, self.headers, content = error.code, error.headers, error.read()
        try:
            self.json = json.loads(content) if content else None
        except ValueError:
            self.json = {"text": content}
            check(self.status == 413, f"{method} {path[:60]}: {self.status} {content[:100]}")  # the server itself says that one
        return self.status

    def ok(self, method, path, body=None, headers=None, status=200):
        equal(self(method, path, body, headers), status, f"{method} {path}: {self.json}")
        return self.json

    def fails(self, method, path, body, status, type_, message=None, headers=None):
        self(method, path, body, headers)
        error = (self.json or {}).get("error", {})
        equal((self.status, error.get("type"), error.get("code")), (status, type_, status), f"{method} {path}")
        equal(sorted(error), ["code", "message", "type"])
        if message is not None:
            check(message in error.get("message", ""), f"{method} {path}: {error.get('message')!r} does not say {message!r}")
        return error


def fresh(api, levels=None, name="t", **more):
    """A namespace of its own with a table."""
    levels = levels or ["n" + uuid.uuid4().hex[:8]]
    api.ok("POST", "/namespaces", {"namespace": levels, "properties": {}})
    scope = "%1F".join(urllib.parse.quote(level, safe="") for level in levels)
    made = api.ok("POST", f"/namespaces/{scope}/tables", {"name": name, "schema": SCHEMA, **more})
    return scope, made


def snapshot(metadata, parent=None, **more):
    made = {"snapshot-id": random.getrandbits(62), "sequence-number": metadata["last-sequence-number"] + 1, "timestamp-ms": metadata["last-updated-ms"] + 1,
            "manifest-list": metadata["location"] + "/metadata/list.avro", "summary": {"operation": "append"}, "schema-id": 0, **more}
    if parent is not None:
        made["parent-snapshot-id"] = parent
    return made


def append(metadata, snap):
    """Updates and requirements of an append as Java sends them."""
    main = metadata["refs"].get("main", {}).get("snapshot-id")
    return {"requirements": [{"type": "assert-table-uuid", "uuid": metadata["table-uuid"]}, {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": main}],
            "updates": [{"action": "add-snapshot", "snapshot": snap}, {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snap["snapshot-id"]}]}


def test_config():
    api = Api(lake.url("rest") + "/v1")
    plain = api.ok("GET", "/config")
    equal(plain["overrides"], {})
    for wanted in ("HEAD /v1/{prefix}/namespaces/{namespace}", "POST /v1/{prefix}/transactions/commit", "GET /v1/{prefix}/namespaces/{namespace}/views",
                   "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"):
        check(wanted in plain["endpoints"], f"{wanted} is not among the endpoints")
    equal(api.ok("GET", "/config?warehouse=warehouse")["overrides"], {"prefix": "warehouse"})
    equal(api.ok("GET", "/config?warehouse=s3://warehouse/")["overrides"], {"prefix": "warehouse"})
    api.fails("GET", "/config?warehouse=nowhere", None, 404, "NoSuchWarehouseException", "nowhere")
    api.fails("GET", "/nowhere/namespaces", None, 404, "NoSuchWarehouseException", "nowhere")
    api.fails("GET", "/warehouse/other", None, 404, "NoSuchEndpointException")
    api.fails("PATCH", "/namespaces", None, 405, "MethodNotAllowedException")
    bucket = Api(lake.url("s3tables") + "/iceberg/v1")
    bucket.fails("GET", "/config", None, 400, "BadRequestException", "ARN")
    bucket.fails("GET", "/config?warehouse=" + urllib.parse.quote(ARN + "x", safe=""), None, 404, "NoSuchWarehouseException")
    config = bucket.ok("GET", "/config?warehouse=" + urllib.parse.quote(ARN, safe=""))
    equal(config["overrides"]["prefix"], urllib.parse.quote(ARN, safe=""))
    check(not any("/views" in endpoint or "/register" in endpoint for endpoint in config["endpoints"]), "a table bucket says that it serves views")


def test_namespaces():
    api = Api(lake.url("rest") + "/v1")
    api.ok("POST", "/namespaces", {"namespace": ["space one"], "properties": {"owner": "Zoë"}})
    api.fails("POST", "/namespaces", {"namespace": ["space one"]}, 409, "AlreadyExistsException", "Namespace already exists: space one")
    api.fails("POST", "/namespaces", {"namespace": []}, 400, "BadRequestException")
    api.fails("POST", "/namespaces", {"namespace": "x"}, 400, "BadRequestException")
    api.fails("POST", "/namespaces", {"namespace": ["missing", "x"]}, 404, "NoSuchNamespaceException", "missing")
    for spelling in ("space+one", "space%20one"):
        equal(api.ok("GET", f"/namespaces/{spelling}"), {"namespace": ["space one"], "properties": {"owner": "Zoë"}})
        api.ok("HEAD", f"/namespaces/{spelling}", status=204)
    api.ok("POST", "/namespaces", {"namespace": ["space one", "a/b"]})
    api.ok("POST", "/namespaces", {"namespace": ["space one", "a/b", "c"]})
    equal(api.ok("GET", "/namespaces/space+one%1Fa%2Fb%1Fc")["namespace"], ["space one", "a/b", "c"])
    equal(api.ok("GET", "/namespaces?parent=space%20one")["namespaces"], [["space one", "a/b"]])
    equal(api.ok("GET", "/namespaces?parent=space+one%1Fa%2Fb")["namespaces"], [["space one", "a/b", "c"]])
    check(["space one"] in api.ok("GET", "/namespaces")["namespaces"], "not listed at the top")
    api.fails("GET", "/namespaces?parent=missing", None, 404, "NoSuchNamespaceException")
    api.fails("GET", "/namespaces/missing", None, 404, "NoSuchNamespaceException", "Namespace does not exist: missing")
    equal(api("HEAD", "/namespaces/missing"), 404)
    equal(api.json, None)
    api.fails("DELETE", "/namespaces/missing", None, 404, "NoSuchNamespaceException")
    api.fails("DELETE", "/namespaces/space+one", None, 409, "NamespaceNotEmptyException", "is not empty")
    changed = api.ok("POST", "/namespaces/space+one/properties", {"removals": ["owner", "none"], "updates": {"a": "1", "b": "2"}})
    equal((sorted(changed["updated"]), changed["removed"], changed["missing"]), (["a", "b"], ["owner"], ["none"]))
    api.fails("POST", "/namespaces/space+one/properties", {"removals": ["a"], "updates": {"a": "1"}}, 422, "UnprocessableEntityException", "a")
    api.fails("POST", "/namespaces/missing/properties", {"updates": {"a": "1"}}, 404, "NoSuchNamespaceException")
    equal(api.ok("GET", "/namespaces/space+one")["properties"], {"a": "1", "b": "2"})
    for scope in ("space+one%1Fa%2Fb%1Fc", "space+one%1Fa%2Fb", "space+one"):
        api.ok("DELETE", f"/namespaces/{scope}", status=204)


def test_pages():
    api = Api(lake.url("rest") + "/v1")
    scope, _ = fresh(api, name="t0")
    for i in range(1, 7):
        api.ok("POST", f"/namespaces/{scope}/tables", {"name": f"t{i}", "schema": SCHEMA})
        api.ok("POST", "/namespaces", {"namespace": [urllib.parse.unquote(scope), f"s{i}"]})
    seen, token, pages = [], "", 0
    while token is not None:
        page = api.ok("GET", f"/namespaces/{scope}/tables?pageSize=3&pageToken={token}")
        seen += [item["name"] for item in page["identifiers"]]
        token, pages = page["next-page-token"], pages + 1
    equal((seen, pages), ([f"t{i}" for i in range(7)], 3))
    equal(len(api.ok("GET", f"/namespaces/{scope}/tables?pageToken=")["identifiers"]), 7)
    check("next-page-token" not in api.ok("GET", f"/namespaces/{scope}/tables"), "a token for a client that knows no pages")
    first = api.ok("GET", f"/namespaces?parent={scope}&pageSize=4")
    rest = api.ok("GET", f"/namespaces?parent={scope}&pageSize=4&pageToken={first['next-page-token']}")
    equal([parts[1] for parts in first["namespaces"] + rest["namespaces"]], [f"s{i}" for i in range(1, 7)])
    api.fails("GET", f"/namespaces/{scope}/tables?pageToken=zz", None, 400, "BadRequestException", "pageToken")
    api.fails("GET", f"/namespaces/{scope}/tables?pageSize=0", None, 400, "BadRequestException", "pageSize")


def test_create_and_load():
    api = Api(lake.url("rest") + "/v1")
    scope, made = fresh(api, name="a b", properties={"format-version": "3", "k": "v"}, location=None, **{"write-order": None})
    metadata = made["metadata"]
    equal((metadata["format-version"], metadata["properties"]["k"], "format-version" in metadata["properties"]), (3, "v", False))
    equal([field["id"] for field in metadata["schemas"][0]["fields"]], [1, 2], "ids are not fresh")
    check(made["metadata-location"].startswith(metadata["location"] + "/metadata/00000-"), made["metadata-location"])
    for spelling in ("a+b", "a%20b"):
        loaded = api.ok("GET", f"/namespaces/{scope}/tables/{spelling}?snapshots=all")
        equal(loaded["metadata"]["table-uuid"], metadata["table-uuid"])
    tag = api.headers["ETag"]
    equal(api("GET", f"/namespaces/{scope}/tables/a+b", headers={"If-None-Match": tag}), 304)
    equal(api("GET", f"/namespaces/{scope}/tables/a+b?snapshots=refs", headers={"If-None-Match": tag}), 200)
    api.ok("POST", f"/namespaces/{scope}/tables/a+b", {"requirements": [], "updates": [{"action": "set-properties", "updates": {"x": "y"}}]})
    equal(api("GET", f"/namespaces/{scope}/tables/a+b", headers={"If-None-Match": tag}), 200)
    api.ok("HEAD", f"/namespaces/{scope}/tables/a+b", status=204)
    equal(api("HEAD", f"/namespaces/{scope}/tables/none"), 404)
    api.fails("GET", f"/namespaces/{scope}/tables/none", None, 404, "NoSuchTableException", "Table does not exist: ")
    api.fails("GET", "/namespaces/missing/tables/none", None, 404, "NoSuchTableException")
    api.fails("GET", "/namespaces/missing/tables", None, 404, "NoSuchNamespaceException")
    api.fails("GET", f"/namespaces/{scope}/tables/a+b?snapshots=some", None, 400, "BadRequestException", "snapshots")
    create = {"name": "a b", "schema": SCHEMA}
    api.fails("POST", f"/namespaces/{scope}/tables", create, 409, "AlreadyExistsException", "Table already exists: ")
    api.fails("POST", "/namespaces/missing/tables", create, 404, "NoSuchNamespaceException", "Namespace does not exist: missing")
    for bad in ({"name": "x"}, {"schema": SCHEMA}, {"name": 3, "schema": SCHEMA}, {"name": "", "schema": SCHEMA}, {"name": "x", "schema": {"type": "struct"}}):
        check(api("POST", f"/namespaces/{scope}/tables", bad) == 400, f"{bad}: {api.status} {api.json}")
    api.fails("POST", f"/namespaces/{scope}/tables", b"{nonsense", 400, "BadRequestException", "Malformed request")
    api.fails("POST", f"/namespaces/{scope}/tables", b"", 400, "BadRequestException")
    for location in ("s3://warehouse/" + "x" * 1100, "s3://warehouse/a\u0000b", "s3://no-such-bucket/x", "s3:///x", "s3://"):
        check(400 <= api("POST", f"/namespaces/{scope}/tables", {"name": "x", "schema": SCHEMA, "location": location}) < 500, f"{location[:40]}: {api.status} {api.json}")
    for location in ("file:/etc/nilas", "/etc/nilas", "hdfs://x/y", "s3://" + str(uuid.uuid4()) + "--table-s3/x"):
        check(api("POST", f"/namespaces/{scope}/tables", {"name": "x", "schema": SCHEMA, "location": location}) in (400, 406), f"{location}: {api.status} {api.json}")
    api.fails("POST", f"/namespaces/{scope}/tables", {"name": "x", "schema": SCHEMA, "properties": {"format-version": "9"}}, 400, "IllegalArgumentException", "format version")


def test_commits_and_their_requirements():
    api = Api(lake.url("rest") + "/v1")
    scope, made = fresh(api)
    path = f"/namespaces/{scope}/tables/t"
    one = snapshot(made["metadata"])
    first = api.ok("POST", path, append(made["metadata"], one))
    equal((first["metadata"]["current-snapshot-id"], first["metadata"]["last-sequence-number"]), (one["snapshot-id"], 1))
    equal(first["metadata"]["metadata-log"][-1]["metadata-file"], made["metadata-location"])
    check(first["metadata-location"].split("/")[-1].startswith("00001-"), first["metadata-location"])
    error = api.fails("POST", path, append(made["metadata"], snapshot(made["metadata"])), 409, "CommitFailedException", "Requirement failed: branch main was created concurrently")
    two = snapshot(first["metadata"], one["snapshot-id"])
    second = api.ok("POST", path, append(first["metadata"], two))
    api.fails("POST", path, append(first["metadata"], snapshot(first["metadata"], one["snapshot-id"])), 409, "CommitFailedException",
              f"Requirement failed: branch main has changed: expected id {one['snapshot-id']} != {two['snapshot-id']}")
    stale = append(second["metadata"], snapshot(first["metadata"], two["snapshot-id"]))
    api.fails("POST", path, stale, 409, "CommitFailedException", "sequence number 2 older than last sequence number 2")
    for requirement, message in (
            ({"type": "assert-create"}, "Requirement failed: table already exists"),
            ({"type": "assert-table-uuid", "uuid": str(uuid.UUID(int=1))}, "Requirement failed: UUID does not match: expected "),
            ({"type": "assert-ref-snapshot-id", "ref": "none", "snapshot-id": 3}, "Requirement failed: branch or tag none is missing, expected 3"),
            ({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 9}, "Requirement failed: last assigned field id changed: expected id 9 != 2"),
            ({"type": "assert-current-schema-id", "current-schema-id": 4}, "Requirement failed: current schema changed: expected id 4 != 0"),
            ({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 4}, "Requirement failed: last assigned partition id changed: expected id 4 != 999"),
            ({"type": "assert-default-spec-id", "default-spec-id": 4}, "Requirement failed: default partition spec changed: expected id 4 != 0"),
            ({"type": "assert-default-sort-order-id", "default-sort-order-id": 4}, "Requirement failed: default sort order changed: expected id 4 != 0")):
        api.fails("POST", path, {"requirements": [requirement], "updates": [{"action": "set-properties", "updates": {"bad": "1"}}]}, 409, "CommitFailedException", message)
    api.fails("POST", path, {"requirements": [{"type": "assert-luck"}], "updates": []}, 400, "IllegalArgumentException", "assert-luck")
    api.fails("POST", path, {"requirements": [], "updates": [{"action": "make-coffee"}]}, 400, "IllegalArgumentException", "make-coffee")
    api.fails("POST", path, {"requirements": [], "updates": [{"action": "set-snapshot-ref", "ref-name": "b", "type": "branch", "snapshot-id": 1}]}, 400, "ValidationException")
    api.fails("POST", path, {"identifier": {"namespace": ["x"], "name": "t"}, "requirements": [], "updates": []}, 400, "BadRequestException")
    api.fails("POST", f"/namespaces/{scope}/tables/none", {"requirements": [], "updates": []}, 404, "NoSuchTableException")
    check(api("POST", path, {"requirements": [], "updates": [{"action": "set-location", "location": "file:/etc/x"}]}) == 400, f"{api.status} {api.json}")
    check(api("POST", path, {"requirements": [], "updates": [{"action": "set-properties", "updates": {"write.metadata.path": "file:/etc/x"}}]}) == 400, f"{api.status} {api.json}")
    equal(api.ok("POST", path, {"requirements": [], "updates": []})["metadata-location"], second["metadata-location"], "nothing changed, yet a new file")
    refs = api.ok("GET", path + "?snapshots=refs")["metadata"]
    equal([item["snapshot-id"] for item in refs["snapshots"]], [two["snapshot-id"]])
    equal(len(api.ok("GET", path)["metadata"]["snapshots"]), 2)
    equal(error["code"], 409)


def test_staged_creation():
    for api, kind in ((Api(lake.url("rest") + "/v1"), "plain"), (Api(lake.url("s3tables") + "/iceberg/v1/" + urllib.parse.quote(ARN, safe="")), "bucket")):
        scope, _ = fresh(api, name="other")
        staged = api.ok("POST", f"/namespaces/{scope}/tables", {"name": "staged", "schema": SCHEMA, "stage-create": True})
        check("metadata-location" not in staged, "a staged table has a file")
        equal(api("HEAD", f"/namespaces/{scope}/tables/staged"), 404)
        metadata = staged["metadata"]
        commit = {"requirements": [{"type": "assert-create"}], "updates": [
            {"action": "assign-uuid", "uuid": metadata["table-uuid"]}, {"action": "upgrade-format-version", "format-version": 2},
            {"action": "add-schema", "schema": metadata["schemas"][0]}, {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": metadata["partition-specs"][0]}, {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]}, {"action": "set-default-sort-order", "sort-order-id": -1},
            {"action": "set-location", "location": metadata["location"]}, {"action": "set-properties", "updates": metadata["properties"]}]}
        done = api.ok("POST", f"/namespaces/{scope}/tables/staged", commit)
        equal((done["metadata"]["table-uuid"], done["metadata"]["location"]), (metadata["table-uuid"], metadata["location"]))
        api.fails("POST", f"/namespaces/{scope}/tables/staged", commit, 409, "CommitFailedException", "Requirement failed: table already exists")
        if kind == "bucket":
            api.fails("POST", f"/namespaces/{scope}/tables/thief", commit, 400, "IllegalArgumentException", "was not made for this table")


def test_transactions():
    api = Api(lake.url("rest") + "/v1")
    scope, one = fresh(api, name="one")
    api.ok("POST", f"/namespaces/{scope}/tables", {"name": "two", "schema": SCHEMA})
    namespace = [urllib.parse.unquote(scope)]

    def change(name, requirement, value):
        return {"identifier": {"namespace": namespace, "name": name}, "requirements": requirement, "updates": [{"action": "set-properties", "updates": {"v": value}}]}

    def values():
        return [api.ok("GET", f"/namespaces/{scope}/tables/{name}")["metadata"]["properties"].get("v") for name in ("one", "two")]

    api.ok("POST", "/transactions/commit", {"table-changes": [change("one", [], "1"), change("two", [], "1")]}, status=204)
    equal(values(), ["1", "1"])
    bad = [{"type": "assert-current-schema-id", "current-schema-id": 5}]
    api.fails("POST", "/transactions/commit", {"table-changes": [change("one", [], "2"), change("two", bad, "2")]}, 409, "CommitFailedException", "current schema changed")
    api.fails("POST", "/transactions/commit", {"table-changes": [change("one", [], "2"), change("none", [], "2")]}, 404, "NoSuchTableException")
    api.fails("POST", "/transactions/commit", {"table-changes": [change("one", [], "2"), change("one", [], "2")]}, 400, "BadRequestException", "twice")
    api.fails("POST", "/transactions/commit", {"table-changes": []}, 400, "BadRequestException")
    equal(values(), ["1", "1"])
    check(one["metadata"]["table-uuid"], "no uuid")


def test_rename_register_drop():
    api = Api(lake.url("rest") + "/v1")
    scope, made = fresh(api)
    other, _ = fresh(api, name="taken")
    namespace, target = [urllib.parse.unquote(scope)], [urllib.parse.unquote(other)]

    def rename(source, destination):
        return {"source": {"namespace": namespace, "name": source}, "destination": destination}

    api.fails("POST", "/tables/rename", rename("none", {"namespace": target, "name": "x"}), 404, "NoSuchTableException")
    api.fails("POST", "/tables/rename", rename("t", {"namespace": target, "name": "taken"}), 409, "AlreadyExistsException")
    api.fails("POST", "/tables/rename", rename("t", {"namespace": ["missing"], "name": "x"}), 404, "NoSuchNamespaceException")
    api.ok("POST", "/tables/rename", rename("t", {"namespace": target, "name": "moved"}), status=204)
    equal(api.ok("GET", f"/namespaces/{other}/tables/moved")["metadata-location"], made["metadata-location"])
    api.ok("DELETE", f"/namespaces/{other}/tables/moved?purgeRequested=false", status=204)
    api.fails("DELETE", f"/namespaces/{other}/tables/moved", None, 404, "NoSuchTableException")
    register = {"name": "back", "metadata-location": made["metadata-location"]}
    equal(api.ok("POST", f"/namespaces/{scope}/register", register)["metadata"]["table-uuid"], made["metadata"]["table-uuid"])
    api.fails("POST", f"/namespaces/{scope}/register", register, 409, "AlreadyExistsException")
    changed = api.ok("POST", f"/namespaces/{scope}/tables/back", {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]})
    check(changed["metadata-location"] != made["metadata-location"], "the same file")
    equal(api.ok("POST", f"/namespaces/{scope}/register", {**register, "overwrite": True})["metadata-location"], made["metadata-location"])
    api.fails("POST", f"/namespaces/{scope}/register", {"name": "no", "metadata-location": made["metadata-location"] + "x"}, 404, "NotFoundException")
    api.fails("POST", f"/namespaces/{scope}/register", {"name": "no", "metadata-location": "file:/etc/passwd"}, 400, "IllegalArgumentException")
    api.ok("POST", f"/namespaces/{scope}/tables/back", {"requirements": [], "updates": [{"action": "set-properties", "updates": {"gc.enabled": "false"}}]})
    api.fails("DELETE", f"/namespaces/{scope}/tables/back?purgeRequested=true", None, 400, "ValidationException", "GC is disabled")
    api.ok("POST", f"/namespaces/{scope}/tables/back", {"requirements": [], "updates": [{"action": "remove-properties", "removals": ["gc.enabled"]}]})
    api.ok("DELETE", f"/namespaces/{scope}/tables/back?purgeRequested=true", status=204)
    api.fails("POST", f"/namespaces/{scope}/register", register, 404, "NotFoundException")


def test_requests_that_come_again():
    """Under one Idempotency-Key a change happens once, and its answer comes again."""
    api = Api(lake.url("rest") + "/v1")
    equal(api.ok("GET", "/config")["idempotency-key-lifetime"], "PT30M")
    namespace = "again_" + uuid.uuid4().hex[:8]

    def key():
        return {"Idempotency-Key": str(uuid.uuid4())}

    def twice(method, path, body, status=200):
        header = key()
        first = api.ok(method, path, body, header, status)
        equal(api.ok(method, path, body, header, status), first, f"{method} {path}")
        if body is not None:
            api.fails(method, path, {**body, "more": 1}, 422, "UnprocessableEntityException", headers=header)
        return first

    twice("POST", "/namespaces", {"namespace": [namespace]})
    made = twice("POST", f"/namespaces/{namespace}/tables", {"name": "t", "schema": SCHEMA})
    path = f"/namespaces/{namespace}/tables/t"
    one = snapshot(made["metadata"])
    committed = twice("POST", path, append(made["metadata"], one))
    two = snapshot(committed["metadata"], one["snapshot-id"])
    header = key()
    api.ok("POST", path, append(committed["metadata"], two), header)
    api.ok("POST", path, {"requirements": [], "updates": [{"action": "set-properties", "updates": {"later": "1"}}]})
    again = api.ok("POST", path, append(committed["metadata"], two), header)
    equal((again["metadata"]["current-snapshot-id"], "later" in again["metadata"]["properties"]), (two["snapshot-id"], False), "the answer of then")
    equal(len(api.ok("GET", path)["metadata"]["snapshots"]), 2)
    stale = append(made["metadata"], snapshot(made["metadata"]))
    header = key()
    api.fails("POST", path, stale, 409, "CommitFailedException", headers=header)
    api.fails("POST", path, stale, 409, "CommitFailedException", headers=header)
    change = {"identifier": {"namespace": [namespace], "name": "t"}, "requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": two["snapshot-id"]}],
              "updates": [{"action": "add-snapshot", "snapshot": snapshot(again["metadata"], two["snapshot-id"])}]}
    change["updates"].append({"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": change["updates"][0]["snapshot"]["snapshot-id"]})
    twice("POST", "/transactions/commit", {"table-changes": [change]}, 204)
    twice("DELETE", path, None, 204)
    api.fails("DELETE", path, None, 400, "BadRequestException", headers={"Idempotency-Key": "x" * 65})


def test_requests_that_come_again_at_once():
    """The same change from eight connections under one key: it happens once, and all hear the same."""
    from concurrent.futures import ThreadPoolExecutor
    prefix = lake.url("rest") + "/v1"
    api = Api(prefix)
    namespace = "atonce_" + uuid.uuid4().hex[:8]

    with ThreadPoolExecutor(8) as pool:
        def all_at_once(method, path, body, status=200):
            header = {"Idempotency-Key": str(uuid.uuid4())}
            answers = list(pool.map(lambda _: Api(prefix).ok(method, path, body, header, status), range(8)))
            for answer in answers:
                equal(answer, answers[0], f"{method} {path}")
            return answers[0]

        for turn in range(5):
            scope = f"{namespace}_{turn}"
            all_at_once("POST", "/namespaces", {"namespace": [scope], "properties": {"a": "1", "b": "2"}})
            changed = all_at_once("POST", f"/namespaces/{scope}/properties", {"removals": ["a", "x"], "updates": {"c": "3"}})
            equal((changed["removed"], changed["missing"], changed["updated"]), (["a"], ["x"], ["c"]))
            equal(api.ok("GET", f"/namespaces/{scope}")["properties"], {"b": "2", "c": "3"})
            made = all_at_once("POST", f"/namespaces/{scope}/tables", {"name": "t", "schema": SCHEMA})
            path = f"/namespaces/{scope}/tables/t"
            all_at_once("POST", path, append(made["metadata"], snapshot(made["metadata"])))
            equal(len(api.ok("GET", path)["metadata"]["snapshots"]), 1)
            all_at_once("POST", "/tables/rename", {"source": {"namespace": [scope], "name": "t"}, "destination": {"namespace": [scope], "name": "u"}}, 204)
            all_at_once("POST", f"/namespaces/{scope}/register", {"name": "v", "metadata-location": made["metadata-location"]})
            version = {"version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "default-namespace": [scope], "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}]}
            view = all_at_once("POST", f"/namespaces/{scope}/views", {"name": "w", "schema": SCHEMA, "view-version": version, "properties": {}})
            replaced = all_at_once("POST", f"/namespaces/{scope}/views/w", {"requirements": [{"type": "assert-view-uuid", "uuid": view["metadata"]["view-uuid"]}], "updates": [{"action": "set-properties", "updates": {"k": "1"}}]})
            check(replaced["metadata-location"] != view["metadata-location"], "the view was replaced")
            all_at_once("POST", "/views/rename", {"source": {"namespace": [scope], "name": "w"}, "destination": {"namespace": [scope], "name": "y"}}, 204)
            all_at_once("DELETE", f"/namespaces/{scope}/views/y", None, 204)
            all_at_once("DELETE", f"/namespaces/{scope}/tables/u?purgeRequested=true", None, 204)
            all_at_once("DELETE", f"/namespaces/{scope}/tables/v", None, 204)
            all_at_once("DELETE", f"/namespaces/{scope}", None, 204)
            api.fails("GET", f"/namespaces/{scope}", None, 404, "NoSuchNamespaceException")


def test_metadata_that_names_files_elsewhere():
    """A client may commit any path; nothing outside the warehouse is read or deleted for it."""
    import os
    import tempfile
    api = Api(lake.url("rest") + "/v1/local")
    scope, made = fresh(api)
    path = f"/namespaces/{scope}/tables/t"
    with tempfile.NamedTemporaryFile(suffix=".avro") as outside:
        outside.write(b"precious")
        outside.flush()
        snap = snapshot(made["metadata"], **{"manifest-list": "file:" + outside.name})
        committed = append(made["metadata"], snap)
        committed["updates"].append({"action": "set-statistics", "statistics": {"snapshot-id": snap["snapshot-id"], "statistics-path": outside.name, "file-size-in-bytes": 8,
                                                                                "file-footer-size-in-bytes": 4, "blob-metadata": []}})
        api.ok("POST", path, committed)
        api.fails("POST", path + "/plan", {}, 400, "IllegalArgumentException", "is not below the warehouse")
        api("DELETE", path + "?purgeRequested=true")
        check(os.path.exists(outside.name), f"a file outside the warehouse was deleted: {api.status} {api.json}")


def test_metrics_credentials_tokens():
    api = Api(lake.url("rest") + "/v1")
    scope, made = fresh(api)
    path = f"/namespaces/{scope}/tables/t"
    api.ok("POST", path + "/metrics", {"report-type": "scan-report", "table-name": "x"}, status=204)
    api.ok("POST", path + "/metrics", {"report-type": "commit-report"}, status=204)
    api.fails("POST", path + "/metrics", {"report-type": "gossip"}, 400, "BadRequestException")
    api.fails("POST", path + "x/metrics", {"report-type": "commit-report"}, 404, "NoSuchTableException")
    equal(api.ok("GET", path)["config"], {}, "keys that nobody asked for")
    if "s3" in lake.ports:
        vended = api.ok("GET", path, headers={"X-Iceberg-Access-Delegation": "vended-credentials"})
        equal((vended["config"]["s3.endpoint"], vended["config"]["s3.access-key-id"]), (lake.url("s3"), "nilas"))
        equal(vended["storage-credentials"][0]["prefix"], made["metadata"]["location"])
        equal(api.ok("GET", path + "/credentials")["storage-credentials"], vended["storage-credentials"])
        uri = lake.url("s3") + made["metadata-location"][4:]
        signed = api.ok("POST", path + "/sign", {"region": "us-east-1", "uri": uri, "method": "GET", "headers": {"Host": [uri.split("/")[2]]}})
        request = urllib.request.Request(signed["uri"], headers={key: value[0] for key, value in signed["headers"].items()})
        equal(json.load(urllib.request.urlopen(request))["table-uuid"], made["metadata"]["table-uuid"], "signed GET")
        api.fails("POST", path + "/sign", {"region": "us-east-1", "uri": lake.url("s3") + "/warehouse/other", "method": "GET", "headers": {}}, 403, "ForbiddenException")
    form = urllib.parse.urlencode({"grant_type": "client_credentials", "client_id": "nilas", "client_secret": "nilas"}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    token = api.ok("POST", "/oauth/tokens", form, headers)
    equal((token["token_type"], token["issued_token_type"]), ("bearer", "urn:ietf:params:oauth:token-type:access_token"))
    equal(api("POST", "/oauth/tokens", b"grant_type=password", headers), 400)
    equal(api.json["error"], "unsupported_grant_type")


def test_views():
    api = Api(lake.url("rest") + "/v1")
    scope, _ = fresh(api)
    version = {"version-id": 1, "schema-id": 0, "timestamp-ms": 1700000000000, "summary": {"engine-name": "x"}, "default-namespace": ["n"],
               "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}]}
    create = {"name": "v", "schema": SCHEMA, "view-version": version, "properties": {"comment": "c"}}
    made = api.ok("POST", f"/namespaces/{scope}/views", create)
    equal((made["metadata"]["current-version-id"], made["metadata"]["format-version"], made["metadata"]["properties"]), (1, 1, {"comment": "c"}))
    api.fails("POST", f"/namespaces/{scope}/views", create, 409, "AlreadyExistsException", "View already exists: ")
    api.fails("POST", f"/namespaces/{scope}/views", {**create, "name": "t"}, 409, "AlreadyExistsException", "Table with same name already exists: ")
    api.fails("POST", f"/namespaces/{scope}/tables", {"name": "v", "schema": SCHEMA}, 409, "AlreadyExistsException", "View with same name already exists: ")
    equal([item["name"] for item in api.ok("GET", f"/namespaces/{scope}/views")["identifiers"]], ["v"])
    equal([item["name"] for item in api.ok("GET", f"/namespaces/{scope}/tables")["identifiers"]], ["t"])
    api.fails("GET", f"/namespaces/{scope}/tables/v", None, 404, "NoSuchTableException")
    api.fails("GET", f"/namespaces/{scope}/views/t", None, 404, "NoSuchViewException", "View does not exist: ")
    api.ok("HEAD", f"/namespaces/{scope}/views/v", status=204)
    replace = {"requirements": [{"type": "assert-view-uuid", "uuid": made["metadata"]["view-uuid"]}], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    equal(api.ok("POST", f"/namespaces/{scope}/views/v", replace)["metadata"]["properties"], {"comment": "c", "a": "b"})
    replace["requirements"][0]["uuid"] = str(uuid.UUID(int=3))
    api.fails("POST", f"/namespaces/{scope}/views/v", replace, 409, "CommitFailedException", "view UUID does not match")
    namespace = [urllib.parse.unquote(scope)]
    api.ok("POST", "/views/rename", {"source": {"namespace": namespace, "name": "v"}, "destination": {"namespace": namespace, "name": "w"}}, status=204)
    api.ok("POST", f"/namespaces/{scope}/register-view", {"name": "again", "metadata-location": made["metadata-location"]})
    api.ok("DELETE", f"/namespaces/{scope}/views/w", status=204)
    api.fails("DELETE", f"/namespaces/{scope}/views/w", None, 404, "NoSuchViewException")
    api.fails("POST", "/views/rename", {"source": {"namespace": namespace, "name": "w"}, "destination": {"namespace": namespace, "name": "x"}}, 404, "NoSuchViewException")


def test_table_buckets_over_rest():
    encoded = urllib.parse.quote(ARN, safe="")
    for prefix in (encoded, ARN.replace(":", "%3A"), ARN):
        api = Api(lake.url("s3tables") + "/iceberg/v1/" + prefix)
        scope, made = fresh(api)
        check("--table-s3" in made["metadata"]["location"], made["metadata"]["location"])
        equal(api.ok("GET", f"/namespaces/{scope}/tables")["identifiers"], [{"namespace": [scope], "name": "t"}])
    api.fails("POST", "/namespaces", {"namespace": ["a", "b"]}, 400, "BadRequestException", "one level")
    api.fails("POST", "/namespaces", {"namespace": ["Upper"]}, 400, "BadRequestException")
    api.fails("POST", f"/namespaces/{scope}/tables", {"name": "No-dash", "schema": SCHEMA}, 400, "BadRequestException")
    api.fails("GET", f"/namespaces/{scope}/views", None, 406, "UnsupportedOperationException")
    api.fails("POST", f"/namespaces/{scope}/tables/t", {"requirements": [], "updates": [{"action": "set-location", "location": "s3://warehouse/x"}]}, 400, "BadRequestException")
    Api(lake.url("s3tables") + "/iceberg/v1").fails("GET", "/namespaces", None, 400, "BadRequestException")
    client = lake.client("s3tables")
    before = client.get_table_metadata_location(tableBucketARN=ARN, namespace=scope, name="t")
    equal(before["metadataLocation"], made["metadata-location"])
    changed = api.ok("POST", f"/namespaces/{scope}/tables/t", {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]})
    after = client.get_table_metadata_location(tableBucketARN=ARN, namespace=scope, name="t")
    equal((after["metadataLocation"], after["versionToken"] != before["versionToken"]), (changed["metadata-location"], True))
    client.update_table_metadata_location(tableBucketARN=ARN, namespace=scope, name="t", versionToken=after["versionToken"], metadataLocation=before["metadataLocation"])
    check("a" not in api.ok("GET", f"/namespaces/{scope}/tables/t")["metadata"]["properties"], "the pointer of the other API is not seen")
    api.ok("DELETE", f"/namespaces/{scope}/tables/t", status=204)


def signed_headers(method, url, body=b"", secret="nilas", key="nilas", service="s3tables"):
    import botocore.auth
    import botocore.awsrequest
    import botocore.credentials
    request = botocore.awsrequest.AWSRequest(method=method, url=url, data=body, headers={"host": urllib.parse.urlsplit(url).netloc})
    botocore.auth.SigV4Auth(botocore.credentials.Credentials(key, secret), service, "us-east-1").add_auth(request)
    return {name: value for name, value in request.headers.items() if name.lower() != "host"}


def test_locations_that_are_not_the_client_s_to_choose():
    """A table bucket places its tables itself; no namespace leads out of the warehouse to this machine's files."""
    bucket = Api(lake.url("s3tables") + "/iceberg/v1/" + urllib.parse.quote(ARN, safe=""))
    scope = "placed_" + uuid.uuid4().hex[:8]
    bucket.ok("POST", "/namespaces", {"namespace": [scope]})
    own = bucket.ok("POST", f"/namespaces/{scope}/tables", {"name": "t", "schema": SCHEMA})["metadata"]["location"]
    for location in ("s3://warehouse/x", "file:/tmp/x", own, own + "/x", "x"):
        for staged in (False, True):
            bucket.fails("POST", f"/namespaces/{scope}/tables", {"name": "u", "schema": SCHEMA, "location": location, "stage-create": staged}, 400, "BadRequestException", "cannot be chosen")
        bucket.fails("POST", "/namespaces", {"namespace": [scope + "x"], "properties": {"location": location}}, 400, "IllegalArgumentException", "no location")
        bucket.fails("POST", f"/namespaces/{scope}/properties", {"updates": {"location": location}}, 400, "IllegalArgumentException", "no location")
    bucket.ok("POST", f"/namespaces/{scope}/tables", {"name": "u", "schema": SCHEMA, "location": None})
    api = Api(lake.url("rest") + "/v1")
    api.ok("POST", "/namespaces", {"namespace": [scope]})
    glue = lake.client("glue")
    athena = lake.client("athena")

    def in_athena(statement):
        execution = athena.start_query_execution(QueryString=statement, ResultConfiguration={"OutputLocation": "s3://warehouse/results/"})["QueryExecutionId"]
        while (status := athena.get_query_execution(QueryExecutionId=execution)["QueryExecution"]["Status"])["State"] in ("QUEUED", "RUNNING"):
            pass
        return status["State"], status.get("StateChangeReason", "")

    for location in ("file:/etc", "/etc", "file:///tmp/x", "file:/"):
        api.fails("POST", "/namespaces", {"namespace": [scope + "x"], "properties": {"location": location}}, 400, "IllegalArgumentException", "not below the warehouse")
        api.fails("POST", f"/namespaces/{scope}/properties", {"updates": {"location": location}}, 400, "IllegalArgumentException", "not below the warehouse")
        for change in (lambda: glue.create_database(DatabaseInput={"Name": scope, "LocationUri": location}), lambda: glue.create_database(DatabaseInput={"Name": scope, "Parameters": {"location": location}}),
                       lambda: glue.update_database(Name="default", DatabaseInput={"Name": "default", "LocationUri": location})):
            try:
                change()
                check(False, f"Glue takes {location}")
            except glue.exceptions.InvalidInputException as problem:
                check("not below the warehouse" in str(problem), problem)
        state, reason = in_athena(f"CREATE DATABASE {scope} LOCATION '{location}'")
        check(state == "FAILED" and "not below the warehouse" in reason, f"Athena: {location}: {state} {reason}")
    glue.create_database(DatabaseInput={"Name": scope, "LocationUri": "s3://warehouse/" + scope})
    state, reason = in_athena(f"CREATE DATABASE {scope}_2 LOCATION 's3://warehouse/{scope}'")
    equal((state, reason), ("SUCCEEDED", ""))
    state, reason = in_athena(f'CREATE TABLE "s3tablescatalog/{ARN.split("/")[-1]}"."{scope}"."v" (a int) LOCATION \'s3://warehouse/y\' TBLPROPERTIES (\'table_type\' = \'iceberg\')')
    check(state == "FAILED", f"Athena places a table of a table bucket: {state} {reason}")


def test_signatures():
    base = lake.url("s3tables") + "/iceberg/v1"
    encoded = urllib.parse.quote(ARN, safe="")
    for path in (f"/config?warehouse={encoded}", f"/{encoded}/namespaces"):
        api = Api(base)
        api.ok("GET", path, headers=signed_headers("GET", base + path))
        api.fails("GET", path, None, 403, "ForbiddenException", "signature", headers=signed_headers("GET", base + path, secret="wrong"))
        api.ok("GET", path, headers=signed_headers("GET", base + path, key="other", secret="unknown"))
        api.ok("GET", path)
    body = json.dumps({"namespace": ["signed"]}).encode()
    headers = signed_headers("POST", base + f"/{encoded}/namespaces", body)
    api.fails("POST", f"/{encoded}/namespaces", body + b" ", 403, "ForbiddenException", "signature", headers=headers)
    api.ok("POST", f"/{encoded}/namespaces", body, headers=headers)


def test_signatures_are_for_the_service_that_is_asked():
    """As at AWS: a signature of the known key for s3 opens nothing but s3."""
    names = ("s3", "s3tables", "glue", "athena", "execute-api")
    for service, path, right in (("s3tables", "/iceberg/v1/config?warehouse=" + urllib.parse.quote(ARN, safe=""), {"s3tables"}), ("s3tables", "/buckets", {"s3tables"}),
                                 ("glue", "/", {"glue"}), ("athena", "/", {"athena"}), ("s3", "/", {"s3"}), ("rest", "/v1/config", set(names))):
        method = "POST" if path == "/" and service != "s3" else "GET"
        for name in names:
            headers = signed_headers(method, lake.url(service) + path, b"", service=name)
            request = urllib.request.Request(lake.url(service) + path, method=method, headers=headers)
            try:
                with urllib.request.urlopen(request) as reply:
                    text = reply.read().decode()
            except urllib.error.HTTPError as problem:
                text = problem.read().decode()
            is_refused = "correct service" in text or "incorrect service" in text
            equal(is_refused, name not in right, f"{service} {path} signed for {name}: {text[:200]}")


def test_strict_mode():
    with Lakehouse("--strict", "--access-key", "me", "--secret-key", "secret", "--no-configure") as strict:
        api = Api(strict.url("rest") + "/v1")
        api.fails("GET", "/config", None, 401, "NotAuthorizedException")
        api.fails("GET", "/config", None, 401, "NotAuthorizedException", headers={"Authorization": "Bearer nilas.99999999999.00"})
        url = strict.url("rest") + "/v1/config"
        api.ok("GET", "/config", headers=signed_headers("GET", url, key="me", secret="secret", service="execute-api"))
        api.fails("GET", "/config", None, 403, "ForbiddenException", headers=signed_headers("GET", url, key="you", secret="secret"))
        form = {"grant_type": "client_credentials", "client_id": "me", "client_secret": "wrong"}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        equal(api("POST", "/oauth/tokens", urllib.parse.urlencode(form).encode(), headers), 401)
        equal(api.json["error"], "invalid_client")
        form["client_secret"] = "secret"
        token = api.ok("POST", "/oauth/tokens", urllib.parse.urlencode(form).encode(), headers)["access_token"]
        api.ok("GET", "/config", headers={"Authorization": f"Bearer {token}"})
        api.fails("GET", "/config", None, 401, "NotAuthorizedException", headers={"Authorization": f"Bearer {token[:-1]}x"})


def test_hostile_requests():
    api = Api(lake.url("rest") + "/v1")
    for path in ("/namespaces/%", "/namespaces/%zz", "/namespaces/%1F", "/namespaces/a%00b", "/namespaces/" + "x" * 5000, "/" + "/".join("abcdefghijklmnopqrstuvwxyz"),
                 "/namespaces/a/tables/%2e%2e%2f%2e%2e%2fetc", "/namespaces//tables/", "/namespaces/%ff%fe/tables/t"):
        check(api("GET", path) in (400, 404), f"{path[:60]}: {api.status}")
    deep = b"[" * 100000
    for body in (deep, b'{"namespace":' + deep, b"\xff\xfe", b"null", b"[]", b'"x"', b'{"namespace":["a\\u0000b"]}', b'{"namespace":["a"],"namespace":["b"],"properties":3}'):
        check(400 <= api("POST", "/namespaces", body) < 500, f"{body[:40]}: {api.status}")
    check(api("POST", "/namespaces", b" " * (17 << 20)) in (400, 413), f"too long: {api.status}")
    api.ok("GET", "/config")


def rows(number):
    import pyarrow
    return pyarrow.table({"id": pyarrow.array([number], pyarrow.int64()), "data": pyarrow.array([f"row {number}"])})


def pyiceberg(name, **more):
    from pyiceberg.catalog import load_catalog
    access = {"s3.endpoint": lake.url("s3"), "s3.access-key-id": "nilas", "s3.secret-access-key": "nilas", "s3.region": "us-east-1"} if "s3" in lake.ports else {}
    return load_catalog(name, **{"type": "rest", **access, **more})


def use(catalog, namespace):
    """A table made, written, evolved, read, renamed, dropped."""
    import pyarrow
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField, StringType
    catalog.create_namespace(namespace)
    table = catalog.create_table((namespace, "t"), Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "data", StringType(), required=False)))
    for number in range(3):
        table.append(rows(number))
    with table.transaction() as transaction:
        transaction.set_properties(color="red")
        with transaction.update_schema() as update:
            update.add_column("extra", LongType())
    table = catalog.load_table((namespace, "t"))
    equal((sorted(table.scan().to_arrow()["id"].to_pylist()), table.properties["color"], len(table.schema().fields)), ([0, 1, 2], "red", 3))
    table.delete("id = 1")
    equal(sorted(catalog.load_table((namespace, "t")).scan().to_arrow()["id"].to_pylist()), [0, 2])
    table.overwrite(pyarrow.table({"id": pyarrow.array([9], pyarrow.int64()), "data": ["x"], "extra": pyarrow.array([1], pyarrow.int64())}))
    equal(catalog.load_table((namespace, "t")).scan(snapshot_id=table.history()[1].snapshot_id).to_arrow().num_rows, 2, "time travel")
    catalog.rename_table((namespace, "t"), (namespace, "u"))
    equal(catalog.list_tables(namespace), [(namespace, "u")])
    equal((catalog.table_exists((namespace, "u")), catalog.table_exists((namespace, "t"))), (True, False))
    catalog.drop_table((namespace, "u"))
    catalog.drop_namespace(namespace)
    equal((namespace,) in catalog.list_namespaces(), False)


def test_pyiceberg_on_local_files():
    use(pyiceberg("local", uri=lake.url("rest"), warehouse="local"), "py_local")


def test_pyiceberg_on_s3():
    use(pyiceberg("s3", uri=lake.url("rest"), warehouse="warehouse"), "py_s3")


def test_pyiceberg_on_a_table_bucket_with_sigv4():
    import os
    os.environ.update(AWS_ACCESS_KEY_ID="nilas", AWS_SECRET_ACCESS_KEY="nilas", AWS_REGION="us-east-1")
    signing = {"rest.sigv4-enabled": "true", "rest.signing-name": "s3tables", "rest.signing-region": "us-east-1"}
    use(pyiceberg("bucket", uri=lake.url("s3tables") + "/iceberg", warehouse=ARN, **signing), "py_sigv4")
    use(pyiceberg("unsigned", uri=lake.url("s3tables") + "/iceberg", warehouse=ARN), "py_unsigned")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        del os.environ[name]


def duckdb():
    """DuckDB with its extensions from PyPI."""
    import glob
    import importlib
    import os

    import duckdb as module
    db = module.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("httpfs", "avro", "iceberg"):
        folder = os.path.dirname(importlib.import_module(f"duckdb_extension_{name}").__file__)
        db.execute(f"LOAD '{glob.glob(folder + f'/extensions/*/{name}.duckdb_extension')[0]}'")
    return db


def test_duckdb_reads_and_writes():
    """Without keys of its own: they come with each table (vended credentials), endpoint and path style too."""
    db = duckdb()
    for catalog, warehouse, uri in (("plain", "warehouse", lake.url("rest")), ("bucket", ARN, lake.url("s3tables") + "/iceberg")):
        db.execute(f"ATTACH '{warehouse}' AS {catalog} (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
        namespace = "duck_" + uuid.uuid4().hex[:6]
        db.execute(f"CREATE SCHEMA {catalog}.{namespace}")
        db.execute(f"CREATE TABLE {catalog}.{namespace}.t (id BIGINT, s VARCHAR)")
        db.execute(f"INSERT INTO {catalog}.{namespace}.t SELECT i, 'row ' || i FROM range(1000) r(i)")
        db.execute(f"INSERT INTO {catalog}.{namespace}.t VALUES (5000, 'last')")
        equal(db.sql(f"SELECT count(*), sum(id), max(s) FROM {catalog}.{namespace}.t").fetchone(), (1001, sum(range(1000)) + 5000, "row 999"), catalog)
        table = pyiceberg(catalog, uri=uri, warehouse=warehouse).load_table((namespace, "t"))
        equal(table.scan(row_filter="id >= 998").to_arrow().sort_by("id")["s"].to_pylist(), ["row 998", "row 999", "last"])
        table.append(rows(7000).rename_columns(["id", "s"]))
        equal(db.sql(f"SELECT s FROM {catalog}.{namespace}.t WHERE id = 7000").fetchall(), [("row 7000",)])
        db.execute(f"DROP TABLE {catalog}.{namespace}.t")
        db.execute(f"DROP SCHEMA {catalog}.{namespace}")


def test_planned_scans():
    """PyIceberg plans at the server; raw requests for the rest of the filter language."""
    import pyarrow
    from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, In, IsNull, LessThan, Not, NotEqualTo, NotStartsWith, Or, StartsWith
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import LongType, NestedField, StringType
    namespace = "plan_" + uuid.uuid4().hex[:6]
    plain = pyiceberg("plain", uri=lake.url("rest"), warehouse="local")
    plain.create_namespace(namespace)
    schema = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "data", StringType(), required=False), NestedField(3, "part", StringType(), required=False))
    table = plain.create_table((namespace, "t"), schema, partition_spec=PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "part")))
    for first in range(0, 40, 10):
        table.append(pyarrow.table({"id": pyarrow.array(range(first, first + 10), pyarrow.int64()), "data": [f"row {i}" for i in range(first, first + 10)],
                                    "part": ["even" if i % 2 == 0 else "odd" for i in range(first, first + 10)]}))
    planned = pyiceberg("planned", uri=lake.url("rest"), warehouse="local", **{"rest-scan-planning-enabled": "true", "scan-planning-mode": "server"}).load_table((namespace, "t"))
    table = plain.load_table((namespace, "t"))
    for condition in (None, EqualTo("id", 3), GreaterThanOrEqual("id", 25), In("id", {1, 12, 39}), And(EqualTo("part", "odd"), LessThan("id", 12)), Or(EqualTo("id", 0), EqualTo("id", 39)),
                      Not(EqualTo("part", "odd")), NotEqualTo("part", "even"), StartsWith("data", "row 3"), NotStartsWith("data", "row 3"), IsNull("data")):
        arguments = {} if condition is None else {"row_filter": condition}
        expected, actual = table.scan(**arguments), planned.scan(**arguments)
        equal(sorted(actual.to_arrow()["id"].to_pylist()), sorted(expected.to_arrow()["id"].to_pylist()), str(condition))
        more = {task.file.file_path for task in actual.plan_files()} - {task.file.file_path for task in expected.plan_files()}
        check(not more, f"{condition}: files that PyIceberg itself leaves out: {more}")
    api = Api(lake.url("rest") + "/v1/local")
    path = f"/namespaces/{namespace}/tables/t"
    plan = api.ok("POST", path + "/plan", {"filter": {"type": "eq", "term": "part", "value": "odd"}})
    equal((plan["status"], len(plan["file-scan-tasks"]), plan["delete-files"]), ("completed", 4, []))
    task = plan["file-scan-tasks"][0]
    equal((task["data-file"]["content"], task["data-file"]["file-format"], task["data-file"]["partition"], "residual-filter" in task), ("data", "parquet", ["odd"], False))
    equal(len(api.ok("POST", path + "/plan", {"filter": {"type": "eq", "term": {"type": "transform", "transform": "bucket[4]", "term": "id"}, "value": 1}})["file-scan-tasks"]), 8)
    snapshots = api.ok("GET", path)["metadata"]["snapshots"]
    equal(len(api.ok("POST", path + "/plan", {"snapshot-id": snapshots[0]["snapshot-id"]})["file-scan-tasks"]), 2)
    later = {"start-snapshot-id": snapshots[0]["snapshot-id"], "end-snapshot-id": snapshots[2]["snapshot-id"]}
    equal(len(api.ok("POST", path + "/plan", later)["file-scan-tasks"]), 4)
    equal(len(api.ok("POST", path + "/plan", {"filter": False})["file-scan-tasks"]), 0)
    equal(len(api.ok("POST", path + "/plan", {"filter": {"type": "is-null", "term": "PART"}, "case-sensitive": False})["file-scan-tasks"]), 0)
    for bad in ({"filter": {"type": "eq", "term": "none", "value": 1}}, {"filter": {"type": "near", "term": "id", "value": 1}}, {"filter": {"type": "eq", "term": "id", "value": "x"}},
                {"filter": {"type": "in", "term": "id"}}, {"filter": 3}, {"snapshot-id": 1}, {"start-snapshot-id": snapshots[0]["snapshot-id"]}):
        check(api("POST", path + "/plan", bad) == 400, f"{bad}: {api.status} {api.json}")
    api.fails("GET", path + "/plan/x", None, 404, "NoSuchPlanIdException")
    api.ok("DELETE", path + "/plan/x", status=204)
    api.fails("POST", path + "/tasks", {"plan-task": "x"}, 404, "NoSuchPlanTaskException")


def test_eight_writers_lose_nothing(commits=50):
    """Each appends in its own connection, reloading after a conflict; every acknowledged snapshot is there once, in a line."""
    api = Api(lake.url("rest") + "/v1")
    scope, _ = fresh(api)
    path = f"/namespaces/{scope}/tables/t"
    acknowledged, lock = [], threading.Lock()

    def write(_):
        own = Api(api.base)
        for _ in range(commits):
            while True:
                own("GET", path + "?snapshots=refs")
                metadata = own.json["metadata"]
                snap = snapshot(metadata, metadata["refs"].get("main", {}).get("snapshot-id"))
                if own("POST", path, append(metadata, snap)) == 200:
                    break
                check(own.status == 409, f"{own.status}: {own.json}")
            with lock:
                acknowledged.append(snap["snapshot-id"])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    snapshots = api.ok("GET", path)["metadata"]["snapshots"]
    equal(sorted(item["snapshot-id"] for item in snapshots), sorted(acknowledged))
    equal([item.get("parent-snapshot-id") for item in snapshots[1:]], [item["snapshot-id"] for item in snapshots[:-1]], "no line")
    equal(len(acknowledged), 8 * commits)


ARN = "arn:aws:s3tables:us-east-1:123456789012:bucket/lakehouse"
if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory(prefix="nilas-rest-") as local, Lakehouse("--warehouse", f"local=file:{local}") as lake:
        lake.client("s3tables").create_table_bucket(name="lakehouse")
        support.run_tests(sys.modules[__name__])
