#!/usr/bin/env bash
# Runs the C++ tests of containers and regions, and what the fuzzers of regions learned, under AddressSanitizer and
# UndefinedBehaviorSanitizer: with Clang where it is there with its sanitizers, so that a second compiler is tested too; else with the
# compiler that there is.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh cpp
compiler=c++
for clang in clang++ clang++-14; do
  if command -v "$clang" >/dev/null && echo 'int main() {}' | "$clang" -fsanitize=address,undefined -x c++ - -o /dev/null 2>/dev/null; then
    compiler=$clang
    break
  fi
done
built=build/sanitize/cpp
programs=(test_containers test_region test_no_exceptions)
corpora=(fuzz_region_image fuzz_region_program)
echo "==> C++ with $compiler, AddressSanitizer and UndefinedBehaviorSanitizer"
cmake -S cpp -B "$built" -G Ninja -DSITU_SANITIZE=ON -DSITU_BUS=OFF -DSITU_EXAMPLES=OFF -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS=-O1 >/dev/null
cmake --build "$built" --target "${programs[@]}" "${corpora[@]/#/replay_}"
# So that a program that ends by them says with which input.
export ASAN_OPTIONS="abort_on_error=1 ${ASAN_OPTIONS:-}" UBSAN_OPTIONS="abort_on_error=1 print_stacktrace=1 ${UBSAN_OPTIONS:-}"
for program in "${programs[@]}"; do "$built/tests/$program" --gtest_brief=1; done
for corpus in "${corpora[@]}"; do "$built/tests/replay_$corpus" "fuzz/corpus/$corpus"; done
