#!/bin/sh
# Builds the program of table `conversion`; with ROS's Rust runtime if the ROS packages of build/venv are there or can be had.
set -eu
cd "$(dirname "$0")/.."

../scripts/setup.sh python
prefix=$(cd .. && pwd)/build/venv
if [ -f "$prefix/.ready" ]; then
  ROS_DISTRO=kilted AMENT_PREFIX_PATH=$prefix cargo build --release --quiet -p situ-bench-conversion --features ros && exit
  echo "conversion: it cannot be built with ROS's Rust runtime (see above); that is left out" >&2
else
  echo "conversion: no ROS packages in build/venv (see above); ROS's Rust runtime is left out" >&2
fi
exec cargo build --release --quiet -p situ-bench-conversion
