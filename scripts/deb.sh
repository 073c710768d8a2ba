#!/usr/bin/env bash
# Builds Debian packages for this machine's architecture and system: scripts/deb.sh [FOLDER] (build/deb by
# default).
#
#   situ         the command, its completions and manual pages, the filter of its demo
#   libsitu0.1   the library; its name has the part of the version that decides about compatibility
#   libsitu-dev  headers of C and C++, the static library, the CMake package and situ.pc
#
# Install them with `apt install ./build/deb/*.deb`. With SITU_CARGO_PROFILE=dev nothing is optimized or
# compressed.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust cpp deb
out=${1:-build/deb}
compression=xz
[ "${SITU_CARGO_PROFILE:-}" != dev ] || compression=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/install.sh /usr "$work/all"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
architecture=$(dpkg --print-architecture)
series=${version%.*}
libraries=$(cd "$work/all" && find usr/lib -name "libsitu.so.$version" -printf '%h\n')

# take PACKAGE PATH...: moves files of the installation to a package.
take() {
  local package=$1 path
  shift
  for path in "$@"; do
    mkdir -p "$work/$package/$(dirname "$path")"
    mv "$work/all/$path" "$work/$package/$path"
  done
}
take "libsitu$series" "$libraries/libsitu.so.$version" "$libraries/libsitu.so.$series"
take libsitu-dev usr/include "$libraries"
take situ usr/bin usr/libexec usr/share
rmdir "$work/all/usr/lib" "$work/all/usr" "$work/all" 2>/dev/null || {
  echo "deb: files of the installation are in no package:" >&2
  find "$work/all" -type f -o -type l >&2
  exit 1
}
gzip -9n "$work/situ/usr/share/man/man1"/*.1

# libraries_of FILE...: the packages of the system's libraries that programs need.
libraries_of() {
  mkdir -p "$work/debian" && touch "$work/debian/control"
  (cd "$work" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}

# package NAME SECTION DEPENDS SUMMARY DETAILS
package() {
  local root=$work/$1 document=$work/$1/usr/share/doc/$1
  mkdir -p "$root/DEBIAN" "$document"
  cp LICENSE-APACHE LICENSE-MIT "$document"
  gzip -9nc CHANGELOG.md >"$document/changelog.gz"
  cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Version: $version
Architecture: $architecture
Section: $2
Priority: optional
Maintainer: $(sed -n 's/^authors = \["\(.*\)"\]/\1/p' Cargo.toml)
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: $3
Description: $4
 $5
CONTROL
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  chmod -R u+rwX,go+rX,go-w "$root"
  dpkg-deb --build --root-owner-group -Z$compression "$root" "$out/$1_${version}_$architecture.deb" >/dev/null
  printf 'deb: %s\n' "$out/$1_${version}_$architecture.deb" >&2
}

mkdir -p "$out"
rm -f "$out"/*.deb
printf 'activate-noawait ldconfig\n' >"$work/triggers"
mkdir -p "$work/libsitu$series/DEBIAN" && cp "$work/triggers" "$work/libsitu$series/DEBIAN"
package "libsitu$series" libs "$(libraries_of "$work/libsitu$series/$libraries/libsitu.so.$version")" \
  "zero-copy messages: library" \
  "Publishers and subscribers of C and C++ programs share messages in memory: host, CUDA or Vulkan."
package libsitu-dev libdevel "libsitu$series (= $version)" \
  "zero-copy messages: development files" \
  "Headers for C11 and C++20, a static library, a CMake package and a file for pkg-config."
# The filter of the demo needs libsitu.
programs=$(libraries_of "$work/situ/usr/bin/situ" "$work/situ/usr/bin/protoc-gen-situ")
package situ utils "$programs, libstdc++6, libsitu$series (= $version)" \
  "zero-copy messages: command" \
  "Inspects topics, nodes and traces, generates code from message definitions, checks the machine."
