#!/usr/bin/env bash
# Builds and installs Situ: the command with completions, manual pages and the filter of its demo, libsitu,
# the headers of C and C++, the CMake package and situ.pc, and the sources of the crates that Rust programs
# use.
#
#   scripts/install.sh [PREFIX [DESTDIR]]      PREFIX is /usr/local by default
#
# The files go to DESTDIR/PREFIX, and work from PREFIX or wherever that folder is moved to. With
# SITU_CARGO_PROFILE=dev nothing is optimized, and the command is the one that SITU_COMMAND names, if set.
set -euo pipefail
cd "$(dirname "$0")/.."

absolute() { case $1 in "" | /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac }
prefix=$(absolute "${1:-/usr/local}") destdir=$(absolute "${2:-}")
profile=${SITU_CARGO_PROFILE:-release}
build=build/install
to=$destdir$prefix
say() { printf 'install: %s\n' "$*" >&2; }

scripts/setup.sh rust cpp
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
say "builds the command and libsitu, profile $profile"
if [ "$profile" = dev ]; then
  command=$(scripts/command.sh)
else
  cargo build --quiet --locked --profile "$profile" -p situ-cli
  command=${CARGO_TARGET_DIR:-$PWD/target}/$profile/situ
fi
cmake -S cpp -B $build -G Ninja -DCMAKE_INSTALL_PREFIX="$prefix" -DSITU_CARGO_PROFILE="$profile" \
  -DCMAKE_BUILD_TYPE=Release -DSITU_TESTS=OFF -DSITU_EXAMPLES=ON -DSITU_COMMAND="$command" >/dev/null
# Of the examples only the filter of the demo is installed.
cmake --build $build --target situ_cargo situ-demo-filter >/dev/null
if ! mkdir -p "$to" || ! [ -w "$to" ]; then
  say "cannot write to $to: run this as root, or choose another folder: make install PREFIX=\$HOME/.local"
  exit 1
fi
DESTDIR=$destdir cmake --install $build >/dev/null

libraries=$to/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' $build/CMakeCache.txt)
library=$(readlink -f "$libraries/libsitu.so")
strip --strip-unneeded "$library"
strip --strip-debug "$libraries/libsitu.a"
install -d "$to/bin"
install -s "$command" "$(dirname "$command")/protoc-gen-situ" "$to/bin"
strip "$to/libexec/situ/situ-demo-filter"
"$command" man "$to/share/man/man1"
completions() { install -d "$to/$2" && "$command" completions "$1" >"$to/$2/$3"; }
completions bash share/bash-completion/completions situ
completions zsh share/zsh/site-functions _situ
completions fish share/fish/vendor_completions.d situ.fish

# The crates, with the part of the workspace's manifest that theirs inherit from. Files keep their times, so
# that cargo does not rebuild what did not change.
sources=$to/share/situ
rm -rf "$sources"
install -d "$sources/crates"
for crate in situ situ-bus situ-layout situ-memory situ-region situ-schema situ-trace situ-wire; do
  install -d "$sources/crates/$crate"
  for part in README.md build.rs src built_in; do
    [ ! -e "crates/$crate/$part" ] || cp -RLp "crates/$crate/$part" "$sources/crates/$crate"
  done
  # Tests and what they need are not installed.
  awk '/^\[/ { skip = /dev-dependencies\]$/ || /^\[\[test\]\]$/ } !skip' "crates/$crate/Cargo.toml" \
    >"$sources/crates/$crate/Cargo.toml"
  touch -r "crates/$crate/Cargo.toml" "$sources/crates/$crate/Cargo.toml"
done
sed -e 's/^members = .*/members = ["crates\/*"]/' -e '/^situ-testkit = /d' Cargo.toml >"$sources/Cargo.toml"
touch -r Cargo.toml "$sources/Cargo.toml"
cp -p Cargo.lock "$sources"

# The loader's list of libraries, if this is the running system.
if [ -z "$destdir" ] && [ "$(id -u)" = 0 ]; then ldconfig || true; fi
size() { du -h "$1" | cut -f1; }
say "installed into $to: the command ($(size "$to/bin/situ")), libsitu ($(size "$library")), headers, CMake package, situ.pc, crates"
case :$PATH: in *":$prefix/bin:"*) ;; *) say "add $prefix/bin to PATH to run \`situ\`" ;; esac
