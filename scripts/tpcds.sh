#!/usr/bin/env bash
# All TPC-DS queries on Iceberg tables that nilas makes, in the texts of Spark's own tests and in those that DuckDB brings:
# scripts/tpcds.sh path/to/nilas SCALE [options of tpcds.py check]. Data and Python packages stay in the cache folder.
set -euo pipefail
nilas=$(realpath "$1")
scale=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-bench
python=$cache/venv/bin/python
jars=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/jars
jar=$jars/spark-sql_2.13-4.0.1-tests.jar
[ -x "$python" ] || python3 -m venv "$cache/venv"
"$python" -c 'import duckdb, duckdb_extension_tpcds, duckdb_extension_iceberg' 2>/dev/null || "$cache/venv/bin/pip" install -q \
  duckdb==1.5.5 duckdb-extension-tpch==1.5.5 duckdb-extension-tpcds==1.5.5 duckdb-extension-iceberg==1.5.5 duckdb-extension-avro==1.5.5
if [ ! -f "$jar" ]; then
  mkdir -p "$jars"
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.apache.spark:spark-sql_2.13:4.0.1:jar:tests -DoutputDirectory="$jars"
fi
NILAS_SPARK_SQL_TESTS=$jar "$python" "$root/bench/tpcds/tpcds.py" check "$nilas" "$scale" "$cache/tpcds-$scale" "$@"
