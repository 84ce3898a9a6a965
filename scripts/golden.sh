#!/usr/bin/env bash
# Spark's own SQL tests on nilas: fetches them from Maven once (the cache lies outside the tree) and runs tests/golden/golden.py.
#
#     scripts/golden.sh build/debug/unit/golden_runner [--check | --record | --failures] [FILE ...]
set -euo pipefail
cd "$(dirname "$0")/.."
runner=$1
shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/jars
jar=$cache/spark-sql_2.13-4.0.1-tests.jar
if [ ! -s "$jar" ]; then
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
  command -v mvn > /dev/null ||
    { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless maven; } > /dev/null 2>&1 || true
  command -v mvn > /dev/null || { echo "golden: needs Maven. As root: apt-get install openjdk-17-jre-headless maven" >&2; exit 1; }
  mkdir -p "$cache"
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.apache.spark:spark-sql_2.13:4.0.1:jar:tests -DoutputDirectory="$cache" >&2 ||
    { echo "golden: Maven could not fetch org.apache.spark:spark-sql_2.13:4.0.1:jar:tests" >&2; exit 1; }
fi
NILAS_SPARK_SQL_TESTS=$jar exec python3 tests/golden/golden.py --runner "$runner" "$@"
