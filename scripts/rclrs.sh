#!/usr/bin/env bash
# Runs Situ's messages in rclrs against rclpy: generates a crate for each ROS package, builds a program with rclrs, and has
# it send back what rclpy sends. Everything goes to build/rclrs. Without the Python environment, or without the crates of
# rclrs, says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"

scripts/setup.sh python
venv=$PWD/build/venv out=$PWD/build/rclrs
skip() { echo "SKIPPED: $*; the round trip between rclrs and rclpy did not run" >&2; exit 0; }
[ -f "$venv/.ready" ] || skip "no ROS packages in build/venv (see above)"

cargo run -q -p situ-cli --bin situ -- gen --lang rclrs --out "$out/crates" --layout crates/situ-layout -I "$venv" \
  --ros std_msgs --ros geometry_msgs --ros sensor_msgs --ros nav_msgs --ros test_msgs --ros action_msgs

cargo fetch --quiet --manifest-path tests/rclrs/Cargo.toml || skip "rclrs cannot be fetched (no package index?)"

export AMENT_PREFIX_PATH=$venv
. scripts/ros-stand-ins.sh
cargo build --manifest-path tests/rclrs/Cargo.toml
"$venv/bin/python" tests/interop/rclrs.py "$CARGO_TARGET_DIR/debug/situ-rclrs-test"
