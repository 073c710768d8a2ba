#!/bin/sh
# Builds the program of table `conversion`. Adds ROS's Rust runtime if build/venv has the ROS packages, or can
# get them.
set -eu
cd "$(dirname "$0")/.."

../scripts/setup.sh python
prefix=$(cd .. && pwd)/build/venv
if [ -f "$prefix/.ready" ]; then
  ROS_DISTRO=kilted AMENT_PREFIX_PATH=$prefix cargo build --release --quiet -p situ-bench-conversion --features ros && exit
  echo "conversion: cannot build with ROS's Rust runtime (see above); builds without it" >&2
else
  echo "conversion: no ROS packages in build/venv (see above); builds without ROS's Rust runtime" >&2
fi
exec cargo build --release --quiet -p situ-bench-conversion
