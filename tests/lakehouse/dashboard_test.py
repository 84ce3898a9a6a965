#!/usr/bin/env python3
"""The dashboard in a real browser: what it shows, what it does after asking, and what it does not let through.

    tests/lakehouse/dashboard_test.py NILAS [test_name…]

Needs boto3, PyIceberg, playwright and chromium (NILAS_TEST_CHROMIUM names its program).
"""
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request

import pyarrow
from playwright.sync_api import sync_playwright
from pyiceberg.catalog import load_catalog

from support import Lakehouse, check, equal, run_tests

CHROMIUM = os.environ.get("NILAS_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
EVIL = "<img src=x onerror=alert(1)>"


def fetch(url, method="GET", headers=None, body=None):
    request = urllib.request.Request(url, method=method, headers=headers or {}, data=body)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as problem:
        return problem.code, problem.headers, problem.read()


@contextlib.contextmanager
def lake_with_tables(*arguments):
    """A warehouse on local files, with a table of many small files."""
    folder = tempfile.mkdtemp(prefix="nilas-warehouse-")
    with Lakehouse("--warehouse", f"lab=file:{folder}", *arguments) as lake:
        catalog = load_catalog("lab", type="rest", uri=lake.url("rest"), warehouse="lab")
        catalog.create_namespace("sales")
        rows = pyarrow.table({"id": pyarrow.array(range(100), pyarrow.int64()), "name": ["x"] * 100})
        table = catalog.create_table("sales.orders", schema=rows.schema, properties={"comment": EVIL, "history.expire.max-snapshot-age-ms": "1", "s3.secret-access-key": "hush"})
        for _ in range(12):
            table.append(rows)
        table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "release").commit()
        yield lake, catalog
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def browser(lake, **options):
    """A page; anything that its console says is a failure."""
    with sync_playwright() as play:
        program = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = program.new_page(viewport={"width": 1280, "height": 900}, **options)
        page.set_default_timeout(15000)
        # A request that is refused is told by the browser too.
        page.on("console", lambda message: check(message.type not in ("error", "warning") or "409 (Conflict)" in message.text, f"console: {message.text}"))
        page.on("pageerror", lambda problem: check(False, f"page: {problem}"))
        page.on("dialog", lambda dialog: (check(False, "a script of somebody else ran"), dialog.dismiss()))
        page.goto(lake.url("dashboard") + "/")
        page.wait_for_selector("h1")
        yield page
        if os.environ.get("NILAS_TEST_SCREENSHOTS"):
            page.screenshot(path=f"{os.environ['NILAS_TEST_SCREENSHOTS']}/{sys._getframe(2).f_code.co_name}.png", full_page=True)
        program.close()


def test_a_table_its_health_and_what_is_run():
    with lake_with_tables() as (lake, catalog), browser(lake) as page:
        page.get_by_role("link", name="orders").click()
        page.get_by_role("heading", name="sales.orders").wait_for()
        page.get_by_text("What to run").wait_for()
        text = page.inner_text("main")
        for part in ("Data files\n12", "Snapshots\n12", "release", "append", "rewrite_data_files", "expire_snapshots", EVIL, "*(redacted)"):
            check(part in text, f"{part!r} is not shown in\n{text}")
        check("hush" not in page.content(), "a secret is shown")
        card = page.locator(".advice", has_text="rewrite_data_files")
        card.get_by_role("button", name="Dry run").click()
        page.get_by_role("button", name="Run it now").wait_for()
        if os.environ.get("NILAS_TEST_SCREENSHOTS"):
            page.screenshot(path=f"{os.environ['NILAS_TEST_SCREENSHOTS']}/dialog.png")
        check("would rewrite 12 files" in page.inner_text("dialog"), page.inner_text("dialog"))
        page.keyboard.press("Escape")
        page.wait_for_timeout(300)
        equal(len(catalog.load_table("sales.orders").snapshots()), 12, "a dry run changes nothing")
        card.get_by_role("button", name="Dry run").click()
        page.get_by_role("button", name="Run it now").click()
        page.locator("dialog", has_text="rewrite_data_files is done").wait_for()
        page.get_by_role("button", name="Close").click()
        if os.environ.get("NILAS_TEST_SCREENSHOTS"):
            page.screenshot(path=f"{os.environ['NILAS_TEST_SCREENSHOTS']}/after.png", full_page=True)
        table = catalog.load_table("sales.orders")
        equal(len(table.snapshots()), 13, "it was run")
        equal(table.scan().to_arrow().num_rows, 1200, "the rows stay")
        page.get_by_text("Data files\n1\n").or_(page.locator(".facts div", has_text="Data files")).first.wait_for()
        expire = page.locator(".advice", has_text="expire_snapshots")
        expire.get_by_role("button", name="Dry run").click()
        page.get_by_role("button", name="Run it now").wait_for()
        check(page.locator("dialog tbody tr").count() >= 10, "the snapshots that would go are listed")
        page.get_by_role("button", name="Run it now").click()
        page.locator("dialog", has_text="expire_snapshots is done").wait_for()
        equal(len(catalog.load_table("sales.orders").snapshots()), 2, "the tagged one and the current one stay")


def test_buckets_and_objects():
    with Lakehouse() as lake, browser(lake) as page:
        page.get_by_role("link", name="Buckets").click()
        page.get_by_label("New bucket").fill("pictures")
        page.get_by_role("button", name="Create").click()
        page.get_by_role("link", name="pictures").click()
        page.get_by_role("heading", name="pictures/").wait_for()
        bytes_sent = os.urandom(300000)
        with tempfile.TemporaryDirectory() as folder:
            for name, body in (("a b&c=d.bin", bytes_sent), ("empty.txt", b"")):
                with open(f"{folder}/{name}", "wb") as out:
                    out.write(body)
            page.get_by_label("Files to upload").set_input_files([f"{folder}/a b&c=d.bin", f"{folder}/empty.txt"])
            page.get_by_role("button", name="Upload", exact=True).click()
            page.get_by_role("link", name="empty.txt").wait_for()
            with page.expect_download() as download:
                page.get_by_role("link", name="a b&c=d.bin").click()
            download.value.save_as(f"{folder}/back")
            with open(f"{folder}/back", "rb") as back:
                check(back.read() == bytes_sent, "what comes back is what was sent")
        page.get_by_role("button", name="Delete empty.txt").click()
        page.locator("dialog").get_by_role("button", name="Delete").click()
        page.get_by_role("link", name="empty.txt").wait_for(state="detached")
        page.goto(lake.url("dashboard") + "/#/buckets")
        page.get_by_role("button", name="Delete the bucket pictures").click()
        page.locator("dialog").get_by_role("button", name="Delete").click()
        page.locator("#status", has_text="not empty").wait_for()
        check(page.get_by_role("link", name="pictures").count() == 1, "a bucket that is not empty stays")


def test_names_that_would_deceive():
    """Names as markup, as addresses, of one endless word, with characters that are not seen: each is shown as it is, and its row keeps its buttons."""
    keys = [EVIL, '"><svg onload=alert(2)>', "javascript:alert(3)", "'-alert(4)-'", "{{7*7}}${7*7}", "%3Cb%3E", "w" * 900, "an\u202egnp.exe", "a\nb", "zero\u200bwidth", "</script><script>alert(5)</script>"]
    with Lakehouse() as lake:
        s3, athena = lake.client("s3"), lake.client("athena")
        s3.create_bucket(Bucket="evil")
        for key in keys:
            s3.put_object(Bucket="evil", Key=key, Body=b"<script>alert(6)</script>", ContentType="text/html")
        for number, name in enumerate((EVIL, "-alert(7)-")):
            query = athena.start_query_execution(QueryString=f"CREATE TABLE default.\"{name}\" (a bigint) LOCATION 's3://evil/t{number}/' TBLPROPERTIES ('table_type' = 'ICEBERG', 'comment' = '{EVIL}')")["QueryExecutionId"]
            while athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]["State"] in ("QUEUED", "RUNNING"):
                time.sleep(0.05)
        with browser(lake) as page:
            page.goto(lake.url("dashboard") + "/#/bucket/evil/")
            page.get_by_role("heading", name="evil/").wait_for()
            text = page.inner_text("main")
            for part in (EVIL, "an⟨U+202E⟩gnp.exe", "a⟨U+000A⟩b", "zero⟨U+200B⟩width", "{{7*7}}${7*7}", "%3Cb%3E", "javascript:alert(3)"):
                check(part in text, f"{part!r} is not shown in\n{text}")
            check(page.evaluate("document.querySelector('.scroll').scrollWidth <= document.querySelector('.scroll').clientWidth"), "a long name pushes the other columns away")
            page.get_by_role("link", name="javascript:alert(3)").evaluate("link => link.removeAttribute('download')")
            check(page.get_by_role("link", name="javascript:alert(3)").get_attribute("href").startswith("/api/object?"), "an address of a script")
            page.get_by_role("button", name="Delete a⟨U+000A⟩b").click()
            page.locator("dialog").get_by_role("button", name="Delete").click()
            page.get_by_role("link", name="a⟨U+000A⟩b").wait_for(state="detached")
            check("a\nb" not in [entry["Key"] for entry in s3.list_objects_v2(Bucket="evil")["Contents"]], "the one that was chosen is deleted")
            page.get_by_role("link", name="</").click()
            page.get_by_role("heading", name="evil/</").wait_for()
            for name in (EVIL, "-alert(7)-"):
                page.goto(lake.url("dashboard") + "/#/catalogs")
                page.get_by_role("link", name=name).click()
                page.get_by_role("heading", name=name).wait_for()
                page.get_by_text("Properties").first.wait_for()


def test_a_running_query_is_shown_and_stopped():
    with Lakehouse() as lake, browser(lake) as page:
        athena = lake.client("athena")
        statement = "SELECT count(*) FROM TABLE(sequence(1, 1000000)) AS a(id), TABLE(sequence(1, 1000000)) AS b(id) WHERE a.id * b.id = -1"
        query = athena.start_query_execution(QueryString=statement, ResultConfiguration={"OutputLocation": "s3://warehouse/results/"})["QueryExecutionId"]
        page.get_by_role("link", name="Queries").click()
        page.get_by_text(statement).wait_for()
        check(page.locator("tr", has_text=statement).get_by_text("athena").count() == 1, "where it comes from is told")
        page.get_by_role("button", name="Stop").click()
        page.get_by_text(statement).wait_for(state="detached")
        equal(athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]["State"] != "RUNNING", True, "it has stopped")


def test_with_the_keyboard_alone_and_for_screen_readers():
    with lake_with_tables() as (lake, _), browser(lake) as page:
        page.keyboard.press("Tab")
        equal(page.evaluate("document.activeElement.textContent"), "To the contents", "the first stop")
        for _ in range(2):
            page.keyboard.press("Tab")
        equal(page.evaluate("document.activeElement.textContent"), "Buckets")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Buckets").wait_for()
        equal(page.evaluate("document.activeElement.id"), "main", "after a change the contents have the focus")
        for place in ("#/catalogs", "#/buckets", "#/bucket/warehouse/", "#/queries", "#/table/2/sales/orders"):
            page.goto(lake.url("dashboard") + "/" + place)
            page.wait_for_timeout(400)
            equal(page.locator("h1").count(), 1, place)
            for script, text in [
                ("[...document.querySelectorAll('button, a')].filter((one) => !(one.getAttribute('aria-label') || one.textContent).trim()).length", "without a name"),
                ("[...document.querySelectorAll('input')].filter((one) => !one.labels.length).length", "without a label"),
                ("[...document.querySelectorAll('table')].filter((one) => !one.caption).length", "without a caption"),
                ("[...document.querySelectorAll('[tabindex]')].filter((one) => one.tabIndex > 0).length", "out of order"),
            ]:
                equal(page.evaluate(script), 0, f"{place}: {text}")
            check(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{place} is wider than the window")
        page.set_viewport_size({"width": 360, "height": 700})
        check(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it fits on a phone")


def test_only_the_page_itself_changes_something():
    with Lakehouse() as lake:
        base = lake.url("dashboard")
        _, headers, body = fetch(base + "/")
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
            check(part in policy, policy)
        check(b"<script>" not in body and b"style=" not in body, "no script or style stands in the page")
        for name in ("X-Content-Type-Options", "Referrer-Policy", "Cache-Control"):
            check(headers[name], name)
        token = json.loads(fetch(base + "/api/session")[2])["token"]
        posts = ("create-bucket?bucket=made", "delete-bucket?bucket=warehouse", "delete-object?bucket=warehouse&key=a", "upload?bucket=warehouse&key=a", "maintenance?x=1", "cancel-query?id=1")
        for path in posts:
            equal(fetch(f"{base}/api/{path}")[0], 405, f"GET {path}")
            equal(fetch(f"{base}/api/{path}", "POST")[0], 403, f"POST {path} without the token")
            equal(fetch(f"{base}/api/{path}", "POST", {"x-nilas-token": token[:-1] + "x"})[0], 403, f"POST {path} with another token")
            equal(fetch(f"{base}/api/{path}", "POST", {"x-nilas-token": token, "Origin": "http://evil.example"})[0], 403, f"POST {path} from elsewhere")
        names = [bucket["name"] for bucket in json.loads(fetch(base + "/api/buckets")[2])]
        check("warehouse" in names and "made" not in names, names)
        equal(fetch(base + "/api/create-bucket?bucket=made", "POST", {"x-nilas-token": token})[0], 200)
        equal(fetch(base + "/api/create-bucket?bucket=made", "POST", {"x-nilas-token": token})[0], 409)
        equal(fetch(base + "/api/nothing")[0], 404)
        equal(fetch(base + "/api/table?warehouse=1&namespace=a&name=b")[0], 404)
        equal(fetch(base + "/api/table?warehouse=x&namespace=a&name=b")[0], 400)
        status, headers, _ = fetch(base + "/api/upload?bucket=made&key=page.html", "POST", {"x-nilas-token": token, "Content-Type": "text/html"}, b"<script>alert(1)</script>")
        equal(status, 200)
        status, headers, body = fetch(base + "/api/object?bucket=made&key=page.html")
        equal((status, body), (200, b"<script>alert(1)</script>"))
        check(headers["Content-Disposition"].startswith("attachment") and headers["Content-Type"] == "application/octet-stream", "an object is saved, not shown")


def test_strict_asks_for_the_key_pair():
    with Lakehouse("--strict", "--access-key", "me", names=["dashboard"], environment={"NILAS_SECRET_KEY": "it is".replace(" ", "-")}) as lake:
        base = lake.url("dashboard")
        status, headers, _ = fetch(base + "/")
        equal(status, 401)
        check(headers["WWW-Authenticate"].startswith("Basic"), headers["WWW-Authenticate"])
        equal(fetch(base + "/api/session", headers={"Authorization": "Basic bWU6d3Jvbmc="})[0], 401)
        equal(fetch(base + "/api/session", headers={"Authorization": "Basic bWU6aXQtaXM="})[0], 200)


def test_a_server_that_went_away_is_told():
    with Lakehouse() as lake, sync_playwright() as play:
        program = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = program.new_page()
        page.goto(lake.url("dashboard") + "/")
        page.get_by_role("heading", name="Catalogs").wait_for()
        lake.stop()
        page.get_by_role("link", name="Buckets").click()
        page.locator("[role=alert]", has_text="nilas does not answer").wait_for(timeout=10000)
        program.close()


if __name__ == "__main__":
    if not CHROMIUM:
        sys.exit("dashboard_test: chromium is missing. As root: apt-get install chromium")
    run_tests(sys.modules[__name__])
