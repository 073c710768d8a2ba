#!/usr/bin/env bash
# Makes the archives of a release in build/release, with checksums, and tries each of them:
#
#   situ-VERSION-ARCH-linux-gnu.tar.gz    what `make install` installs, for systems with glibc
#   situ-VERSION-ARCH-linux-musl.tar.gz   the commands alone, statically linked, for every Linux
#
#   scripts/release.sh [--tag TAG] [TARGET...]
#
# A TARGET is a triple of Rust: ARCH-unknown-linux-gnu of this machine, or x86_64-unknown-linux-musl or
# aarch64-unknown-linux-musl on any machine. Without one, both archives of this machine are made. qemu-ARCH,
# if it is installed, runs what was built for another machine. With --tag, TAG must be the tag of Situ's
# version.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'release: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
if [ "${1:-}" = --tag ]; then
  [ "${2:-}" = "v$version" ] || die "the tag is '${2:-}', but the version in Cargo.toml is $version: the tag must be v$version"
  shift 2
fi
machine=$(uname -m)
[ $# != 0 ] || set -- "$machine-unknown-linux-gnu" "$machine-unknown-linux-musl"
out=$PWD/build/release
programs=$PWD/cpp/tests/package
# Files have the time of the commit, so that the same sources give the same archive.
moment=$(git log -1 --format=%ct 2>/dev/null || date +%s)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# archive NAME: packs $work/NAME, and unpacks it to $work/tried.
archive() {
  cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$work/$1"
  chmod -R u+rwX,go+rX,go-w "$work/$1"
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$moment" -c "$1" | gzip -9n >"$out/$1.tar.gz"
  (cd "$out" && sha256sum "$1.tar.gz" >"$1.tar.gz.sha256" && sha256sum --quiet -c "$1.tar.gz.sha256")
  rm -rf "$work/tried"
  mkdir "$work/tried"
  tar -C "$work/tried" --strip-components=1 -xzf "$out/$1.tar.gz"
}

# try COMMAND...: runs the command, which may have an emulator in front. One process publishes a message, and
# another one prints it.
try() {
  local printed subscriber
  export SITU_ROOT=$work/topics
  printed=$("$@" --version)
  [ "$printed" = "situ $version" ] || die "situ --version prints '$printed', expected 'situ $version'"
  # A pattern, because the topic does not exist yet.
  "$@" topic echo --json --count 1 --timeout 60 'release/*' >"$work/printed" &
  subscriber=$!
  "$@" topic pub --wait 60 -I schema --schema schema/situ/geometry.idl release/try situ::geometry::Point \
    '{x: 1.5, y: -2, z: 40}' >/dev/null || { kill $subscriber; die "situ topic pub publishes no message"; }
  wait "$subscriber" || die "situ topic echo received no message"
  grep '"x": *1.5,.*"y": *-2.0,.*"z": *40.0' "$work/printed" >/dev/null ||
    die "situ topic echo prints $(cat "$work/printed"), expected the message with x = 1.5, y = -2, z = 40"
}

# The installation, and a program built with it.
make_gnu() {
  local name=situ-$version-$machine-linux-gnu pc
  [ "$1" = "$machine" ] || die "the archive of an installation for $1 is made on such a machine, and this is $machine"
  scripts/setup.sh rust cpp
  scripts/install.sh "/$name" "$work"
  archive "$name"
  try "$work/tried/bin/situ"
  pc=$(find "$work/tried" -name situ.pc)
  export PKG_CONFIG_PATH=${pc%/*}
  cc -std=c11 "$programs/bus.c" -o "$work/c" $(pkg-config --cflags --libs situ)
  LD_LIBRARY_PATH=${pc%/pkgconfig/*} "$work/c" || die "a C program that uses the archive fails"
}

# The commands alone. rust-lld links for every architecture; Rust has the static C library. Some crates also ask
# for libdl, which is part of that library, so an empty one is enough.
make_musl() {
  local target=$1-unknown-linux-musl name=situ-$version-$1-linux-musl variable built program
  scripts/setup.sh rust "target:$target"
  [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
  variable=${target//-/_}
  export "CARGO_TARGET_${variable^^}_LINKER=rust-lld"
  say "builds the commands for $target"
  ar rc "$work/libdl.a"
  for program in situ protoc-gen-situ; do
    cargo rustc --quiet --locked --release --target "$target" -p situ-cli --bin $program \
      --config 'profile.release.strip="symbols"' --config 'profile.release.debug=false' -- -L "native=$work"
  done
  built=${CARGO_TARGET_DIR:-$PWD/target}/$target/release
  install -d "$work/$name"
  install "$built/situ" "$built/protoc-gen-situ" "$work/$name"
  archive "$name"
  for program in situ protoc-gen-situ; do
    # A dynamically linked program names its loader and its libraries.
    if readelf -ld "$work/tried/$program" | grep -E 'INTERP|NEEDED'; then die "$program of $target is not static"; fi
  done
  if [ "$1" = "$machine" ]; then
    try "$work/tried/situ"
  elif command -v "qemu-$1" >/dev/null; then
    # With a limit, Situ reserves few addresses: qemu has a table of all reserved pages.
    ulimit -v 64000000
    try "qemu-$1" -L / "$work/tried/situ"
  else
    say "not tried, because there is no qemu-$1: $name"
  fi
}

for target; do
  case $target in
    *-unknown-linux-gnu) make_gnu "${target%%-*}" ;;
    x86_64-unknown-linux-musl | aarch64-unknown-linux-musl) make_musl "${target%%-*}" ;;
    *) die "unknown target '$target'; there are: $machine-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl" ;;
  esac
  rm -rf "$work/topics"
done
say "in build/release:"
(cd "$out" && cat ./*.sha256) >&2
