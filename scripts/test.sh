#!/usr/bin/env bash
# Builds and runs every test: Rust, C++, and the interoperability tests against independent implementations.
# Ends with the totals in the words of cargo and ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust cpp python
scripts/fetch-ros-interfaces.sh
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
mkdir -p build
log=build/test.log
: >"$log"
stage() { printf '\n==> %s\n' "$*" | tee -a "$log"; }

# The tests that compare with rclpy and cyclonedds ask for the interpreter by this name; without it they say so and pass.
if [ -f build/venv/.ready ]; then
  export SITU_TEST_PYTHON=$PWD/build/venv/bin/python
fi

stage "Rust: every crate"
cargo test --workspace --no-fail-fast 2>&1 | tee -a "$log"

stage "The protocols, model-checked"
scripts/model.sh 2>&1 | tee -a "$log"

if [ -f cpp/CMakeLists.txt ]; then
  stage "C++: headers, library, examples"
  # The libsitu that the tests above have all but built.
  cmake -S cpp -B build/cpp -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSITU_CARGO_PROFILE=dev >>"$log"
  cmake --build build/cpp 2>&1 | tee -a "$log"
  ctest --test-dir build/cpp --output-on-failure 2>&1 | tee -a "$log"
fi

stage "All tests"
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
     END { printf "test result: %s. %d passed; %d failed; %d ignored\n", failed ? "FAILED" : "ok", passed, failed, ignored }' "$log"
grep -E '^[0-9]+% tests passed' "$log" || true
