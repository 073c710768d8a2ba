#!/usr/bin/env bash
# Runs Situ's generator as part of a ROS build. Installs it, builds a package of interfaces that does not
# depend on it, and runs a program in Rust and one in C++ with the result. Everything goes to build/rosidl.
# Without the Python environment with ROS, or without the crates of rclrs, the script prints so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust cpp python
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
venv=$PWD/build/venv out=$PWD/build/rosidl
skip() { echo "SKIPPED: $*; the generator for rosidl was not tested" >&2; exit 0; }
[ -f "$venv/.ready" ] || skip "no ROS packages in build/venv (see above)"
cargo fetch --quiet --manifest-path tests/rclrs/Cargo.toml || skip "rclrs cannot be fetched (no package index?)"

situ=$(scripts/command.sh)
export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv PATH=$venv/bin:$PATH
rm -rf "$out/install"

# project FOLDER NAME ARGUMENT...: configures, builds and installs. Prints only on failure.
project() {
  local folder=$1 log=$out/$2.log
  mkdir -p "$out"
  if ! { cmake -S "$folder" -B "$out/$2" -G Ninja -DCMAKE_INSTALL_PREFIX="$out/install" "-DCMAKE_PREFIX_PATH=$out/install;$venv" \
    -DPython3_EXECUTABLE="$venv/bin/python" "${@:3}" && cmake --build "$out/$2" --target "${target:-install}"; } >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
}
project cpp situ -DSITU_BUS=OFF -DSITU_TESTS=OFF -DSITU_EXAMPLES=OFF
project ros/rosidl_generator_situ generator -DSITU_COMMAND="$situ"
export AMENT_PREFIX_PATH=$out/install:$venv
project tests/rosidl/scan_msgs scan_msgs -DSITU_INCLUDES="$PWD/tests/rosidl/extra" \
  -DCMAKE_PROJECT_INCLUDE="$out/install/share/rosidl_generator_situ/cmake/everywhere.cmake"
for file in ament_index/resource_index/rust_packages/scan_msgs scan_msgs/rust/Cargo.toml scan_msgs/msg/Scan.situ; do
  [ -f "$out/install/share/$file" ] || { echo "rosidl.sh: share/$file was not installed"; exit 1; }
done

target=all project tests/rosidl/cpp cpp -DSITU_COMMAND="$situ" -DSITU_INCLUDES="$PWD/tests/rosidl/extra"
in_cpp=$("$out/cpp/situ_rosidl_test")
"$out/cpp/situ_beside_rosidl_test" || { echo "rosidl.sh: Situ's types and rosidl's do not become each other ($?)"; exit 1; }

# The packages that scan_msgs needs, with the same overlay files.
"$situ" gen --lang rclrs --out "$out/crates" --layout crates/situ-layout -I tests/rosidl/extra -I "$venv" \
  --ros std_msgs --ros action_msgs >/dev/null
. scripts/ros-stand-ins.sh
cargo build --manifest-path tests/rosidl/rust/Cargo.toml
# The Python of the environment finds the packages' libraries.
in_rust=$("$venv/bin/python" -c 'import os, sys; os.execv(sys.argv[1], sys.argv[1:])' "$CARGO_TARGET_DIR/debug/situ-rosidl-test")
if [ "$in_rust" != "$in_cpp" ]; then
  printf 'rosidl.sh: the type is not the same\nRust %s\nC++  %s\n' "$in_rust" "$in_cpp"
  exit 1
fi
echo "rosidl: a package built with Situ's generator works in Rust and C++: $in_rust"
