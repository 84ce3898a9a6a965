#!/usr/bin/env bash
# Tables written by nilas are read by Spark, PyIceberg and DuckDB, and the other way round: see tests/crosswise.
#
#     scripts/crosswise.sh path/to/nilas           PyIceberg after each kind of statement; the chapter in turn with Spark
#     scripts/crosswise.sh path/to/nilas --full    the same in full, the matrix of types, the files in detail, and the procedures
#
# Python packages and Spark's jars are kept outside the tree, in $XDG_CACHE_HOME/nilas-tests. NILAS_TEST_PYTHON names a
# Python that has the packages already, NILAS_SPARK_JARS the Iceberg runtime's jar. Java and Maven are installed by apt
# where they are missing; without them this fails, for nothing would show that Spark reads the tables.
set -euo pipefail
nilas=$(realpath "$1")
full=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests
here=$root/tests/crosswise
duckdb=1.5.5
packages=("pyspark==4.0.1" "pyiceberg[pyarrow]==0.12.0" pandas "duckdb==$duckdb" "duckdb-extensions==$duckdb"
  "duckdb-extension-iceberg==$duckdb" "duckdb-extension-avro==$duckdb")

python=${NILAS_TEST_PYTHON:-$cache/venv/bin/python}
if ! "$python" -c 'import pyspark, pyiceberg, pyarrow, pandas, duckdb, duckdb_extension_iceberg, duckdb_extension_avro' 2> /dev/null; then
  python=$cache/venv/bin/python
  [ -x "$python" ] || python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q "${packages[@]}"
fi
"$python" "$here/pyiceberg_reads.py" "$nilas"

has_java() { command -v java > /dev/null && { [ -n "${NILAS_SPARK_JARS:-}" ] || command -v mvn > /dev/null; }; }
if ! has_java; then
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
  { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq openjdk-17-jre-headless maven; } > /dev/null 2>&1 || true
fi
if ! has_java; then
  echo "crosswise: Spark needs java and mvn. As root: apt-get install openjdk-17-jre-headless maven" >&2
  exit 1
fi
if [ -z "${NILAS_SPARK_JARS:-}" ]; then
  mkdir -p "$cache/jars"
  jar=$cache/jars/iceberg-spark-runtime-4.0_2.13-1.10.0.jar
  [ -f "$jar" ] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    -Dartifact=org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0 -DoutputDirectory="$cache/jars" ||
    { echo "crosswise: Maven could not fetch the Iceberg runtime; NILAS_SPARK_JARS may name its jar" >&2; exit 1; }
  export NILAS_SPARK_JARS=$jar
fi
export SPARK_LOCAL_IP=127.0.0.1 TZ=UTC
quiet() { "$python" "$@" 2> "$cache/spark.log" || { tail -20 "$cache/spark.log" >&2; return 1; }; }
if [ "$full" = --full ]; then
  status=0
  quiet "$here/chapter.py" "$nilas" --full || status=1
  quiet "$here/matrix.py" "$nilas" --full || status=1
  quiet "$here/files.py" "$nilas" || status=1
  quiet "$here/procedures.py" "$nilas" || status=1
  exit $status
fi
quiet "$here/chapter.py" "$nilas"
