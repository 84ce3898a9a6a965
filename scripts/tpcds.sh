#!/usr/bin/env bash
# All TPC-DS queries on Iceberg tables that nilas makes, in the texts of Spark's own tests and in those that DuckDB brings:
# scripts/tpcds.sh path/to/nilas SCALE [check|modes …, as bench/suite.py says]. Data, Spark's answers and Python packages stay in the cache folder.
set -euo pipefail
source "$(dirname "$0")/bench_setup.sh"
nilas=$(realpath "$1") scale=$2 command=${3:-check}
shift "$(($# < 3 ? 2 : 3))"
jars=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/jars
jar=$jars/spark-sql_2.13-4.0.1-tests.jar
if [ ! -f "$jar" ]; then
  mkdir -p "$jars"
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.apache.spark:spark-sql_2.13:4.0.1:jar:tests -DoutputDirectory="$jars"
fi
NILAS_SPARK_SQL_TESTS=$jar exec "$python" "$root/bench/tpcds/tpcds.py" "$command" "$nilas" "$scale" "$cache/tpcds-$scale" "$@"
