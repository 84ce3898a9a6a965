#!/usr/bin/env bash
# The tests of sessions and DataFrames by other versions of the client than the one of connect_test.sh.
#
#     scripts/connect_clients.sh path/to/nilas [version…]
#
# Each has a folder of its own in $XDG_CACHE_HOME/nilas-tests, outside the tree.
set -euo pipefail
nilas=$(realpath "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- 4.0.0 4.0.4 4.1.3 4.2.0
status=0
for version in "$@"; do
  venv=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/venv-client-$version
  if ! "$venv/bin/python" -c 'import pyspark, pandas, pyarrow, grpc_status' 2> /dev/null; then
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/python" -m pip install -q "pyspark-client==$version"
  fi
  echo "pyspark-client $version"
  for name in session dataframe; do timeout 300 "$venv/bin/python" -W ignore "$root/tests/connect/${name}_test.py" "$nilas" || status=1; done
done
exit $status
