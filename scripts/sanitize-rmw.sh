#!/usr/bin/env bash
# Runs the C++ tests of rmw_situ's functions under AddressSanitizer and UndefinedBehaviorSanitizer. Without
# the Python environment with ROS it prints so and succeeds.
#
# libsitu is the usual one: scripts/sanitize.sh covers it. Leaks are not reported: ROS's libraries keep memory
# until a process ends.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust cpp python
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
venv=$PWD/build/venv out=$PWD/build/rmw built=build/sanitize/rmw-address
[ -f "$venv/.ready" ] || { echo "SKIPPED: no ROS packages in build/venv; rmw_situ was not tested with sanitizers" >&2; exit 0; }
export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv PATH=$venv/bin:$PATH
libraries=$venv/lib
for folder in "$venv"/lib/python*/site-packages/*.libs; do libraries+=:$folder; done

echo "==> rmw_situ with AddressSanitizer and UndefinedBehaviorSanitizer"
cmake -S cpp -B "$out/situ" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$out/install" -DSITU_TESTS=OFF \
  -DSITU_EXAMPLES=OFF -DSITU_CARGO_PROFILE=dev >/dev/null
cmake --build "$out/situ" --target install >/dev/null
cmake -S ros/rmw_situ -B "$built" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  "-DCMAKE_CXX_FLAGS=-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
  "-DCMAKE_PREFIX_PATH=$out/install;$venv" -DPython3_EXECUTABLE="$venv/bin/python" >/dev/null
cmake --build "$built" --target test_rmw
LD_LIBRARY_PATH=$libraries ASAN_OPTIONS="detect_leaks=0 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}" \
  "$built/test/test_rmw" --gtest_brief=1
