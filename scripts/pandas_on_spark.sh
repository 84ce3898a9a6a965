#!/usr/bin/env bash
# pandas-on-Spark through `nilas connect`: the expressions of tests/connect/pandas, compared with what they show on real Spark.
#
#     scripts/pandas_on_spark.sh path/to/nilas
#
# PySpark 4.0 wants pandas 2 for it; packages are kept outside the tree, in $XDG_CACHE_HOME/nilas-tests/venv-pandas.
set -euo pipefail
nilas=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/venv-pandas
if ! "$venv/bin/python" -c 'import pyspark, pandas, pyarrow, grpc_status; assert pandas.__version__ < "3"' 2> /dev/null; then
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q 'pyspark[connect]==4.0.1' 'pandas<3'
fi
timeout 600 "$venv/bin/python" "$root/tests/connect/pandas/pandas_on_spark_test.py" "$nilas"
