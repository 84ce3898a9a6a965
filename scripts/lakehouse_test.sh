#!/usr/bin/env bash
# The local lakehouse, used by real clients: every tests/lakehouse/*_test.py with its own `nilas up` on free ports.
#
#     scripts/lakehouse_test.sh path/to/nilas [name…]     name: up, s3 …; all without one
#
# Python packages are kept outside the tree, in $XDG_CACHE_HOME/nilas-tests. NILAS_TEST_PYTHON names a Python that has
# them already.
set -euo pipefail
nilas=$(realpath "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests
packages=("boto3==1.44.8" "pyiceberg[pyarrow]==0.12.0" "playwright==1.65.2" "trino==0.340.0"
  "duckdb==1.5.5" "duckdb-extension-httpfs==1.5.5" "duckdb-extension-avro==1.5.5" "duckdb-extension-iceberg==1.5.5" "awscli==1.46.3")

python=${NILAS_TEST_PYTHON:-$cache/venv-lakehouse/bin/python}
if ! "$python" -c 'import boto3, pyiceberg, pyarrow, playwright, trino, duckdb, duckdb_extension_httpfs, duckdb_extension_iceberg, duckdb_extension_avro, awscli' 2> /dev/null; then
  python=$cache/venv-lakehouse/bin/python
  [ -x "$python" ] || python3 -m venv "$cache/venv-lakehouse"
  "$python" -m pip install -q "${packages[@]}"
fi
if [ -z "${NILAS_TEST_CHROMIUM:-}" ] && ! command -v chromium > /dev/null; then # of dashboard_test.py, which says so when it cannot be had
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
  { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends chromium; } > /dev/null 2>&1 || true
fi
wants() { [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $1 "* ]]; }
names=("$@")
if wants s3_clients || wants glue_service; then # s3fs holds botocore at another version than boto3 does; Spark has its own Python and jars
  export NILAS_S3FS_PYTHON=${NILAS_S3FS_PYTHON:-$cache/venv-s3fs/bin/python} NILAS_SPARK_PYTHON=${NILAS_SPARK_PYTHON:-$cache/venv/bin/python}
  "$NILAS_S3FS_PYTHON" -c 'import s3fs' 2> /dev/null || { python3 -m venv "$cache/venv-s3fs" && "$cache/venv-s3fs/bin/pip" install -q "s3fs==2026.9.0"; }
  "$NILAS_SPARK_PYTHON" -c 'import pyspark' 2> /dev/null || { python3 -m venv "$cache/venv" && "$cache/venv/bin/pip" install -q "pyspark==4.0.1"; }
  if [ -z "${NILAS_SPARK_JARS:-}" ]; then
    if ! command -v java > /dev/null || ! command -v mvn > /dev/null; then
      as_root=""
      [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
      { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless maven; } > /dev/null 2>&1 || true
    fi
    mkdir -p "$cache/jars"
    for artifact in org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0 org.apache.iceberg:iceberg-aws-bundle:1.10.0 org.xerial:sqlite-jdbc:3.49.1.0; do
      name=${artifact#*:}
      jar=$cache/jars/${name/:/-}.jar
      [ -f "$jar" ] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy "-Dartifact=$artifact" "-DoutputDirectory=$cache/jars" ||
        { echo "lakehouse: Maven could not fetch $artifact; NILAS_SPARK_JARS may name the jars" >&2; exit 1; }
      NILAS_SPARK_JARS=${NILAS_SPARK_JARS:+$NILAS_SPARK_JARS,}$jar
    done
    export NILAS_SPARK_JARS
  fi
fi
status=0
for test in "$root"/tests/lakehouse/*_test.py; do
  name=$(basename "$test" _test.py)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  echo "-- $name"
  timeout 900 "$python" "$test" "$nilas" ${NILAS_TEST_ARGUMENTS:-} || status=1
done
exit $status
