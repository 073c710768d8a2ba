#!/usr/bin/env bash
# Builds the rclrs program of table `conversion-ros` against ROS from PyPI (build/venv). Gives the reason if
# it cannot.
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
bench/rclrs/rclcpp.sh
