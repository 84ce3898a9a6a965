#!/usr/bin/env bash
# All 22 TPC-H queries on Iceberg tables that nilas makes, answers against DuckDB's on the same data:
# scripts/tpch.sh path/to/nilas SCALE [options of tpch.py check]. Data and Python packages stay in the cache folder.
set -euo pipefail
nilas=$(realpath "$1")
scale=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-bench
python=$cache/venv/bin/python
if [ ! -x "$python" ] || ! "$python" -c 'import duckdb, duckdb_extension_tpch, duckdb_extension_iceberg' 2>/dev/null; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q duckdb==1.5.5 duckdb-extension-tpch==1.5.5 duckdb-extension-iceberg==1.5.5 \
    duckdb-extension-avro==1.5.5
fi
"$python" "$root/bench/tpch/tpch.py" check "$nilas" "$scale" "$cache/tpch-$scale" "$@"
