#!/usr/bin/env bash
# Builds the programs of table `conversion-ros` in rclrs and rclcpp against ROS from PyPI (build/venv). Gives
# the reason if it cannot.
#
# BENCH_RCLCPP names a built rclcpp, which is in no package registry: a folder with the program `cxx`, which
# compiles and links with rclcpp, the library librclcpp.so, and others that it needs in install/lib.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/setup.sh python
venv=$PWD/build/venv program=$PWD/build/rclrs/target/release/situ-bench-rclrs
absent() { echo "conversion-ros: $*" >&2; rm -f "$program"; exit 0; }
[ -f "$venv/.ready" ] || absent "no ROS packages in build/venv (see above)"
cargo run -q -p situ-cli --bin situ -- gen --lang rclrs --out build/rclrs/crates --layout crates/situ-layout -I "$venv" --ros std_msgs
cargo fetch --quiet --manifest-path bench/rclrs/Cargo.toml || absent "rclrs cannot be fetched (no package index?)"
export AMENT_PREFIX_PATH=$venv
. scripts/ros-stand-ins.sh
cargo build --release --quiet --manifest-path bench/rclrs/Cargo.toml || absent "the program cannot be built (see above)"

peer=$PWD/build/rclrs/rclcpp/peer
without() { echo "conversion-ros: rclcpp is absent: $*" >&2; rm -f "$peer"; exit 0; }
[ -n "${BENCH_RCLCPP:-}" ] || without "BENCH_RCLCPP names no built rclcpp"
rclcpp=$(realpath "$BENCH_RCLCPP")
rm -rf "${peer%/*}/install"
mkdir -p "${peer%/*}"
# Where the table looks for libraries.
ln -s "$rclcpp/install" "${peer%/*}/install"
{ [ "$peer" -nt bench/rclrs/peer.cpp ] && [ "$peer" -nt bench/rclrs/build.sh ]; } ||
  "$rclcpp/cxx" -std=c++20 -O3 -DNDEBUG -Wall -Wextra bench/rclrs/peer.cpp -o "$peer" -lstd_msgs__rosidl_typesupport_cpp \
    -Wl,-rpath,"$rclcpp:$rclcpp/install/lib:$venv/lib" || without "its program cannot be built (see above)"
