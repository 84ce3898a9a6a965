#!/usr/bin/env bash
# Measures nilas against Spark and DuckDB in one run: bench/run.sh path/to/nilas [bench.py's options]; see bench/README.md.
# SPARK_PYTHON names an interpreter with pyspark 4.0, ICEBERG_JAR Iceberg's runtime for it; without them Spark is left out.
set -euo pipefail
nilas=$(realpath "${1:?usage: bench/run.sh path/to/nilas [options]}")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/tpch.sh" "$nilas" "${SCALE:-1}" data # makes the data and the Python environment
"${XDG_CACHE_HOME:-$HOME/.cache}/nilas-bench/venv/bin/python" "$root/bench/bench.py" "$nilas" "$@"
