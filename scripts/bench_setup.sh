# Sourced by tpch.sh and tpcds.sh: sets $root, $cache and $python, a Python with DuckDB and its extensions, made in the cache folder.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-bench
python=$cache/venv/bin/python
[ -x "$python" ] || python3 -m venv "$cache/venv"
"$python" -c 'import duckdb, duckdb_extension_tpch, duckdb_extension_tpcds, duckdb_extension_iceberg' 2>/dev/null || "$cache/venv/bin/pip" install -q \
  duckdb==1.5.5 duckdb-extension-tpch==1.5.5 duckdb-extension-tpcds==1.5.5 duckdb-extension-iceberg==1.5.5 duckdb-extension-avro==1.5.5
