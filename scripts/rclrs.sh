#!/usr/bin/env bash
# Runs Situ's messages in rclrs against rclpy: generates a crate for each ROS package, builds a program with
# rclrs, and lets it send back what rclpy sends. Everything goes to build/rclrs. Without the Python
# environment, or without the crates of rclrs, the script prints so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust cpp python
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
venv=$PWD/build/venv out=$PWD/build/rclrs
skip() { echo "SKIPPED: $*; the round trip between rclrs and rclpy did not run" >&2; exit 0; }
[ -f "$venv/.ready" ] || skip "no ROS packages in build/venv (see above)"

situ=$(scripts/command.sh)
gen() { "$situ" gen -I "$venv" "$@"; }
gen --lang rclrs --out "$out/crates" --layout crates/situ-layout \
  --ros std_msgs --ros geometry_msgs --ros sensor_msgs --ros nav_msgs --ros test_msgs --ros action_msgs
# The messages that rclrs itself uses.
gen --lang ros-env --out "$out/env" --ros action_msgs --ros rcl_interfaces --ros rosgraph_msgs

cargo fetch --quiet --manifest-path tests/rclrs/Cargo.toml || skip "rclrs cannot be fetched (no package index?)"

export AMENT_PREFIX_PATH=$out/env:$venv
. scripts/ros-stand-ins.sh

# A message with one sequence of bytes: 24 bytes large up to Kilted and 32 since. A program that was built for
# the loaded libraries gets its type support. Any other program must be refused.
release() {
  ROS_DISTRO=$1 CARGO_TARGET_DIR=$2 cargo build -q --manifest-path tests/rclrs/release/Cargo.toml &&
    "$venv/bin/python" -c 'import os, sys; os.execv(sys.argv[1], sys.argv[1:])' "$2/debug/situ-release-test" 2>&1
}
expect() { grep -qF "$2" <<<"$1" || { printf 'rclrs.sh: expected "%s", got\n%s\n' "$2" "$1"; exit 1; }; }
expect "$(release kilted "$CARGO_TARGET_DIR")" "std_msgs/msg/UInt8MultiArray has 56 bytes: true"
refused=$(release lyrical "$out/lyrical") && { echo "rclrs.sh: a program for Lyrical ran with Kilted"; exit 1; }
expect "$refused" "std_msgs/msg/UInt8MultiArray has 56 bytes in the ROS libraries and 64 in this program"

cargo build --manifest-path tests/rclrs/Cargo.toml
# The action client of rclrs can lose an answer (see rclrs.py): the test may run three times.
for attempt in 1 2 3; do
  code=0
  "$venv/bin/python" tests/interop/rclrs.py "$CARGO_TARGET_DIR/debug/situ-rclrs-test" || code=$?
  [ $code = 75 ] || exit $code
  echo "rclrs.sh: attempt $attempt of 3: a goal or a cancellation was not answered" >&2
done
exit 1
