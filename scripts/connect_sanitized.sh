#!/usr/bin/env bash
# PySpark against `nilas connect` built with sanitizers: fails for every report, whatever the tests say.
#
#     scripts/connect_sanitized.sh asan|tsan [name…]     name: of scripts/connect_test.sh
set -euo pipefail
preset=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export NILAS_SANITIZED=$preset
export TSAN_OPTIONS="second_deadlock_stack=1:history_size=5:suppressions=$root/tests/tsan.supp:log_path=$reports/tsan"
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:log_path=$reports/asan"
export UBSAN_OPTIONS="print_stacktrace=1:log_path=$reports/ubsan"
export LSAN_OPTIONS="suppressions=$root/tests/lsan.supp:print_suppressions=0"
status=0
"$root/scripts/connect_test.sh" "$root/build/$preset/nilas" "$@" || status=1
for report in "$reports"/*; do
  [ -e "$report" ] || continue
  status=1
  cat "$report"
done
exit $status
