#!/usr/bin/env bash
# The demo prints what the same statements print in Spark; only the size of the rewritten files is the writer's own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
without_bytes() { sed -E 's/\| +[0-9]+\|( +0\| +0\|)$/| bytes|\1/'; }
if diff -u <(without_bytes < "$here/../tests/demo.expected") <("$here/demo.sh" "$1" | without_bytes); then
  echo "demo: 1 passed, 0 failed"
else
  echo "demo: 0 passed, 1 failed"
  exit 1
fi
