#!/usr/bin/env bash
# Runs the C++ tests of rmw_situ's functions under AddressSanitizer with UndefinedBehaviorSanitizer, and under
# ThreadSanitizer. Without the Python environment with ROS it prints so and succeeds.
#
# Usage: scripts/sanitize-rmw.sh [address] [thread]   without an argument: both
#
# libsitu is the usual one: scripts/sanitize.sh covers it. ThreadSanitizer does not see what its locks order,
# so it ignores what libsitu itself does; rmw_situ orders its own with locks of C++. Leaks are not reported:
# ROS's libraries keep memory until a process ends.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust cpp python
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
venv=$PWD/build/venv out=$PWD/build/rmw
[ -f "$venv/.ready" ] || { echo "SKIPPED: no ROS packages in build/venv; rmw_situ was not tested with sanitizers" >&2; exit 0; }
export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv PATH=$venv/bin:$PATH
libraries=$venv/lib
for folder in "$venv"/lib/python*/site-packages/*.libs; do libraries+=:$folder; done
export ASAN_OPTIONS="detect_leaks=0 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"
# Some tests fork; the child starts threads.
export TSAN_OPTIONS="suppressions=$PWD/ros/rmw_situ/test/tsan.supp halt_on_error=1 die_after_fork=0 ${TSAN_OPTIONS:-}"

cmake -S cpp -B "$out/situ" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$out/install" -DSITU_TESTS=OFF \
  -DSITU_EXAMPLES=OFF -DSITU_CARGO_PROFILE=dev >/dev/null
cmake --build "$out/situ" --target install >/dev/null

[ $# != 0 ] || set -- address thread
for sanitizer in "$@"; do
  case $sanitizer in
    # System calls cannot be counted: the sanitizers make some, which the counting would refuse. The stand-in
    # for Lyrical has values that Kilted's enumeration lacks.
    address)
      flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
      filter='-HotPath.*:WaitCosts.*:ServiceEndpoints.*'
      ;;
    # Churn counts descriptors, of which slow threads have more.
    thread) flags="-fsanitize=thread" filter='-Churn.*:HotPath.*:WaitCosts.*' ;;
    *) echo "sanitize-rmw.sh: '$sanitizer' is neither 'address' nor 'thread'" >&2; exit 2 ;;
  esac
  echo "==> rmw_situ with the sanitizer '$sanitizer'"
  built=build/sanitize/rmw-$sanitizer
  cmake -S ros/rmw_situ -B "$built" -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS=-O1 -g -fno-omit-frame-pointer $flags" \
    "-DCMAKE_PREFIX_PATH=$out/install;$venv" -DPython3_EXECUTABLE="$venv/bin/python" >/dev/null
  cmake --build "$built" --target test_rmw
  LD_LIBRARY_PATH=$libraries "$built/test/test_rmw" --gtest_brief=1 "--gtest_filter=$filter"
done
