#!/usr/bin/env bash
# Builds and runs every test: Rust, C++, both together, and against independent implementations. Continues
# after a failure, and ends with the totals in the format of cargo and ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust cpp logging python vulkan
scripts/fetch-ros-interfaces.sh
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
mkdir -p build
log=build/test.log
: >"$log"
failures=()
times=build/test.times
: >"$times"

# On a fresh checkout nothing is compiled twice: what incremental compilation stores would only take space.
[ -d target/debug/incremental ] || export CARGO_INCREMENTAL=0

# stage NAME COMMAND...: runs a stage, and records its times and a failure.
stage() {
  local name=$1 TIMEFORMAT="%R %U %S $1"
  shift
  printf '\n==> %s\n' "$name" | tee -a "$log"
  { time { "$@" 2>&1 | tee -a "$log" || failures+=("$name"); } 2>&3; } 3>&2 2>>"$times"
}

# The tests that compare with rclpy and cyclonedds look for the interpreter in this variable. Without it they
# print so and pass.
if [ -f build/venv/.ready ]; then
  export SITU_TEST_PYTHON=$PWD/build/venv/bin/python
fi

# Tests of absent domains print so and pass. A domain whose packages are installed must be present.
export SITU_TEST_REQUIRE=host,emulated
if ldconfig -p | grep -q 'libvulkan\.so\.1' && compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null; then
  SITU_TEST_REQUIRE+=,vulkan
fi

stage "No circles of imports" scripts/check-imports.py
# Builds C++ before the tests of Rust, which start C++ programs.
stage "Rust: build" cargo test --workspace --no-run
export SITU_COMMAND=$PWD/target/debug/situ
stage "C++: configure" cmake -S cpp -B build/cpp -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DSITU_CARGO_PROFILE=dev -DSITU_COMMAND="$SITU_COMMAND"
stage "C++: build" cmake --build build/cpp
stage "Rust: every crate, the examples in both languages, the demo" cargo test --workspace --no-fail-fast
stage "The protocols, model-checked" scripts/model.sh
stage "C++: headers, library, bus" ctest --test-dir build/cpp --output-on-failure
stage "The sequences of ROS since Lyrical" env ROS_DISTRO=lyrical \
  cargo test -p situ-layout -p situ-wire --test ros_release --test ros_lend --test ros_buffers --target-dir build/lyrical
stage "rclrs: generated crates against rclpy" scripts/rclrs.sh
stage "rosidl: a package of ROS built with Situ's generator" scripts/rosidl.sh
stage "rmw_situ: programs of ROS on Situ" scripts/rmw.sh
stage "Python: the wheel in a fresh environment" scripts/python.sh

printf '\n==> Times, in seconds: elapsed, and of processors\n'
awk '{ elapsed = $1; used = $2 + $3; $1 = $2 = $3 = ""; sub(/^ +/, ""); printf "%6d %6d  %s\n", elapsed, used, $0 }' "$times"

printf '\n==> All tests\n'
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
     END { printf "test result: %s. %d passed; %d failed; %d ignored\n", failed ? "FAILED" : "ok", passed, failed, ignored }' "$log"
grep -E '^[0-9]+% tests passed' "$log" || true
# The names of failed tests, which otherwise are far above: Rust's, then ctest's.
grep -E '^test .* \.\.\. FAILED$' "$log" || true
grep -E '^\s*[0-9]+ - .*\((Failed|Timeout|Subprocess|SEGFAULT|ILLEGAL|BAD_COMMAND|Not Run)' "$log" || true
for name in "${failures[@]}"; do printf 'FAILED: %s\n' "$name"; done
[ ${#failures[@]} = 0 ]
