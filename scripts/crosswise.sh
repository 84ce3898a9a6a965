#!/usr/bin/env bash
# Tables that nilas writes are read by PyIceberg and pyarrow, step by step through the example.
set -euo pipefail
nilas=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests
if [ ! -x "$cache/venv/bin/python" ] || ! "$cache/venv/bin/python" -c 'import pyiceberg, pyarrow' 2>/dev/null; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q "pyiceberg[pyarrow]==0.10.0"
fi
"$cache/venv/bin/python" "$root/tests/crosswise/pyiceberg_reads.py" "$nilas"
