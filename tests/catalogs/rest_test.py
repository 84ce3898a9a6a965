"""REST catalogs: Iceberg's reference server and nilas's own, used by nilas, Spark and PyIceberg by turns, and a bad network in between.

    python3 tests/catalogs/rest_test.py NILAS
"""
import json
import random
import re
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from pyiceberg.catalog.rest import RestCatalog

from engines import Nilas, Spark, passed, same
from jdbc_test import by_turns, namespaces, race, views
from rest_server import JavaRest, NilasRest, Proxy, TokenServer

COMMIT = re.compile(r"/namespaces/[^/]+/tables/[^/?]+$")


def confs(name, uri, **more):
    prefix = f"spark.sql.catalog.{name}"
    settings = {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.type": "rest", f"{prefix}.uri": uri, f"{prefix}.cache-enabled": "false"}
    settings.update({f"{prefix}.{key}": value for key, value in more.items()})
    return settings


def chapter(name, nilas, spark):
    """Staged creation, replacement, branches, evolution, time travel, procedures: nilas does, Spark sees the same."""
    nilas.run(f"""CREATE NAMESPACE {name}.ch;
CREATE TABLE {name}.ch.o USING iceberg PARTITIONED BY (bucket(2, id)) AS SELECT id, concat('n', id) AS s FROM range(10);
ALTER TABLE {name}.ch.o ADD COLUMN amount decimal(10,2);
ALTER TABLE {name}.ch.o ADD PARTITION FIELD truncate(1, s);
ALTER TABLE {name}.ch.o WRITE ORDERED BY id DESC;
INSERT INTO {name}.ch.o SELECT id + 10, 'x', 1.5 FROM range(5);
ALTER TABLE {name}.ch.o CREATE BRANCH audit;
ALTER TABLE {name}.ch.o CREATE TAG first RETAIN 30 DAYS;
INSERT INTO {name}.ch.o.branch_audit VALUES (100, 'branch', 9.99);
MERGE INTO {name}.ch.o t USING (SELECT id FROM range(3)) u ON t.id = u.id WHEN MATCHED AND u.id = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET amount = 2;
DELETE FROM {name}.ch.o WHERE id = 14;
UPDATE {name}.ch.o SET s = 'upd' WHERE id = 13;
ALTER TABLE {name}.ch.o RENAME COLUMN s TO label;
ALTER TABLE {name}.ch.o SET TBLPROPERTIES ('k' = 'nilas', 'write.delete.mode' = 'merge-on-read');
DELETE FROM {name}.ch.o WHERE id = 12;
ALTER TABLE {name}.ch.o UNSET TBLPROPERTIES ('k')""")
    for query in (f"SELECT * FROM {name}.ch.o ORDER BY id", f"SELECT * FROM {name}.ch.o VERSION AS OF 'audit'", f"SELECT count(*) FROM {name}.ch.o VERSION AS OF 'first'",
                  f"SELECT operation, count(*) FROM {name}.ch.o.snapshots GROUP BY operation", f"SELECT name, type FROM {name}.ch.o.refs",
                  f"SHOW TBLPROPERTIES {name}.ch.o", f"SELECT file_path, record_count FROM {name}.ch.o.files"):
        same(query, spark.run(query), nilas=nilas.run(query))
    nilas.run(f"CALL {name}.system.rewrite_data_files(table => 'ch.o', options => map('rewrite-all', 'true'));\n"
              f"CALL {name}.system.rewrite_manifests('ch.o');\nALTER TABLE {name}.ch.o DROP TAG first;\nALTER TABLE {name}.ch.o DROP BRANCH audit;\n"
              f"CALL {name}.system.expire_snapshots(table => 'ch.o', older_than => timestamp '2100-01-01 00:00:00', retain_last => 1)")
    query = f"SELECT id, label, amount FROM {name}.ch.o"
    same("after maintenance", spark.run(query), nilas=nilas.run(query))
    same("one snapshot is left", [["1"]], spark=spark.run(f"SELECT count(*) FROM {name}.ch.o.snapshots"))
    nilas.run(f"CREATE OR REPLACE TABLE {name}.ch.o USING iceberg AS SELECT 1 AS id, 'again' AS w;\nCREATE OR REPLACE TABLE {name}.ch.n (a int) USING iceberg")
    same("replaced", [["1", "again"]], spark=spark.run(f"SELECT * FROM {name}.ch.o"))
    same("history is kept", spark.run(f"SELECT count(*) FROM {name}.ch.o.snapshots"), nilas=[["2"]])
    spark.run(f"CREATE OR REPLACE TABLE {name}.ch.o USING iceberg AS SELECT 2 AS id")
    same("replaced by Spark", [["2"]], nilas=nilas.run(f"SELECT * FROM {name}.ch.o"))
    error = nilas.fails(f"CREATE TABLE {name}.ch.o USING iceberg AS SELECT 1 AS a")
    same("creating what is there", [[True]], nilas=[["TABLE_OR_VIEW_ALREADY_EXISTS" in error]])
    nilas.run(f"DROP TABLE {name}.ch.o PURGE;\nDROP TABLE {name}.ch.n")


class Nth:
    """A rule: what befalls the n-th commit from now."""

    def __init__(self, fates):
        self.fates = dict(enumerate(fates, 1))
        self.seen = 0
        self.lock = threading.Lock()

    def __call__(self, method, path, number):
        if method != "POST" or not COMMIT.search(path):
            return None
        with self.lock:
            self.seen += 1
            return self.fates.get(self.seen)


def bad_network(program, server):
    """Answers lost, refused and late: each commit takes effect once, and nothing of a table's files goes."""
    proxy = Proxy(server.uri)
    nilas = Nilas(program, confs("bad", proxy.uri))
    spark = Spark(confs("bad", server.uri))
    nilas.run("CREATE NAMESPACE bad.b;\nCREATE TABLE bad.b.t (id bigint) USING iceberg TBLPROPERTIES ('commit.status-check.min-wait-ms' = '20', 'commit.retry.min-wait-ms' = '20')")
    fates = {"answer lost": ["lose"], "lost twice": ["lose", "lose"], "dropped": ["drop"], "dropped, then lost": ["drop", "lose"], "500 before": [500], "500 after": [("late", 500)],
             "502 after": [("late", 502)], "503": [503, 503, 503], "503 after": [("late", 503)], "504 after": [("late", 504)], "504 before": [504, 504]}
    for number, (what, fate) in enumerate(fates.items()):
        proxy.rule = Nth(fate)
        nilas.run(f"INSERT INTO bad.b.t VALUES ({number})")
        proxy.rule = Nth([])
        same(what, [[str(known)] for known in range(number + 1)], spark=spark.run("SELECT id FROM bad.b.t"))
    proxy.rule = Nth(["lose"])
    nilas.run("ALTER TABLE bad.b.t SET TBLPROPERTIES ('k' = 'v')")
    proxy.rule = Nth(["lose"])
    nilas.run("ALTER TABLE bad.b.t ADD COLUMN more int")
    same("changes without snapshots", [["v"]], spark=[row[1:] for row in spark.run("SHOW TBLPROPERTIES bad.b.t ('k')")])
    proxy.rule = Nth(["lose"])
    nilas.run("CREATE TABLE bad.b.ctas USING iceberg AS SELECT 1 AS a")
    same("a staged table", [["1"]], spark=spark.run("SELECT * FROM bad.b.ctas"))
    for what, statement in (("created", "CREATE TABLE bad.b.made (a int) USING iceberg"), ("renamed", "ALTER TABLE bad.b.made RENAME TO bad.b.named"),
                            ("dropped", "DROP TABLE bad.b.named"), ("namespace made", "CREATE NAMESPACE bad.lost"), ("namespace dropped", "DROP NAMESPACE bad.lost")):
        lost = {"left": 1}

        def lose(method, path, _number, lost=lost):
            if method not in ("POST", "DELETE") or path.endswith("/metrics") or not lost["left"]:
                return None
            lost["left"] -= 1
            return "lose"

        proxy.rule = lose
        nilas.run(statement)
        same(f"answer lost: {what}", [[0]], left=[[lost["left"]]])
    sent = []

    def deaf(method, path, _number):
        if method == "POST" and COMMIT.search(path):
            sent.append(path)
            return ("late", 502)
        return 503 if sent else None

    proxy.rule = deaf
    error = nilas.fails("INSERT INTO bad.b.t VALUES (99, 1)")
    proxy.rule = Nth([])
    same("nobody can say", [[True]], nilas=[["Cannot say whether the commit was done" in error]])
    same("its files stay", [["99"]], spark=spark.run("SELECT id FROM bad.b.t WHERE id = 99"))
    chance = random.Random(11)
    proxy.rule = lambda method, path, number: 503 if chance.random() < 0.5 else None
    nilas.run("INSERT INTO bad.b.t VALUES (100, 1)")
    proxy.rule = Nth([])
    same("a storm of 503", [["100"]], spark=spark.run("SELECT id FROM bad.b.t WHERE id = 100"))
    proxy.stop()


def etags(program, server):
    """An unchanged table is not sent again."""
    proxy = Proxy(server.uri, etags=True)
    nilas = Nilas(program, confs("tagged", proxy.uri))
    nilas.run("CREATE NAMESPACE tagged.e;\nCREATE TABLE tagged.e.t USING iceberg AS SELECT 1 AS a")
    proxy.log.clear()
    rows = nilas.run("SELECT a FROM tagged.e.t;\nSELECT a FROM tagged.e.t;\nINSERT INTO tagged.e.t VALUES (2);\nSELECT a FROM tagged.e.t;\nSELECT a + 1 FROM tagged.e.t")
    same("rows", [["1"], ["1"], ["1"], ["2"], ["2"], ["3"]], nilas=rows)
    statuses = [status for method, path, _, status in proxy.log if method == "GET" and COMMIT.search(path.split("?")[0])]
    same("304", [[True]], nilas=[[statuses.count(304) >= 2 and statuses[0] == 200]])
    proxy.stop()


def who_asks(program, server):
    """OAuth 2: tokens fetched, renewed, refused, exchanged; basic; secrets in no message."""
    tokens = TokenServer()
    guarded = Proxy(server.uri)
    base = guarded.rule
    nilas = Nilas(program, confs("auth", guarded.uri, credential="me:s3cr3t-value", **{"oauth2-server-uri": tokens.uri, "scope": "a b"}))
    nilas.run("CREATE NAMESPACE auth.n;\nSHOW NAMESPACES IN auth")
    sent = [headers.get("Authorization") for _, _, headers, _ in guarded.log]
    same("bearer", [[True]], nilas=[[all(value and value.startswith("Bearer token-") for value in sent)]])
    same("scope", [["a b", "me"]], nilas=[[tokens.requests[0]["scope"], tokens.requests[0]["client_id"]]])
    guarded.log.clear()
    tokens.requests.clear()
    refused = {"count": 0}

    def once(method, path, number):
        refused["count"] += 1
        return 401 if refused["count"] == 2 else None

    guarded.rule = once
    nilas.run("SHOW NAMESPACES IN auth")
    same("a token refused is asked for anew", [[True]], nilas=[[len([form for form in tokens.requests if form["grant_type"] == "client_credentials"]) >= 2]])
    guarded.rule = base
    wrong = Nilas(program, confs("auth", guarded.uri, credential="me:wrong-secret", **{"oauth2-server-uri": tokens.uri}))
    error = wrong.fails("SHOW NAMESPACES IN auth")
    same("no secrets in messages", [[True, False]], nilas=[["Not authorized" in error and "credential" in error, "wrong-secret" in error]])
    guarded.rule = lambda method, path, number: 401
    error = Nilas(program, confs("auth", guarded.uri, token="tok-en-abcdef")).fails("SHOW NAMESPACES IN auth")
    same("what to set", [[True, False]], nilas=[["spark.sql.catalog.auth.credential" in error, "tok-en-abcdef" in error]])
    guarded.rule = lambda method, path, number: 403
    same("forbidden", [[True]], nilas=[["Forbidden" in nilas.fails("SHOW NAMESPACES IN auth")]])
    guarded.rule = base
    guarded.log.clear()
    Nilas(program, confs("auth", guarded.uri, **{"rest.auth.type": "basic", "rest.auth.basic.username": "u", "rest.auth.basic.password": "p", "header.X-Mine": "yes"})).run("SHOW NAMESPACES IN auth")
    same("basic", [["Basic dTpw", "yes"]], nilas=[[guarded.log[0][2].get("Authorization"), guarded.log[0][2].get("X-Mine")]])
    guarded.stop()
    tokens.stop()
    short = TokenServer(life_s=1)
    strict = Proxy(server.uri)
    nilas = Nilas(program, confs("auth", strict.uri, credential="me:s3cr3t-value", **{"oauth2-server-uri": short.uri}))

    def slowly(method, path, number):
        good = short.is_good(strict.seen.get("Authorization"))
        time.sleep(0.3)
        return None if good else 401

    strict.rule = slowly
    nilas.run(";\n".join(["SHOW NAMESPACES IN auth"] * 8))
    same("tokens that end are exchanged", [[True]], nilas=[[any("token-exchange" in form["grant_type"] for form in short.requests)]])
    strict.stop()
    short.stop()


def old_server(program, server):
    """A server that lists no endpoints: no HEAD, no views, everything else; a prefix and paging as sent."""
    proxy = Proxy(server.uri, config={"endpoints": None})
    nilas = Nilas(program, confs("old", proxy.uri, **{"rest-page-size": "1"}))
    nilas.run("CREATE NAMESPACE old.p1;\nCREATE NAMESPACE old.p2;\nCREATE TABLE old.p1.a (x int) USING iceberg;\nCREATE TABLE old.p1.b (x int) USING iceberg")
    same("all pages", [["a"], ["b"]], nilas=nilas.run("SHOW TABLES IN old.p1"))
    same("first page", [[True]], nilas=[[any("pageToken=&pageSize=1" in path for _, path, _, _ in proxy.log)]])
    same("neither HEAD nor views", [[False]], nilas=[[any(method == "HEAD" or "/views" in path for method, path, _, _ in proxy.log)]])
    nilas.run("DROP TABLE old.p1.a;\nDROP TABLE old.p1.b;\nDROP NAMESPACE old.p1;\nDROP NAMESPACE old.p2")
    proxy.stop()


def strangers(server, tables):
    """What is signed for a table that is being made: requests below the place that the server gave it, and no others."""
    token = json.load(ask("POST", f"{server.uri}/v1/oauth/tokens", urllib.parse.urlencode({"grant_type": "client_credentials", "client_id": server.keys[0],
                                                                                              "client_secret": server.keys[1]}), "application/x-www-form-urlencoded"))["access_token"]
    schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "a", "type": "int", "required": False}]}
    staged = json.load(ask("POST", tables, json.dumps({"name": "odd name", "schema": schema, "stage-create": True}), token=token, delegation="remote-signing"))
    location, endpoint = staged["metadata"]["location"], f"{server.uri}/{staged['config']['s3.signer.endpoint']}"
    root = "http://127.0.0.1:9/" + location.split("://")[1]

    def signs(uri, url):
        try:
            return "headers" in json.load(ask("POST", url, json.dumps({"region": "us-east-1", "method": "PUT", "uri": uri, "headers": {}}), token=token))
        except urllib.error.HTTPError as error:
            return error.code
    bucket = "/".join(root.split("/")[:4])
    plain = endpoint.split("?")[0]
    same("signed for a staged table", [[True, 403, 403, 403, 404, 404]],
         nilas=[[signs(root + "/data/x", endpoint), signs(bucket + "/d/c/data/x", endpoint), signs(root + "/../c/data/x", endpoint), signs(root + "x/data", endpoint),
                 signs(root + "/data/x", plain), signs(root + "/data/x", endpoint[:-1] + ("0" if endpoint[-1] != "0" else "1"))]])


def ask(method, url, body, kind="application/json", token=None, delegation=None):
    headers = {"Content-Type": kind, **({"Authorization": f"Bearer {token}"} if token else {}), **({"X-Iceberg-Access-Delegation": delegation} if delegation else {})}
    return urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers, method=method), timeout=30)


def delegated(program, server):
    """Files on S3 without keys of one's own for them: handed out with the table, or each request signed by the server."""
    signing = {key: value for key, value in server.signing().items() if key != "warehouse"}
    no_keys = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}
    for how in ("vended-credentials", "remote-signing"):
        settings = confs("s3", server.uri, **signing, **{"header.X-Iceberg-Access-Delegation": how})
        nilas = Nilas(program, settings, no_keys)
        rows = nilas.run("CREATE NAMESPACE s3.d;\nCREATE TABLE s3.d.t (id bigint, s string) USING iceberg;\n"
                         "INSERT INTO s3.d.t SELECT id, repeat('x', 1000) FROM range(20000);\nDELETE FROM s3.d.t WHERE id % 2 = 0;\n"
                         "CALL s3.system.expire_snapshots(table => 'd.t', older_than => timestamp '2100-01-01 00:00:00', retain_last => 1);\nSELECT count(*), sum(id) FROM s3.d.t")
        same(how, [["10000", "100000000"]], nilas=rows[-1:])
        rows = nilas.run("CREATE TABLE s3.d.c USING iceberg AS SELECT id FROM s3.d.t WHERE id < 10;\nINSERT INTO s3.d.c VALUES (100);\n"
                         "REPLACE TABLE s3.d.c USING iceberg AS SELECT sum(id) AS total FROM s3.d.c;\nSELECT total FROM s3.d.c")
        same(f"{how}: tables made of a query", [["125"]], nilas=rows[-1:])
        if how == "remote-signing":
            strangers(server, f"{server.uri}/v1/namespaces/d/tables")
        nilas.run("DROP TABLE s3.d.t PURGE;\nDROP TABLE s3.d.c PURGE;\nDROP NAMESPACE s3.d")
    # Java's client asks where it is told to, and keeps signatures of reads for other ranges.
    remote = confs("signed", server.uri, **signing, **{"header.X-Iceberg-Access-Delegation": "remote-signing", "io-impl": "org.apache.iceberg.aws.s3.S3FileIO"})
    spark, nilas = Spark(remote), Nilas(program, remote, no_keys)
    spark.run("CREATE NAMESPACE signed.j;\nCREATE TABLE signed.j.c USING iceberg AS SELECT id, repeat('x', 1000) AS s FROM range(20000);\nINSERT INTO signed.j.c VALUES (20000, 'y')")
    nilas.run("INSERT INTO signed.j.c VALUES (20001, 'z')")
    query = "SELECT count(*), sum(id), max(length(s)) FROM signed.j.c"
    same("Spark and nilas with remote signing", [["20002", str(20001 * 20002 // 2), "1000"]], spark=spark.run(query), nilas=nilas.run(query))
    spark.run("DROP TABLE signed.j.c;\nDROP NAMESPACE signed.j")
    error = Nilas(program, confs("s3", server.uri, **signing), no_keys).fails("CREATE NAMESPACE s3.e;\nCREATE TABLE s3.e.t USING iceberg AS SELECT 1 AS a")
    same("without keys there is no access", [[True]], nilas=[["credentials" in error or "AccessDenied" in error or "keys" in error]])


def lakehouse(program):
    """nilas's own server, which verifies every signature."""
    server = NilasRest(program)
    try:
        signing = server.signing()
        nilas, spark = Nilas(program, confs("lake", server.uri, **signing)), Spark(confs("lake", server.uri, **signing))
        error = Nilas(program, confs("lake", server.uri, **{**signing, "rest.secret-access-key": "wrong"})).fails("SHOW NAMESPACES IN lake")
        same("a wrong signature is refused", [[True, False]], nilas=[["orbidden" in error or "authorized" in error, "wrong" in error]])
        python = RestCatalog("lake", uri=server.uri, **{**signing, "client.access-key-id": server.keys[0], "client.secret-access-key": server.keys[1]})
        by_turns("lake", nilas, spark, python)
        views("lake", nilas, spark)
        chapter("lake", nilas, spark)
        race("lake", nilas)
        same("Spark reads what the race wrote", [["400"]], spark=spark.run("SELECT count(*) FROM lake.db.race"))
        delegated(program, server)
    finally:
        server.stop()


def main(program):
    server = JavaRest()
    try:
        nilas, spark = Nilas(program, confs("rest", server.uri)), Spark(confs("rest", server.uri))
        python = RestCatalog("rest", uri=server.uri)
        by_turns("rest", nilas, spark, python)
        namespaces("rest", nilas, spark)
        views("rest", nilas, spark)
        chapter("rest", nilas, spark)
        bad_network(program, server)
        etags(program, server)
        who_asks(program, server)
        old_server(program, server)
        race("rest", nilas)
        same("Spark reads what the race wrote", [["400"]], spark=spark.run("SELECT count(*) FROM rest.db.race"))
    finally:
        server.stop()
    lakehouse(program)
    passed("rest")


if __name__ == "__main__":
    main(sys.argv[1])
