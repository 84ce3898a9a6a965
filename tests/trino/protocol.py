"""Trino's client protocol, as bare as the records need it: JSON in, JSON out."""
import json
import time
import urllib.error
import urllib.request


def post(server, sql, headers):
    """As clients do: 503 is "come again"."""
    while True:
        try:
            return json.load(urllib.request.urlopen(urllib.request.Request(server + "/v1/statement", data=sql.encode(), headers=headers), timeout=120))
        except urllib.error.HTTPError as problem:
            if problem.code != 503:
                raise
            time.sleep(0.05)


def ask(server, sql, catalog="lake", schema="s"):
    """The answer as {"columns": [[name, type], …], "rows": […], "update": [type, count], "error": name, "message": …}; what is absent is left out."""
    headers = {"X-Trino-User": "recorder", "X-Trino-Time-Zone": "UTC", "X-Trino-Catalog": catalog, "X-Trino-Schema": schema, "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME"}
    page = post(server, sql, headers)
    answer, rows = {}, []
    while True:
        if "columns" in page:
            answer["columns"] = [[column["name"], column["type"]] for column in page["columns"]]
        rows += page.get("data") or []
        if page.get("updateType"):
            answer["update"] = [page["updateType"], page.get("updateCount")]
        if "error" in page:
            return {"error": page["error"]["errorName"], "message": page["error"]["message"]}
        if "nextUri" not in page:
            break
        page = json.load(urllib.request.urlopen(urllib.request.Request(page["nextUri"], headers=headers), timeout=120))
    answer["rows"] = rows
    return answer


def statements(text):
    """Statements of a .sql file: each ends with ';' at the end of a line; lines of comments between them are left out."""
    kept = []
    for line in text.splitlines():
        if not kept and (not line.strip() or line.startswith("--")):
            continue
        kept.append(line)
        if line.endswith(";"):
            yield "\n".join(kept)[:-1]
            kept = []
