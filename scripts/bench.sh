#!/usr/bin/env bash
# Measures Situ beside its peers. Arguments: table (empty: all), JSON (non-empty: only JSON lines), FULL
# (non-empty: longer).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
TABLE=${1:-} JSON=${2:-} FULL=${3:-} exec bench/run.sh
