#!/usr/bin/env bash
# Runs examples/orders.sql with the given nilas on an empty warehouse.
set -euo pipefail
nilas=$(realpath "$1")
example=$(realpath "$(dirname "$0")/../examples/orders.sql")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$nilas" sql -S --conf spark.sql.session.timeZone=UTC --format table -f "$example"
