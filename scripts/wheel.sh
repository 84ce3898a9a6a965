#!/bin/sh
# A Python wheel of the program and what belongs to it in Python (python/): scripts/wheel.sh PROGRAM FOLDER
# The wheel is for this platform and any Python; its file name is printed.
set -eu
program=$1
folder=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$root/python/." "$work"
mkdir -p "$work/nilas/bin" "$folder"
install -m 755 "$program" "$work/nilas/bin/nilas"
strip "$work/nilas/bin/nilas"
"$program" version | cut -d' ' -f2 > "$work/VERSION"
printf '[bdist_wheel]\npython_tag = py3\nplat_name = %s\n' "linux_$(uname -m)" > "$work/setup.cfg"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nilas-tests/venv-wheel
if [ ! -x "$cache/bin/pip" ]; then
	python3 -m venv "$cache"
	"$cache/bin/pip" install --quiet 'setuptools>=68' wheel
fi
"$cache/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$folder" "$work"
ls -t "$folder"/nilas-*.whl | head -1
