#!/usr/bin/env bash
# Runs the C++ tests of containers and regions, and the known inputs of the fuzzers of regions, under
# AddressSanitizer and UndefinedBehaviorSanitizer. Uses Clang, to test a second compiler, or the given one:
# scripts/sanitize-cpp.sh [compiler]
set -euo pipefail
cd "$(dirname "$0")/.."

compiler=${1:-}
if [ -n "$compiler" ]; then
  scripts/setup.sh cpp
elif scripts/setup.sh cpp clang; then
  compiler=$(command -v clang++ || command -v clang++-14)
else
  compiler=c++
fi
built=build/sanitize/cpp-$(basename "$compiler")
programs=(test_containers test_region test_region_poison test_no_exceptions)
corpora=(fuzz_region_image fuzz_region_program)
echo "==> C++ with $compiler, AddressSanitizer and UndefinedBehaviorSanitizer"
cmake -S cpp -B "$built" -G Ninja -DSITU_SANITIZE=ON -DSITU_BUS=OFF -DSITU_EXAMPLES=OFF -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS=-O1 >/dev/null
cmake --build "$built" --target "${programs[@]}" "${corpora[@]/#/replay_}"
# Makes a program that a sanitizer aborts print its input.
export ASAN_OPTIONS="abort_on_error=1 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS="abort_on_error=1 print_stacktrace=1 ${UBSAN_OPTIONS:-}"
for program in "${programs[@]}"; do "$built/tests/$program" --gtest_brief=1; done
for corpus in "${corpora[@]}"; do "$built/tests/replay_$corpus" "fuzz/corpus/$corpus"; done
