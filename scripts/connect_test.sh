#!/usr/bin/env bash
# PySpark against `nilas connect`: every tests/connect/*_test.py with a server of its own on a free port.
#
#     scripts/connect_test.sh path/to/nilas [name…]     name: session, wire …; all without one
#
# Python packages are kept outside the tree, in $XDG_CACHE_HOME/nilas-tests. NILAS_TEST_PYTHON names a Python that has
# them already.
set -euo pipefail
nilas=$(realpath "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests
python=${NILAS_TEST_PYTHON:-$cache/venv/bin/python}
wanted='import pytest, pyspark, pandas, pyarrow, grpc, grpc_status, google.rpc, google.protobuf'
if ! "$python" -c "$wanted" 2> /dev/null; then
  python=$cache/venv/bin/python # the one of catalogs_test.sh, which has PySpark already
  [ -x "$python" ] || python3 -m venv "$cache/venv"
  "$python" -m pip install -q "pyspark[connect]==4.0.1" pytest
fi
status=0
for test in "$root"/tests/connect/*_test.py; do
  name=$(basename "$test" _test.py)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  timeout "${NILAS_SANITIZED:+1}300" "$python" "$test" "$nilas" || status=1
done
exit $status
