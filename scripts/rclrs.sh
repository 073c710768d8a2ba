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

# The packages have no library that chooses a middleware; the one there is takes its place. And they were built to run within
# Python: some libraries look for its symbols when they are loaded, though nothing here calls them.
export SITU_STAND_INS=$out/lib
mkdir -p "$SITU_STAND_INS"
ln -sf "$venv/lib/librmw_fastrtps_cpp.so" "$SITU_STAND_INS/librmw_implementation.so"
nm -D --undefined-only "$venv"/lib/*__rosidl_generator_py.so | awk '$1 == "U" && $2 ~ /^_?Py/ { print "char " $2 "[64];" }' |
  sort -u >"$out/no_python.c"
cc -shared -fPIC -o "$SITU_STAND_INS/libno_python.so" "$out/no_python.c"
export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv RMW_IMPLEMENTATION=rmw_fastrtps_cpp
export CARGO_TARGET_DIR=$out/target
cargo build --manifest-path tests/rclrs/Cargo.toml
# Nobody else's messages: a domain of its own, on this machine.
export ROS_DOMAIN_ID=$((RANDOM % 100 + 1)) ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
export LD_LIBRARY_PATH=$venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$venv/bin/python" tests/interop/rclrs.py "$CARGO_TARGET_DIR/debug/situ-rclrs-test"
