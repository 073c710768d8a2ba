#!/usr/bin/env bash
# Builds the ROS demo (rmw_situ, and the filters in C++) into build/demo-ros, with ROS 2 from PyPI in
# build/venv, and runs it. The arguments are those of examples/ros/demo.py.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'demo: %s\n' "$*" >&2; }
venv=$PWD/build/venv out=$PWD/build/demo-ros
scripts/setup.sh rust cpp python
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
if [ ! -f "$venv/.ready" ]; then
  say "ROS 2 cannot be installed here (see above): its packages come from PyPI, so a package index is needed, and a" \
    "Python with venv for which they are built. Try again with access to one; make demo shows Situ without ROS"
  exit 1
fi
export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv PATH=$venv/bin:$PATH

# project FOLDER NAME ARGUMENT...: configures, builds and installs. Shows its output only on failure.
project() {
  local folder=$1 log=$out/$2.log
  mkdir -p "$out"
  say "building $2"
  if ! { cmake -S "$folder" -B "$out/$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$out/install" \
    "-DCMAKE_PREFIX_PATH=$out/install;$venv" -DPython3_EXECUTABLE="$venv/bin/python" "${@:3}" &&
    cmake --build "$out/$2" --target install; } >"$log" 2>&1; then
    cat "$log" >&2
    say "$2 cannot be built (see above, and $log)"
    return 1
  fi
}
# Standard output belongs to the demo: it may be JSON for another program.
cargo build --release --package situ-cli --package situ-c >&2
project cpp situ -DSITU_TESTS=OFF -DSITU_EXAMPLES=OFF -DSITU_COMMAND="$PWD/target/release/situ" -DSITU_LIBRARY_DIR="$PWD/target/release"
project ros/rmw_situ rmw_situ -DBUILD_TESTING=OFF
project examples/ros demo -DSITU_COMMAND="$PWD/target/release/situ" -DROS_ENVIRONMENT="$venv"
exec "$venv/bin/python" examples/ros/demo.py --build "$out/demo" --rmw "$out/rmw_situ/librmw_situ.so" "$@"
