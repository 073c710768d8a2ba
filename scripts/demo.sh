#!/usr/bin/env bash
# Builds the demo (the command, the C library, the filter in C++) and runs it. The arguments are those of
# `situ demo`. With --ros, the demo is that of scripts/demo-ros.sh, which has the other arguments.
set -euo pipefail
cd "$(dirname "$0")/.."

for argument in "$@"; do
  [ "$argument" = --ros ] || continue
  arguments=()
  for other in "$@"; do [ "$other" = --ros ] || arguments+=("$other"); done
  exec scripts/demo-ros.sh ${arguments+"${arguments[@]}"}
done

scripts/setup.sh rust cpp
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
mkdir -p build
# Standard output belongs to the demo: it may be JSON for another program.
{
  cargo build --release --package situ-cli --package situ-c
  cmake -S cpp -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release -DSITU_TESTS=OFF \
    -DSITU_COMMAND="$PWD/target/release/situ" -DSITU_LIBRARY_DIR="$PWD/target/release" >build/demo-configure.log ||
    { cat build/demo-configure.log; exit 1; }
  cmake --build build/demo --target situ-demo-filter
} >&2
# Unless the arguments name a domain: the run with a filter on a device uses any present device.
[[ " $* " == *" --domain"* ]] || set -- --domain auto "$@"
# A trace and a recording lie beside the plot.
arguments=()
for argument in "$@"; do
  [ "$argument" != --trace ] || argument=--trace=build/situ-demo.pftrace
  [ "$argument" != --record ] || argument=--record=build/situ-demo.mcap
  arguments+=("$argument")
done
set -- "${arguments[@]}"
exec target/release/situ demo --filter build/demo/examples/situ-demo-filter --plot build/situ-demo.svg "$@"
