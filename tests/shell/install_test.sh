#!/bin/sh
# Installs a build into an empty folder, moves it, runs nilas from there and compiles examples/query.c against libnilas.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/first" > "$folder/log"
mv "$folder/first" "$folder/moved"
cd "$folder"
[ "$(moved/bin/nilas sql -S -e 'SELECT 1 + 1')" = 2 ]
[ "$(moved/bin/nilas version)" = "$("$build/nilas" version)" ]
pc=$(dirname "$(find moved -name nilas.pc)")
# shellcheck disable=SC2046
${CC:-cc} -Wall -Werror "$source/examples/query.c" $(PKG_CONFIG_PATH="$folder/$pc" pkg-config --cflags --libs nilas) -o query
export LD_LIBRARY_PATH="$folder/$(dirname "$(find moved -name libnilas.so)")"
[ "$(./query "SELECT 'a' AS t, 2 AS n")" = "t,n
a,2" ]
if ./query "SELECT nope" 2> told; then exit 1; fi
grep -q 'condition UNRESOLVED_COLUMN.WITHOUT_SUGGESTION, SQLSTATE 42703' told
# Nothing but the public API is visible.
if nm -D --defined-only "$LD_LIBRARY_PATH/libnilas.so" | grep -v ' nilas_'; then exit 1; fi
echo "installed, moved, used"
