"""The suite TPC-H: see ../suite.py for its commands. The queries are the specification's with its validation parameters."""
import decimal
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import suite  # noqa: E402

KEYS = {"region": ["r_regionkey"], "nation": ["n_nationkey"], "supplier": ["s_suppkey"], "customer": ["c_custkey"], "part": ["p_partkey"],
        "partsupp": ["ps_partkey", "ps_suppkey"], "orders": ["o_orderkey"], "lineitem": ["l_orderkey", "l_linenumber"]}
TABLES = list(KEYS)
QUERIES = pathlib.Path(__file__).parent / "queries"


def query(number, scale):
    """The text of a query without its last semicolon; query 11's fraction depends on the scale."""
    text = (QUERIES / f"q{number:02}.sql").read_text()
    return text.replace("${FRACTION}", f"{decimal.Decimal('0.0001') / decimal.Decimal(scale):f}").strip().rstrip(";")


def queries(scale):
    return {f"q{number:02}": query(number, scale) for number in range(1, 23)}


def generate(scale, folder):
    """On disk where the data need not fit into memory."""
    large = folder / "tables.duckdb"
    database = suite.connect("tpch", file=str(large) if float(scale) > 3 else ":memory:")
    if float(scale) > 3:
        database.execute("SET memory_limit = '3GB'; SET threads = 2")
    database.execute(f"CALL dbgen(sf={scale})")
    for table in TABLES:
        database.execute(f"COPY {table} TO '{folder}/parquet/{table}.parquet' (FORMAT parquet, COMPRESSION zstd)")
        database.execute(f"DROP TABLE {table}")
    database.close()
    large.unlink(missing_ok=True)


suite.main(suite.Suite("TPC-H", "tpch", KEYS, queries, lambda name: True, generate)) if __name__ == "__main__" else None
