#!/usr/bin/env bash
# Measures Situ beside its peers. Arguments: table (empty: all), JSON (non-empty: only JSON lines), FULL (non-empty: longer).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
arguments=("${1:-all}")
[ -z "${2:-}" ] || arguments+=(--json)
[ -z "${3:-}" ] || arguments+=(--full)
[ ! -x bench/setup.sh ] || bench/setup.sh >&2
cd bench
cargo build --release --quiet >&2
exec cargo run --release --quiet -- "${arguments[@]}"
