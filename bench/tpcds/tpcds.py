"""The suite TPC-DS: see ../suite.py for its commands. Beyond those:

    tpcds.py speed NILAS SCALE FOLDER [QUERY ...]  processor seconds of nilas and DuckDB on the same Iceberg files, as Markdown

The texts are those of Spark's own tests (specifications 1.4 and 2.7: q1 ... q99, q5a-v2.7 ...), read out of the jar that
NILAS_SPARK_SQL_TESTS names, and those that DuckDB brings (d1 ... d99). Keys are integers, as in Spark's tables; DuckDB's own
are bigint.
"""
import math
import os
import pathlib
import re
import resource
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import suite  # noqa: E402

KEYS = {
    "call_center": ["cc_call_center_sk"], "catalog_page": ["cp_catalog_page_sk"], "catalog_returns": ["cr_item_sk", "cr_order_number"],
    "catalog_sales": ["cs_item_sk", "cs_order_number"], "customer": ["c_customer_sk"], "customer_address": ["ca_address_sk"],
    "customer_demographics": ["cd_demo_sk"], "date_dim": ["d_date_sk"], "household_demographics": ["hd_demo_sk"],
    "income_band": ["ib_income_band_sk"], "inventory": ["inv_date_sk", "inv_item_sk", "inv_warehouse_sk"], "item": ["i_item_sk"],
    "promotion": ["p_promo_sk"], "reason": ["r_reason_sk"], "ship_mode": ["sm_ship_mode_sk"], "store": ["s_store_sk"],
    "store_returns": ["sr_item_sk", "sr_ticket_number"], "store_sales": ["ss_item_sk", "ss_ticket_number"], "time_dim": ["t_time_sk"],
    "warehouse": ["w_warehouse_sk"], "web_page": ["wp_web_page_sk"], "web_returns": ["wr_item_sk", "wr_order_number"],
    "web_sales": ["ws_item_sk", "ws_order_number"], "web_site": ["web_site_sk"],
}


def tests_jar():
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    return os.environ.get("NILAS_SPARK_SQL_TESTS", f"{cache}/nilas-tests/jars/spark-sql_2.13-4.0.1-tests.jar")


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def read_queries():
    """Name to text: q1 ... q99 of specification 1.4, and those of 2.7 that differ as q5a-v2.7."""
    texts = {}
    with zipfile.ZipFile(tests_jar()) as jar:
        for entry in jar.namelist():
            found = re.fullmatch(r"tpcds(-v2\.7)?(?:\.0)?/(q\w+)\.sql", entry)
            if found:
                texts[found[2] + (found[1] or "")] = re.sub(r"--[^\n]*", "", jar.read(entry).decode()).strip().rstrip(";")
    for number, text in suite.connect("tpcds").execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
        texts[f"d{number}"] = re.sub(r"--[^\n]*", "", text).strip().rstrip(";").replace("c_last_review_date_sk", "c_last_review_date").replace('"', "`")
    return {name: texts[name] for name in sorted(texts, key=natural)}


def generate(scale, folder):
    database = suite.connect("tpcds")
    database.execute(f"CALL dsdgen(sf={scale})")
    for table in KEYS:
        columns = database.execute(f"DESCRIBE {table}").fetchall()
        chosen = ", ".join((f"CAST({c[0]} AS INTEGER)" if c[1] == "BIGINT" else c[0]) + " AS " + c[0].replace("review_date_sk", "review_date") for c in columns)
        database.execute(f"COPY (SELECT {chosen} FROM {table}) TO '{folder}/parquet/{table}.parquet' (FORMAT parquet, COMPRESSION zstd)")


def duckdb_text(sql):
    """A text that DuckDB reads, too."""
    return re.sub(r"\) (returns|at)\b", r') AS "\1"', sql.replace("`", '"'))


# ---- speed

def used(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def speed(tpcds, o, texts):
    """In sessions that ran the query once already; a process of nilas per query, whose start and exit are halved in."""
    database, rows = suite.connect("avro", "iceberg"), []
    database.execute("SET threads = 2; SET unsafe_enable_version_guessing = true; SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for table in KEYS:
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM iceberg_scan('{o.folder}/warehouse/{tpcds.plain}/{table}')")
    for name, text in texts.items():
        if not tpcds.in_short(name):
            continue
        before = used(resource.RUSAGE_CHILDREN)
        suite.nilas_sql(o.nilas, o.folder, f"USE {tpcds.plain}; {text}; {text}")
        nilas = (used(resource.RUSAGE_CHILDREN) - before) / 2
        duck, sql = math.inf, duckdb_text(text)
        for _ in range(2):
            before = used(resource.RUSAGE_SELF)
            database.execute(sql).fetchall()
            duck = min(duck, used(resource.RUSAGE_SELF) - before)
        rows.append((name, nilas, duck))
        print(f"{name:10} {nilas:7.3f} {duck:7.3f} {nilas / duck:6.2f}", file=sys.stderr, flush=True)
    total = ("total", sum(r[1] for r in rows), sum(r[2] for r in rows))
    mean = math.exp(sum(math.log(r[1] / r[2]) for r in rows) / len(rows))
    print("| | nilas s | DuckDB s | nilas / DuckDB |\n| --- | ---: | ---: | ---: |")
    for name, nilas, duck in sorted(rows, key=lambda row: row[2] / row[1]) + [total]:
        print(f"| {name} | {nilas:.3f} | {duck:.3f} | {nilas / duck:.2f} |")
    print(f"\nGeometric mean nilas / DuckDB: {mean:.2f}; load {os.getloadavg()[0]:.1f} at the end.")
    return 0


TPCDS = suite.Suite("TPC-DS", "plain", KEYS, lambda scale: read_queries(), lambda name: re.fullmatch(r"q\d+[ab]?", name) is not None, generate,
                    duckdb_text, {"q54": "Spark cuts the fraction when it casts to INT, DuckDB rounds", "d54": "as q54"})

suite.main(TPCDS, {"speed": speed}) if __name__ == "__main__" else None
