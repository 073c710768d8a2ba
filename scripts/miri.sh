#!/usr/bin/env bash
# Runs the tests of regions and of lent messages under Miri, with strict provenance: scripts/miri.sh [filter...]
# What cannot be interpreted in reasonable time is shortened by the tests themselves.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
if ! command -v rustup >/dev/null; then
  echo "miri: Miri needs a nightly compiler; install rustup (https://rustup.rs) and try again" >&2
  exit 1
fi
rustup run nightly rustc --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal
rustup component add miri rust-src --toolchain nightly >/dev/null 2>&1

# The vectors are files, so that the tests are not isolated.
MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation" \
  cargo +nightly miri test --target-dir build/miri --package situ-layout --test region --test ros_lend -- "$@"
echo "miri: nothing found"
