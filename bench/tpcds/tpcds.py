"""TPC-DS on Iceberg tables that nilas makes: the data, the queries, deletes, and a comparison of answers.

    tpcds.py data   NILAS SCALE FOLDER             dsdgen (DuckDB's) to Parquet, then Iceberg tables by nilas in FOLDER/warehouse/plain
    tpcds.py delete NILAS SCALE FOLDER             the same less 5 % of the rows: namespaces position, vector and equality
    tpcds.py record NILAS SCALE FOLDER [--tables …]  real Spark's answers to FOLDER/answers (SPARK_PYTHON and ICEBERG_JAR name it)
    tpcds.py speed  NILAS SCALE FOLDER [QUERY ...]  processor seconds of nilas and DuckDB on the same Iceberg files, as Markdown
    tpcds.py check  NILAS SCALE FOLDER [--tables plain|position|vector|equality] [--memory SIZE] [--against spark|duckdb]
                                                   [QUERY ...]    every answer against Spark's or DuckDB's on the same rows

The texts are those of Spark's own tests (specifications 1.4 and 2.7: q1 ... q99, q5a-v2.7 ...), read out of the jar that
NILAS_SPARK_SQL_TESTS names, and those that DuckDB brings (d1 ... d99). Two answers are the same when their rows are, doubles to 1e-9 of their size; where ORDER BY with LIMIT leaves open which of several equal rows come, the rows
in question must be answers of the query without LIMIT.
"""
import argparse
import decimal
import json
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "tpch")]
import deleted_rows  # noqa: E402
import tpch  # noqa: E402

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


# What DuckDB answers otherwise than Spark, and why nilas goes with Spark.
OTHERWISE_IN_SPARK = {"q54": "Spark cuts the fraction when it casts to INT, DuckDB rounds", "d54": "as q54"}


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
    for number, text in tpch.connect("tpcds").execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
        texts[f"d{number}"] = re.sub(r"--[^\n]*", "", text).strip().rstrip(";").replace("c_last_review_date_sk", "c_last_review_date").replace('"', "`")
    return {name: texts[name] for name in sorted(texts, key=natural)}


def nilas_rows(nilas, folder, namespace, sql, *options):
    """Rows as texts, processor seconds, and the largest memory of the process in MiB."""
    process = subprocess.Popen([nilas, "sql", "-S", *options, "-e", f"USE {namespace}; {sql}"], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError(err.strip()[:600] or f"exit code {process.returncode}")
    return [line.split("\t") for line in out.split("\n")[:-1]]


# ---- data

def make_data(nilas, scale, folder):
    """Keys are integers, as in Spark's tables; DuckDB's own are bigint."""
    done = folder / "complete"
    if done.exists():
        return
    (folder / "parquet").mkdir(parents=True, exist_ok=True)
    database = tpch.connect("tpcds")
    database.execute(f"CALL dsdgen(sf={scale})")
    tpch.nilas_sql(nilas, folder, "CREATE NAMESPACE IF NOT EXISTS plain")
    for table in KEYS:
        columns = database.execute(f"DESCRIBE {table}").fetchall()
        chosen = ", ".join((f"CAST({c[0]} AS INTEGER)" if c[1] == "BIGINT" else c[0]) + " AS " + c[0].replace("review_date_sk", "review_date") for c in columns)
        file = f"{folder}/parquet/{table}.parquet"
        database.execute(f"COPY (SELECT {chosen} FROM {table}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
        tpch.nilas_sql(nilas, folder, f"CREATE TABLE plain.{table} USING iceberg TBLPROPERTIES ('format-version' = '2') "
                                      f"AS SELECT * FROM parquet.`{file}`")
        print(table, flush=True)
    done.touch()


# ---- answers

def duckdb_text(sql):
    """A text that DuckDB reads, too."""
    return re.sub(r"\) (returns|at)\b", r') AS "\1"', sql.replace("`", '"'))


def open_duckdb(folder, tables):
    database = tpch.connect()
    database.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    database.execute("SET threads = 2")
    for table in KEYS:
        kept = f" WHERE NOT {deleted_rows.gone(KEYS[table])}" if tables != "plain" else ""
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder}/parquet/{table}.parquet'){kept}")
    return database


def same_cell(expected, text):
    if isinstance(expected, str):
        if expected == text or expected.rstrip(" ") == text.rstrip(" "):
            return True
        try:
            return "E" in text + expected or "." in text and abs(float(expected) - float(text)) <= 1e-9 * abs(float(expected))
        except ValueError:
            return False
    return (expected is None) == (text == "NULL") and tpch.same_cell(expected, text)


def same_row(expected, row):
    return len(expected) == len(row) and all(same_cell(w, h) for w, h in zip(expected, row))


def match(expected, rows):
    """Rows of both sides that have no equal on the other; the index is by the cells that are compared exactly."""
    def sort_key(row):
        return tuple("NULL" if c is None else f"{float(c):.6g}" if isinstance(c, (float, decimal.Decimal)) or is_real(c) else str(c).rstrip(" ") for c in row)
    places = {}
    for row in rows:
        places.setdefault(sort_key(row), []).append(row)
    missing = []
    for want in expected:
        found = next((have for have in places.get(sort_key(want), []) if same_row(want, have)), None)
        if found is None:
            missing.append(want)
        else:
            places[sort_key(want)].remove(found)
    left = [row for group in places.values() for row in group]
    for want in list(missing):  # cells beside a border of rounding
        found = next((have for have in left if same_row(want, have)), None)
        if found is not None:
            missing.remove(want)
            left.remove(found)
    return missing, left


def is_real(cell):
    return isinstance(cell, str) and re.fullmatch(r"-?\d+\.\d+(E-?\d+)?", cell) is not None


def in_order_but_for_ties(expected, rows):
    """Each run of rows that came in another order must agree in some column: the one (of those) that the query sorts by."""
    begin = 0
    while begin < len(rows):
        end = begin + 1
        while match(expected[begin:end], rows[begin:end])[0]:
            end += 1
        if end - begin > 1 and not any(len({row[c] for row in rows[begin:end]}) == 1 for c in range(len(rows[0]))):
            return False
        begin = end
    return True


def is_ordered(sql):
    """Is there an ORDER BY outside of all parentheses?"""
    depth, outside = 0, []
    for character in sql:
        depth += (character == "(") - (character == ")")
        outside.append(character if depth == 0 else " ")
    return re.search(r"\border\s+by\b", "".join(outside), re.I) is not None


def judge(expected, rows, sql, unlimited):
    """None and a remark, or what is wrong. unlimited() gives the rows of the query without its last LIMIT."""
    if len(expected) != len(rows):
        return f"{len(rows)} rows instead of {len(expected)}", ""
    if all(same_row(w, h) for w, h in zip(expected, rows)):
        return None, ""
    missing, extra = match(expected, rows)
    if not missing:
        if not is_ordered(sql):
            return None, "in no order"
        return (None, "order within ties") if in_order_but_for_ties(expected, rows) else ("the order differs", "")
    everything = unlimited()
    if everything is not None and len(everything) > len(rows):
        strange = match(rows, [[str(c) if c is not None else "NULL" for c in row] for row in everything])[0]
        if not strange:
            return None, f"{len(extra)} other rows under LIMIT"
    return f"{len(missing)} of {len(rows)} rows differ: {extra[0]} instead of {missing[0]}", ""


def without_limit(sql):
    return re.sub(r"\blimit\s+\d+\s*\Z", "", sql, flags=re.I)


def recorded(folder, tables, name):
    """Spark's answer: columns and rows, or its error."""
    return json.loads((folder / "answers" / ("plain" if tables == "plain" else "deleted") / f"{name}.json").read_text())


def schema_fault(o, name, sql):
    columns = [" ".join(cell.strip() for cell in row[:2]) for row in nilas_rows(o.nilas, o.folder, o.tables, "DESCRIBE QUERY " + sql)]
    wanted = [" ".join(column.split(" ")[:-1]).strip() + " " + column.split(" ")[-1] for column in recorded(o.folder, o.tables, name)["columns"]]
    return None if columns == wanted else f"columns {columns} instead of {wanted}"


def answers_of(kind, folder, tables, sqls):
    """A function from a query's name (and whether without LIMIT) to its rows."""
    if kind == "spark":
        return lambda name, unlimited=False: None if unlimited else recorded(folder, tables, name)["rows"]
    database = open_duckdb(folder, tables)

    def duckdb_rows(name, unlimited=False):
        sql = duckdb_text(sqls[name])
        return database.execute(without_limit(sql) if unlimited else sql).fetchall()
    return duckdb_rows


def has_no_quotient(rows):
    return any(cell is None or isinstance(cell, float) and not math.isfinite(cell) for row in rows for cell in row)


def check(o, sqls):
    options = ["--conf", f"spark.nilas.memory={o.memory}"] if o.memory else []
    answers, wrong = answers_of(o.against, o.folder, o.tables, sqls), []
    names = o.names or [name for name in sqls if name[0] == "q" or not o.short]
    for name in names:
        begin, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        remark, rows = "", []
        try:
            rows = nilas_rows(o.nilas, o.folder, o.tables, sqls[name], *options)
            fault = None
        except RuntimeError as error:
            fault = str(error)
        seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        if fault and "[DIVIDE_BY_ZERO]" in fault and o.against == "duckdb" and has_no_quotient(answers(name)):
            fault, remark = None, "DIVIDE_BY_ZERO, where DuckDB gives NULL or no number"
        elif fault is None:
            try:
                fault, remark = judge(answers(name), rows, sqls[name], lambda: answers(name, unlimited=True))
                if not fault and o.against == "spark":
                    fault = schema_fault(o, name, sqls[name])
                if fault and o.against == "duckdb" and name in OTHERWISE_IN_SPARK:
                    fault, remark = None, OTHERWISE_IN_SPARK[name]
            except Exception as error:  # the other engine's
                fault = f"no answer to compare with: {type(error).__name__} {str(error)[:200]}"
        if fault:
            wrong.append(name)
        if fault or not o.short:
            print(f"{name:10} {seconds:7.2f} s {cpu:7.2f} cpu {len(rows):6} rows  {fault or 'right'}{remark and ': ' + remark}", flush=True)
    total = len(names)
    print(f"{total - len(wrong)} of {total} right at scale {o.scale}, tables {o.tables}, against {o.against}"
          + (f", with {o.memory}" if o.memory else "") + (f"; not: {' '.join(wrong)}" if wrong else ""))
    return len(wrong)


# ---- speed

def used(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def speed(o, sqls):
    """In sessions that ran the query once already; a process of nilas per query, whose start and exit are halved in."""
    database, rows = tpch.connect("avro", "iceberg"), []
    database.execute("SET threads = 2; SET unsafe_enable_version_guessing = true; SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for table in KEYS:
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM iceberg_scan('{o.folder}/warehouse/{o.tables}/{table}')")
    for name in o.names or [name for name in sqls if re.fullmatch(r"q\d+[ab]?", name)]:
        before = used(resource.RUSAGE_CHILDREN)
        nilas_rows(o.nilas, o.folder, o.tables, f"{sqls[name]}; {sqls[name]}")
        nilas = (used(resource.RUSAGE_CHILDREN) - before) / 2
        duck, sql = math.inf, duckdb_text(sqls[name])
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["data", "delete", "record", "speed", "check"])
    parser.add_argument("nilas", type=os.path.abspath)
    parser.add_argument("scale")
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).absolute())
    parser.add_argument("names", nargs="*")
    parser.add_argument("--memory")
    parser.add_argument("--short", action="store_true", help="only Spark's texts, and lines only of what is wrong")
    parser.add_argument("--tables", default="plain")
    parser.add_argument("--against", default="duckdb", choices=["spark", "duckdb"])
    o = parser.parse_intermixed_args()
    make_data(o.nilas, o.scale, o.folder)
    if o.command == "delete" or o.tables != "plain":
        deleted_rows.make(lambda sql: tpch.nilas_sql(o.nilas, o.folder, sql), tpch.connect(), o.folder, "plain", KEYS)
    if o.command == "record":
        chosen = {name: sql for name, sql in read_queries().items() if not o.names or name in o.names}
        deleted_rows.spark_side(o.folder, chosen, "record", o.tables, o.folder / "answers" / ("plain" if o.tables == "plain" else "deleted"))
    if o.command == "speed":
        speed(o, read_queries())
    if o.command == "check":
        sys.exit(check(o, read_queries()) > 0)


main() if __name__ == "__main__" else None
