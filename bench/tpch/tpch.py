"""TPC-H on Iceberg tables that nilas makes: the data, the queries, and a comparison of answers.

    tpch.py data  NILAS SCALE FOLDER     dbgen (DuckDB's) to Parquet, then Iceberg tables by nilas in FOLDER/warehouse
    tpch.py check NILAS SCALE FOLDER [--memory SIZE] [--tables tpch|position|vector|equality] [QUERY ...]
                                         every answer against DuckDB's on the same Parquet files, less what deleted_rows.py deletes

Needs the packages duckdb and duckdb-extension-tpch. Doubles may differ by 1e-9 of their size, everything else is equal,
row for row in the order of the query.
"""
import argparse
import decimal
import importlib
import os
import pathlib
import subprocess
import sys
import time

KEYS = {"region": ["r_regionkey"], "nation": ["n_nationkey"], "supplier": ["s_suppkey"], "customer": ["c_custkey"], "part": ["p_partkey"],
        "partsupp": ["ps_partkey", "ps_suppkey"], "orders": ["o_orderkey"], "lineitem": ["l_orderkey", "l_linenumber"]}
TABLES = list(KEYS)
QUERIES = pathlib.Path(__file__).parent / "queries"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import deleted_rows  # noqa: E402


def query(number, scale):
    """The text of a query without its last semicolon; query 11's fraction depends on the scale."""
    text = (QUERIES / f"q{number:02}.sql").read_text()
    return text.replace("${FRACTION}", f"{decimal.Decimal('0.0001') / decimal.Decimal(scale):f}").strip().rstrip(";")


def connect(*extensions, file=":memory:"):
    """DuckDB with extensions out of their Python packages."""
    import duckdb
    database = duckdb.connect(file)
    for extension in extensions:
        folder = pathlib.Path(importlib.import_module(f"duckdb_extension_{extension}").__file__).parent
        file, = folder.glob(f"extensions/v{duckdb.__version__}/{extension}.duckdb_extension")
        database.execute(f"LOAD '{file}'")
    return database


def connect_on_disk(folder):
    """For data that need not fit into memory."""
    database = connect("tpch", file=f"{folder}/tables.duckdb")
    database.execute("SET memory_limit = '3GB'; SET threads = 2")
    return database


def nilas_sql(nilas, folder, sql, *options):
    """Runs statements in the namespace tpch of FOLDER/warehouse; rows as lists of texts."""
    done = subprocess.run([nilas, "sql", "-S", *options, "-e", sql], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
    return [line.split("\t") for line in done.stdout.split("\n")[:-1]]


def make_data(nilas, scale, folder):
    """Leaves what is complete already: the namespace's last table is made last."""
    folder = pathlib.Path(folder)
    done = folder / "complete"
    if done.exists():
        return
    (folder / "parquet").mkdir(parents=True, exist_ok=True)
    database = connect("tpch") if float(scale) <= 3 else connect_on_disk(folder)
    database.execute(f"CALL dbgen(sf={scale})")
    for table in TABLES:
        database.execute(f"COPY {table} TO '{folder}/parquet/{table}.parquet' (FORMAT parquet, COMPRESSION zstd)")
        database.execute(f"DROP TABLE {table}")
    database.close()
    (folder / "tables.duckdb").unlink(missing_ok=True)
    nilas_sql(nilas, folder, "CREATE NAMESPACE IF NOT EXISTS tpch")
    for table in TABLES:
        begin = time.perf_counter()
        nilas_sql(nilas, folder, f"CREATE TABLE tpch.{table} USING iceberg TBLPROPERTIES ('format-version' = '2') "
                                 f"AS SELECT * FROM parquet.`{folder}/parquet/{table}.parquet`")
        print(f"{table}: {time.perf_counter() - begin:.2f} s", flush=True)
    done.touch()


def expected_rows(database, number, scale):
    return database.execute(query(number, scale)).fetchall()


def same_cell(expected, text):
    """Spark's division of decimals has fewer digits than DuckDB's, which gives doubles: those are compared as such."""
    if expected is None:
        return text == "NULL"
    if isinstance(expected, float):
        return abs(expected - float(text)) <= max(1e-9 * abs(expected), 0.5000001 * 10.0 ** -places(text))
    if isinstance(expected, (int, decimal.Decimal)):
        return decimal.Decimal(text) == expected
    return str(expected) == text


def places(text):
    """Digits behind the point; a double prints enough of them not to matter."""
    return len(text.split(".")[1]) if "." in text and "E" not in text else 17


def difference(expected, rows):
    """None, or what is wrong first."""
    if len(expected) != len(rows):
        return f"{len(rows)} rows instead of {len(expected)}"
    for index, (want, have) in enumerate(zip(expected, rows)):
        if len(want) != len(have) or not all(same_cell(w, h) for w, h in zip(want, have)):
            return f"row {index + 1} is {have} instead of {want}"
    return None


def check(nilas, scale, folder, tables, memory, numbers):
    database = connect()
    for table in TABLES:
        kept = "" if tables == "tpch" else f" WHERE NOT {deleted_rows.gone(KEYS[table])}"
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder}/parquet/{table}.parquet'){kept}")
    options = ["--conf", f"spark.nilas.memory={memory}"] if memory else []
    wrong = 0
    for number in numbers:
        begin = time.perf_counter()
        try:
            rows = nilas_sql(nilas, folder, f"USE {tables}; " + query(number, scale), *options)
            fault = difference(expected_rows(database, number, scale), rows)
        except RuntimeError as error:
            fault = str(error)
        wrong += fault is not None
        print(f"q{number:02} {time.perf_counter() - begin:7.2f} s  {fault or 'right'}", flush=True)
    print(f"{len(numbers) - wrong} of {len(numbers)} right at scale {scale}, tables {tables}" + (f" with {memory}" if memory else ""))
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["data", "check"])
    parser.add_argument("nilas", type=os.path.abspath)
    parser.add_argument("scale")
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("numbers", type=int, nargs="*")
    parser.add_argument("--memory")
    parser.add_argument("--tables", default="tpch", choices=["tpch", *deleted_rows.NAMESPACES])
    options = parser.parse_intermixed_args()
    make_data(options.nilas, options.scale, options.folder)
    if options.tables != "tpch":
        deleted_rows.make(lambda sql: nilas_sql(options.nilas, options.folder, sql), connect(), pathlib.Path(options.folder), "tpch", KEYS)
    if options.command == "check":
        sys.exit(check(options.nilas, options.scale, options.folder, options.tables, options.memory, options.numbers or range(1, 23)) > 0)


main() if __name__ == "__main__" else None
