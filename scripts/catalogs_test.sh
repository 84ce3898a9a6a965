#!/usr/bin/env bash
# Catalogs used by nilas, real Spark and PyIceberg by turns, each with the service it needs: see tests/catalogs.
#
#     scripts/catalogs_test.sh path/to/nilas [TEST …]       TEST: jdbc, glue, rest …; all when none is named
#
# Python packages and Spark's jars are kept outside the tree, in $XDG_CACHE_HOME/nilas-tests; PostgreSQL, Java and Maven
# are installed by apt where they are missing. Services run on free ports and are stopped by their pids.
set -euo pipefail
nilas=$(realpath "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests
here=$root/tests/catalogs
packages=("pyspark==4.0.1" "pyiceberg[pyarrow,sql-postgres,sql-sqlite,glue,hive]==0.12.0" pandas boto3 "moto[server]")
iceberg=1.10.0

need() { # commands and the Debian packages that bring them: need java,mvn openjdk-17-jre-headless maven
  local commands=$1
  shift
  local missing=false as_root=""
  for command in ${commands//,/ }; do command -v "$command" > /dev/null || missing=true; done
  $missing || return 0
  [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
  { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@"; } > /dev/null 2>&1 || true
  for command in ${commands//,/ }; do
    command -v "$command" > /dev/null || { echo "catalogs: needs $command. As root: apt-get install $*" >&2; exit 1; }
  done
}
jar() { # group:artifact:version
  local file=$cache/jars/$(echo "$1" | cut -d: -f2)-$(echo "$1" | cut -d: -f3).jar
  mkdir -p "$cache/jars"
  [ -f "$file" ] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact="$1" -DoutputDirectory="$cache/jars" >&2 ||
    { echo "catalogs: Maven could not fetch $1" >&2; exit 1; }
  echo "$file"
}

need java,mvn openjdk-17-jre-headless maven
if ! compgen -G "/usr/lib/postgresql/*/bin/initdb" > /dev/null && ! command -v initdb > /dev/null; then need psql postgresql; fi
python=$cache/venv/bin/python
if ! "$python" -c 'import pyspark, pyiceberg, pyarrow, pandas, sqlalchemy, psycopg2, boto3, moto.server, flask, thrift' 2> /dev/null; then
  [ -x "$python" ] || python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q "${packages[@]}"
fi
NILAS_SPARK_JARS=$(jar org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:$iceberg),$(jar org.apache.iceberg:iceberg-aws-bundle:$iceberg)
NILAS_SPARK_JARS+=,$(jar org.postgresql:postgresql:42.7.5),$(jar org.xerial:sqlite-jdbc:3.49.1.0)
export NILAS_METASTORE_TEMPLATE=$cache/metastore-template # a Derby database with the metastore's tables made
export NILAS_SPARK_JARS SPARK_LOCAL_IP=127.0.0.1 TZ=UTC
tests=("$@")
[ ${#tests[@]} -gt 0 ] || for file in "$here"/*_test.py; do tests+=("$(basename "$file" _test.py)"); done
for test in "${tests[@]}"; do
  file=$here/${test%-long}_test.py
  [ -f "$file" ] || file=$here/$test.py # the long ones, by name only: nessie
  long=()
  [ "$test" = "${test%-long}" ] || long=(long)
  "$python" "$file" "$nilas" "${long[@]}" 2> "$cache/catalogs-$test.log" || { tail -40 "$cache/catalogs-$test.log" >&2; exit 1; }
done
