#!/usr/bin/env bash
# Measures nilas against the engines that this machine has: bench/run.sh path/to/nilas [rows]
# See bench/README.md. PYTHON names the interpreter whose duckdb and pyspark packages are the peers.
set -euo pipefail
nilas=$(realpath "${1:?usage: bench/run.sh path/to/nilas [rows]}")
rows=${2:-5000000}
runs=${RUNS:-3}
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

"$nilas" sql -S -e "
CREATE NAMESPACE bench;
CREATE TABLE bench.facts USING iceberg AS
SELECT id, id % 1000 AS k, id * 7919 % 1000003 AS r, CAST(id % 9973 AS double) / 4 AS x, concat('name-', id % 500) AS s
FROM range($rows);"

cat > queries.txt <<'SQL'
scan	SELECT count(*), sum(x) FROM facts
filter	SELECT count(*), sum(r) FROM facts WHERE k < 10 AND x > 100
pruned	SELECT sum(x) FROM facts WHERE id BETWEEN 1000 AND 2000
group	SELECT s, count(*), avg(x), max(r) FROM facts GROUP BY s ORDER BY s
distinct	SELECT count(DISTINCT r) FROM facts
join	SELECT count(*), sum(a.x) FROM facts a JOIN (SELECT r FROM facts WHERE k = 7) b ON a.id = b.r
window	SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY r, id) AS n FROM facts) t
sort	SELECT id, r FROM facts ORDER BY r DESC, id LIMIT 10
SQL

cat > measure.py <<'PY'
import glob, re, statistics, subprocess, sys, time
nilas, runs = sys.argv[1], int(sys.argv[2])
queries = [line.rstrip("\n").split("\t") for line in open("queries.txt")]
files = glob.glob("warehouse/bench/facts/data/*.parquet")
results, answers = {}, {}

def same(a, b):
    return all(len(r) == len(q) and all(u == v or abs(float(u) - float(v)) <= 1e-9 * abs(float(u)) for u, v in zip(r, q))
               for r, q in zip(a, b)) and len(a) == len(b)

def measure(name, run):
    for query, sql in queries:
        times = []
        for _ in range(runs + 1):
            seconds, rows = run(sql)
            times.append(seconds)
        results[name, query] = statistics.median(times[1:])  # the first run warms the caches
        rows = [[str(cell) for cell in row] for row in rows]
        first = answers.setdefault(query, rows)
        try:
            if not same(first, rows):
                sys.exit(f"{name} answers {query} differently: {rows[:3]} instead of {first[:3]}")
        except ValueError:
            sys.exit(f"{name} answers {query} differently: {rows[:3]} instead of {first[:3]}")

def nilas_run(sql):
    """The whole process: start, plan, run, print."""
    begin = time.perf_counter()
    done = subprocess.run([nilas, "sql", "-S", "-e", "USE bench; " + sql], capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, [line.split("\t") for line in done.stdout.splitlines()]

def timed(run):
    def inner(sql):
        begin = time.perf_counter()
        rows = run(sql)
        return time.perf_counter() - begin, rows
    return inner

measure("nilas", nilas_run)
try:
    import duckdb
    duck = duckdb.connect()
    duck.execute(f"CREATE VIEW facts AS SELECT * FROM read_parquet({files!r})")
    measure("duckdb", timed(lambda sql: duck.execute(sql).fetchall()))
except ImportError:
    print("duckdb is not installed: not measured")
try:
    from pyspark.sql import SparkSession
    begin = time.perf_counter()
    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false") \
        .config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.read.parquet(*files).createOrReplaceTempView("facts")
    print(f"spark took {time.perf_counter() - begin:.1f} s to start, which is not counted below")
    measure("spark", timed(lambda sql: [tuple(row) for row in spark.sql(sql).collect()]))
except ImportError:
    print("pyspark is not installed: not measured")
names = list(dict.fromkeys(name for name, _ in results))
print(f"{'seconds':10}" + "".join(f"{name:>10}" for name in names) + "".join(f"{name + '/nilas':>15}" for name in names[1:]))
for query, _ in queries:
    own = results["nilas", query]
    print(f"{query:10}" + "".join(f"{results[name, query]:10.3f}" for name in names)
          + "".join(f"{results[name, query] / own:15.2f}" for name in names[1:]))
PY
"$python" measure.py "$nilas" "$runs"
