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
if ! compgen -G "/usr/lib/postgresql/*/bin/initdb" > /dev/null && ! command -v initdb > /dev/null; then # jdbc_test.py
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
  { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends postgresql; } > /dev/null 2>&1 ||
    { echo "connect: needs PostgreSQL. As root: apt-get install postgresql" >&2; exit 1; }
fi
status=0
for test in "$root"/tests/connect/*_test.py; do
  name=$(basename "$test" _test.py)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  timeout "${NILAS_SANITIZED:+1}300" "$python" "$test" "$nilas" || status=1
done
exit $status
