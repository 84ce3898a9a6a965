#!/usr/bin/env bash
# dbt-spark's session method by `nilas submit`: the project of tests/connect/dbt, compared with what it does on real Spark.
#
#     scripts/dbt.sh path/to/nilas
#
# Python packages are kept outside the tree, in $XDG_CACHE_HOME/nilas-tests/venv-dbt.
set -euo pipefail
nilas=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/venv-dbt
if ! "$venv/bin/python" -c 'import dbt.adapters.spark, pyspark, pandas, pyarrow, grpc_status' 2> /dev/null; then
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q 'dbt-core~=1.10.0' 'dbt-spark~=1.10.0' 'pyspark[connect]==4.0.1'
fi
timeout 900 "$venv/bin/python" "$root/tests/connect/dbt/project_test.py" "$nilas" "$venv/bin/python"
