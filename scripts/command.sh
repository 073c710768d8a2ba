#!/usr/bin/env bash
# Prints the path of a debug build of the command `situ`. Builds it, unless SITU_COMMAND names one: on its own
# it is built with other features of its dependencies than with all tests, so almost all of them would be
# compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${SITU_COMMAND:-}" ]; then
  cargo build --quiet --locked -p situ-cli >&2
  SITU_COMMAND=${CARGO_TARGET_DIR:-$PWD/target}/debug/situ
fi
echo "$SITU_COMMAND"
