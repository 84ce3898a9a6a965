"""Commits over REST with the server killed at every step between the first byte and the answer: what was acknowledged is there once,
what was not is there wholly or not at all, and no metadata file is left that nothing names."""
import http.client
import json
import random
import sys
import urllib.parse

import support
from support import Lakehouse, check, equal

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}
POINTS = ("rest.metadata-written", "rest.swapped", "tables.metadata-written", "state.before-commit", "state.after-commit", "s3.put.indexed")


def request(lake, method, path, body=None):
    parts = urllib.parse.urlsplit(lake.url("rest"))
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.request(method, "/v1" + path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content) if content else None


def append(lake, path, metadata):
    """One append; its snapshot id, and whether the server said that it is there."""
    main = metadata["refs"].get("main", {}).get("snapshot-id")
    snapshot = {"snapshot-id": random.getrandbits(62), "sequence-number": metadata["last-sequence-number"] + 1, "timestamp-ms": metadata["last-updated-ms"] + 1,
                "manifest-list": metadata["location"] + "/metadata/l.avro", "summary": {"operation": "append"}, "schema-id": 0}
    if main is not None:
        snapshot["parent-snapshot-id"] = main
    body = {"requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": main}],
            "updates": [{"action": "add-snapshot", "snapshot": snapshot}, {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot["snapshot-id"]}]}
    try:
        status, _ = request(lake, "POST", path, body)
    except (ConnectionError, http.client.HTTPException, OSError):
        return snapshot["snapshot-id"], None
    return snapshot["snapshot-id"], status == 200


def transact(lake, namespace, value):
    changes = [{"identifier": {"namespace": [namespace], "name": name}, "requirements": [], "updates": [{"action": "set-properties", "updates": {"v": value}}]} for name in ("one", "two")]
    try:
        return request(lake, "POST", "/local/transactions/commit", {"table-changes": changes})[0] == 204
    except (ConnectionError, http.client.HTTPException, OSError):
        return None


def files_of(folder):
    import glob
    return {"file:" + path for path in glob.glob(f"{folder}/**/*.metadata.json", recursive=True)}


def named(metadata, location):
    return {location} | {entry["metadata-file"] for entry in metadata["metadata-log"]}


def run(point, pass_number, local):
    """Until the server dies at the point's n-th pass, then again without; True when it did die."""
    with Lakehouse("--warehouse", f"local=file:{local}", "--no-configure", "--no-maintenance") as lake:
        namespace = "n%08x" % random.getrandbits(32)
        for prefix in ("/warehouse", "/local"):
            equal(request(lake, "POST", prefix + "/namespaces", {"namespace": [namespace]})[0], 200)
            for name in ("one", "two"):
                equal(request(lake, "POST", f"{prefix}/namespaces/{namespace}/tables", {"name": name, "schema": SCHEMA})[0], 200)
        lake.stop()
        lake.environment["NILAS_CRASH"] = f"{point}:{pass_number}"
        try:
            lake.start()
        except RuntimeError:  # dead while it started: a step that start-up takes too
            del lake.environment["NILAS_CRASH"]
            lake.start()
            return True
        acknowledged, unknown = {"/warehouse": [], "/local": []}, {"/warehouse": [], "/local": []}
        told, tried, is_dead = None, None, False
        for step in range(60):
            for prefix in ("/warehouse", "/local"):
                path = f"{prefix}/namespaces/{namespace}/tables/one"
                try:
                    metadata = request(lake, "GET", path)[1]["metadata"]
                except (ConnectionError, http.client.HTTPException, OSError):
                    is_dead = True
                    break
                snapshot, is_there = append(lake, path, metadata)
                if is_there is None:
                    unknown[prefix].append(snapshot)
                    is_dead = True
                    break
                check(is_there, f"{point}: a commit was refused")
                acknowledged[prefix].append(snapshot)
            if is_dead:
                break
            tried = str(step)
            done = transact(lake, namespace, tried)
            if done is None:
                is_dead = True
                break
            told = tried
        lake.stop()
        del lake.environment["NILAS_CRASH"]
        lake.start()
        for prefix in ("/warehouse", "/local"):
            answer = request(lake, "GET", f"{prefix}/namespaces/{namespace}/tables/one")[1]
            there = [snapshot["snapshot-id"] for snapshot in answer["metadata"]["snapshots"]]
            equal(there[:len(acknowledged[prefix])], acknowledged[prefix], f"{point}:{pass_number}{prefix}")
            check(there[len(acknowledged[prefix]):] in ([], unknown[prefix]), f"{point}:{pass_number}{prefix}: {there[len(acknowledged[prefix]):]} appeared")
        answers = [request(lake, "GET", f"/local/namespaces/{namespace}/tables/{name}")[1] for name in ("one", "two")]
        values = {answer["metadata"]["properties"].get("v") for answer in answers}
        check(values in ({told}, {tried}), f"{point}:{pass_number}: the transaction is half there: {values}, told {told}, tried {tried}")
        left = files_of(f"{local}/{namespace}") - set.union(*(named(answer["metadata"], answer["metadata-location"]) for answer in answers))
        check(len(left) <= 2, f"{point}:{pass_number}: files that nothing names: {left}")
        snapshot, is_there = append(lake, f"/local/namespaces/{namespace}/tables/one", answers[0]["metadata"])
        check(is_there, f"{point}:{pass_number}: the table takes no commit any more")
        return is_dead


def test_every_step():
    import tempfile
    met = set()
    with tempfile.TemporaryDirectory(prefix="nilas-crash-") as local:
        for point in POINTS:
            for pass_number in (1, 2, 3, 7):
                if run(point, pass_number, local):
                    met.add(point)
    equal(sorted(met), sorted(POINTS), "steps that no run met")


if __name__ == "__main__":
    support.run_tests(sys.modules[__name__])
