#!/usr/bin/env bash
# Explores the protocols between processes with the model checker (crates/situ-bus/tests/model.rs,
# crates/situ-trace/tests/model.rs). Uses a target directory of its own, because everything is built with
# --cfg loom. Only the crates that take the time are optimized.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
config=()
for package in loom generator situ-bus situ-trace situ-memory; do
  config+=(--config "profile.dev.package.$package.opt-level=2")
done
RUSTFLAGS="--cfg loom" cargo test "${config[@]}" --package situ-bus --package situ-trace --test model --target-dir target/loom "$@"
