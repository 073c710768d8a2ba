#!/bin/sh
# Builds the benchmark quietly and runs it. Environment:
#   TABLE  hop, inprocess, fanout, scale, wake, executor, service, bridge, throughput, setup, bounded, domains,
#          graphs, region, protobuf, conversion, conversion-ros, record, rmw or python; empty: all of them but
#          bridge, record, rmw and python
#   JSON   not empty: one JSON object a line and nothing else on standard output
#   FULL   not empty: measure longer
# All other output goes to standard error.
set -eu
cd "$(dirname "$0")"

table=${TABLE:-all}
set -- "$table"
[ -z "${JSON:-}" ] || set -- "$@" --json
[ -z "${FULL:-}" ] || set -- "$@" --full
if [ "$table" = rmw ]; then
  # Its programs are C++, and are not started by situ-bench.
  rmw/build.sh >&2
  shift
  exec rmw/run.py "$@"
fi
if [ "$table" = python ]; then
  python/build.sh >&2
  shift
  exec python/run.py "$@"
fi
if [ "$table" = record ]; then
  # A program of its own, which needs no other peers.
  cargo build --release --quiet -p situ-bench-record >&2
  shift
  exec target/release/situ-bench-record "$@"
fi
case $table in
  bounded | domains | graphs) ./setup.sh middleware >&2 ;;
  region) ./setup.sh region >&2 ;;
  all) ./setup.sh >&2 ;;
esac
case $table in
  protobuf | all)
    # Perfetto's writer needs a C++ library.
    cargo build --release --quiet --features perfetto >&2 || {
      echo "protobuf: cannot build perfetto-sdk; builds without it" >&2
      cargo build --release --quiet >&2
    } ;;
  bridge) cargo build --release --quiet --features bridge >&2 ;;
  *) cargo build --release --quiet >&2 ;;
esac
case $table in
  region | all) cargo build --release --quiet -p situ-bench-region >&2 ;;
esac
case $table in
  protobuf | all) peers/protobuf/build.sh >&2 ;;
esac
case $table in
  conversion | all) conversion/build.sh >&2 ;;
esac
case $table in
  conversion-ros | all) rclrs/build.sh >&2 ;;
esac
exec target/release/situ-bench "$@"
