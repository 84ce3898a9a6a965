#!/usr/bin/env bash
# Installs the Debian packages that building and testing need; does nothing when they are there.
set -euo pipefail
packages=(build-essential cmake ninja-build pkg-config ccache python3 python3-venv tzdata
  libzstd-dev liblz4-dev libsnappy-dev libdeflate-dev libbrotli-dev libjansson-dev libpcre2-dev libedit-dev
  libroaring-dev libxxhash-dev libutf8proc-dev libcmocka-dev libssl-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "Installing: ${missing[*]}"
as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq "${missing[@]}"
