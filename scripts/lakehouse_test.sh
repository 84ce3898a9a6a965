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
packages=("boto3==1.44.8" "pyiceberg[pyarrow]==0.12.0" "playwright==1.65.2")

python=${NILAS_TEST_PYTHON:-$cache/venv-lakehouse/bin/python}
if ! "$python" -c 'import boto3, pyiceberg, pyarrow, playwright' 2> /dev/null; then
  python=$cache/venv-lakehouse/bin/python
  [ -x "$python" ] || python3 -m venv "$cache/venv-lakehouse"
  "$python" -m pip install -q "${packages[@]}"
fi
if [ -z "${NILAS_TEST_CHROMIUM:-}" ] && ! command -v chromium > /dev/null; then # of dashboard_test.py, which says so when it cannot be had
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
  { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends chromium; } > /dev/null 2>&1 || true
fi
status=0
for test in "$root"/tests/lakehouse/*_test.py; do
  name=$(basename "$test" _test.py)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  echo "-- $name"
  timeout 900 "$python" "$test" "$nilas" ${NILAS_TEST_ARGUMENTS:-} || status=1
done
exit $status
