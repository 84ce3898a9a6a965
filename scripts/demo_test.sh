#!/usr/bin/env bash
# The demo prints what the book's chapter prints.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if diff -u "$here/../tests/demo.expected" <("$here/demo.sh" "$1"); then
  echo "demo: 1 passed, 0 failed"
else
  echo "demo: 0 passed, 1 failed"
  exit 1
fi
