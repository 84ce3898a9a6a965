#!/usr/bin/env bash
# The chapter's listings by real Spark with Iceberg's AWS bundle against `nilas up`: tests/lakehouse/chapter_spark.py.
#
#     scripts/lakehouse_spark.sh path/to/nilas
#
# Python packages and jars are kept in $XDG_CACHE_HOME/nilas-tests. NILAS_TEST_PYTHON names a Python that has the packages.
set -euo pipefail
nilas=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests
packages=("pyspark==4.0.1" "pyiceberg[pyarrow]==0.12.0" pandas "boto3==1.44.8")
names=(iceberg-spark-runtime-4.0_2.13 iceberg-aws-bundle)

for program in java mvn; do
  if ! command -v $program > /dev/null; then
    echo "lakehouse-spark: $program is missing. As root: apt-get install openjdk-17-jre-headless maven" >&2
    exit 1
  fi
done
python=${NILAS_TEST_PYTHON:-$cache/venv-spark/bin/python}
if ! "$python" -c 'import pyspark, pyiceberg, pyarrow, boto3' 2> /dev/null; then
  python=$cache/venv-spark/bin/python
  [ -x "$python" ] || python3 -m venv "$cache/venv-spark"
  "$python" -m pip install -q "${packages[@]}"
fi
mkdir -p "$cache/jars"
jars=()
for name in "${names[@]}"; do
  jar=$cache/jars/$name-1.10.0.jar
  [ -s "$jar" ] || mvn -q -B dependency:copy "-Dartifact=org.apache.iceberg:$name:1.10.0" "-DoutputDirectory=$cache/jars"
  jars+=("$jar")
done
timeout 1200 "$python" "$root/tests/lakehouse/chapter_spark.py" "$nilas" "$(IFS=,; echo "${jars[*]}")"
