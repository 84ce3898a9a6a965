#!/usr/bin/env bash
# The 22 TPC-H queries on Iceberg tables that nilas makes: scripts/tpch.sh path/to/nilas SCALE [check|modes …, as bench/suite.py says].
# Data, Spark's answers and Python packages stay in the cache folder.
set -euo pipefail
source "$(dirname "$0")/bench_setup.sh"
nilas=$(realpath "$1") scale=$2 command=${3:-check}
shift "$(($# < 3 ? 2 : 3))"
exec "$python" "$root/bench/tpch/tpch.py" "$command" "$nilas" "$scale" "$cache/tpch-$scale" "$@"
