#!/usr/bin/env bash
# Runs the tests of regions, of lent messages and of generated types under Miri, with strict provenance:
# scripts/miri.sh [filter...]
#
# Tests that take too long in the interpreter shorten themselves.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh miri
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"

# The vectors are files, so the tests are not isolated.
MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-disable-isolation" \
  cargo +nightly miri test --target-dir build/miri --package situ-layout --package situ-region --test region --test ros_lend --test generated -- "$@"
echo "miri: nothing found"
