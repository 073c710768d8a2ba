#!/usr/bin/env bash
# Builds ROS 2's middleware on Situ as a package of ROS, and runs its tests: those in C++, and those in which
# programs with rclpy talk over it, with each other, with rclrs and with programs of Situ (the ROS demo).
# Everything goes to build/rmw. Without the Python environment with ROS the script prints so and succeeds.
# Nodes in rclcpp take part where BENCH_RCLCPP names a built rclcpp: a folder with the program `cxx`, which
# compiles and links with rclcpp (and rclcpp_action, if it is there), and the file `env`, which sets
# LD_LIBRARY_PATH.
#
# Usage: scripts/rmw.sh [TEST...]   names of files in ros/rmw_situ/test/python, without .py; otherwise all
#        scripts/rmw.sh chaos     only kills processes of ROS: in C++ ROS_KILLS times, with rclpy a tenth as
#                                 often; SITU_CHAOS_SEED: in that order
#
# RMW_LIBRARY=PATH runs the tests with rclpy on that middleware instead, RMW_LIBRARY=fastrtps on the one that
# the environment brings. The tests in C++ are then left out.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/build/venv out=$PWD/build/rmw tests=$PWD/ros/rmw_situ/test
skip() { echo "SKIPPED: $*; ROS on Situ was not tested" >&2; exit 0; }

if [ -z "${RMW_LIBRARY:-}" ]; then
  scripts/setup.sh rust cpp python
  [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
  [ -f "$venv/.ready" ] || skip "no ROS packages in build/venv (see above)"
fi
[ -f "$venv/.ready" ] || skip "no ROS packages in build/venv (scripts/setup.sh python installs them)"
export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv PATH=$venv/bin:$PATH

# project FOLDER NAME ARGUMENT...: configures and builds. Prints only on failure.
project() {
  local folder=$1 log=$out/$2.log
  mkdir -p "$out"
  if ! { cmake -S "$folder" -B "$out/$2" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$out/install" \
    "-DCMAKE_PREFIX_PATH=$out/install;$venv" -DPython3_EXECUTABLE="$venv/bin/python" "${@:3}" &&
    cmake --build "$out/$2" --target install; } >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
}

# The programs with which test_languages.py and test_kills.py run other languages.
if [ -n "${BENCH_RCLCPP:-}" ]; then
  export ROS_RCLCPP_NODES=$out/rclcpp/nodes
  mkdir -p "$out/rclcpp"
  [ "$ROS_RCLCPP_NODES" -nt "$tests/rclcpp/nodes.cpp" ] ||
    "$BENCH_RCLCPP/cxx" -Wall -Wextra "$tests/rclcpp/nodes.cpp" -o "$ROS_RCLCPP_NODES" -lsensor_msgs__rosidl_typesupport_cpp \
      -lstd_msgs__rosidl_typesupport_cpp -ltest_msgs__rosidl_typesupport_cpp
  ROS_RCLCPP_LIBRARIES=$(. "$BENCH_RCLCPP/env" && echo "$LD_LIBRARY_PATH")
  export ROS_RCLCPP_LIBRARIES
fi
if [ -x build/rclrs/target/debug/situ-rclrs-nodes ]; then
  export ROS_RCLRS_NODES=$PWD/build/rclrs/target/debug/situ-rclrs-nodes
fi

failed=0
if [ -z "${RMW_LIBRARY:-}" ]; then
  libraries=$venv/lib
  for folder in "$venv"/lib/python*/site-packages/*.libs; do libraries+=:$folder; done
  project cpp situ -DSITU_TESTS=OFF -DSITU_EXAMPLES=OFF -DSITU_CARGO_PROFILE=dev
  project ros/rmw_situ rmw_situ -DRMW_SITU_LIBRARY_PATH="$libraries"
  if [ "${1:-}" = chaos ]; then
    # Ten thousand subscriptions that come and go, instead of some.
    export LD_LIBRARY_PATH=$libraries ROS_CHURN=10000
    "$out/rmw_situ/test/test_rmw" --gtest_brief=1 --gtest_filter='Churn.*'
    "$out/rmw_situ/test/chaos_rmw" "${ROS_KILLS:-1000}" ${SITU_CHAOS_SEED:+"$SITU_CHAOS_SEED"}
    # With rclpy, whose programs start slowly, a tenth as often.
    unset LD_LIBRARY_PATH
    ROS_KILLS=$((${ROS_KILLS:-1000} / 10 + 1)) RMW_LIBRARY=$out/rmw_situ/librmw_situ.so \
      exec "$venv/bin/python" "$tests/python/test_kills.py"
  fi
  ctest --test-dir "$out/rmw_situ" --output-on-failure || failed=1
  # The demo and the command, for tests in Python.
  SITU_COMMAND=$(scripts/command.sh)
  export SITU_COMMAND ROS_DEMO=$out/demo
  project examples/ros demo -DSITU_COMMAND="$SITU_COMMAND" -DROS_ENVIRONMENT="$venv"
  # With the paths of the build: the installed one finds its libraries by the environment that ROS sets up.
  export RMW_LIBRARY=$out/rmw_situ/librmw_situ.so
elif [ "$RMW_LIBRARY" = fastrtps ]; then
  unset RMW_LIBRARY
fi

names=("$@")
[ $# != 0 ] || names=($(cd "$tests/python" && ls test_*.py | sed 's/\.py$//'))
for name in "${names[@]}"; do
  echo "==> $name on ${RMW_LIBRARY:-rmw_fastrtps_cpp}"
  "$venv/bin/python" "$tests/python/$name.py" || failed=1
done

# The program of scripts/rclrs.sh, where that was built: messages, services, parameters and actions between
# rclrs and rclpy. Its action client can lose an answer (see rclrs.py): the test may run three times.
program=$PWD/build/rclrs/target/debug/situ-rclrs-test
with_rclrs() (
  export AMENT_PREFIX_PATH=$PWD/build/rclrs/env:$venv
  . scripts/ros-stand-ins.sh
  for folder in "$venv"/lib/python*/site-packages/*.libs; do LD_LIBRARY_PATH+=:$folder; done
  for attempt in 1 2 3; do
    code=0
    LD_PRELOAD=$RMW_LIBRARY RMW_IMPLEMENTATION=rmw_situ "$venv/bin/python" tests/interop/rclrs.py "$program" || code=$?
    [ $code = 75 ] || return $code
  done
  return 1
)
if [ $# = 0 ] && [ -n "${RMW_LIBRARY:-}" ] && [ -x "$program" ]; then
  echo "==> rclrs and rclpy on $RMW_LIBRARY"
  with_rclrs || failed=1
fi
[ $failed = 0 ] || { echo "rmw.sh: tests failed"; exit 1; }
echo "rmw: ROS on ${RMW_LIBRARY:-rmw_fastrtps_cpp} passes"
