#!/usr/bin/env bash
# PySpark's own docstrings against `nilas connect`: counts, of those that pass with a real Spark Connect server, the ones
# that pass here. What fails is told in build/connect-doctests.txt.
#
#     scripts/connect_doctests.sh path/to/nilas [MODULE…]     MODULE: functions, dataframe, column …
set -euo pipefail
nilas=$(realpath "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
python=${NILAS_TEST_PYTHON:-${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/venv/bin/python}
"$python" -c 'import pyspark, pandas, grpc' 2> /dev/null || { echo "connect-doctests: run scripts/connect_test.sh once: it gets PySpark" >&2; exit 1; }
folder=$(mktemp -d)
cd "$folder"
TZ=UTC PYSPARK_PYTHON="$python" "$nilas" connect --port 0 -c spark.sql.defaultCatalog=spark_catalog > log 2>&1 &
server=$!
trap 'kill $server 2> /dev/null || true; wait $server 2> /dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
  grep -q 'sc://' log && break
  kill -0 $server 2> /dev/null || { cat log >&2; exit 1; }
  sleep 0.1
done
url=$(grep -o 'sc://[^ ]*' log | head -1)
mkdir -p "$root/build"
"$python" "$root/tests/connect/doctests.py" "$url" "$@" --against "$root/tests/connect/doctests.txt" --failures "$root/build/connect-doctests.txt"
