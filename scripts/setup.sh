#!/usr/bin/env bash
# Installs the Debian packages that building and testing need; does nothing when they are there. Needs root or sudo only
# when something is missing. On other systems it names what CMake looks for and lets the build try.
set -euo pipefail
packages=(build-essential cmake ninja-build pkg-config ccache python3 python3-venv tzdata
  zlib1g-dev libbz2-dev libzstd-dev liblz4-dev libsnappy-dev libdeflate-dev libbrotli-dev libjansson-dev libpcre2-dev
  libedit-dev libroaring-dev libxxhash-dev libutf8proc-dev libcmocka-dev libssl-dev
  libcurl4-openssl-dev libpq-dev libsqlite3-dev libmicrohttpd-dev protobuf-c-compiler libprotobuf-c-dev libnghttp2-dev)
if ! command -v dpkg-query > /dev/null; then
  echo "This system has no dpkg: nothing is installed. What Debian calls the packages needed: ${packages[*]}" >&2
  exit 0
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "These packages are missing, and installing them takes root:
    ${missing[*]}
Ask for, or run as root:
    apt-get update && apt-get install -y ${missing[*]}
Then start again as yourself." >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
