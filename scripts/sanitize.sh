#!/usr/bin/env bash
# Runs the tests of memory, bus and traces under AddressSanitizer and ThreadSanitizer. Those of containers and
# regions have no threads, and run under the first, in C++ too. Those of rmw_situ run under both, and those of
# the Python package under the first: scripts/sanitize.sh [address] [thread] [cpp] [rmw] [python]
#
# The standard library is built with the sanitizer too, so that errors inside it are found.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh nightly vulkan
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"

target=$(rustc -vV | sed -n 's/^host: //p')
[ $# != 0 ] || set -- address thread cpp rmw python
for sanitizer; do
  if [ "$sanitizer" = cpp ] || [ "$sanitizer" = rmw ] || [ "$sanitizer" = python ]; then
    "scripts/sanitize-$sanitizer.sh"
    continue
  fi
  # A sanitizer that dies with a killed process cannot tell the kill from a leak or a race. Tests that kill
  # processes therefore run under AddressSanitizer only, which checks each access by itself. The same holds
  # for tests in which one process maps the same memory twice, because ThreadSanitizer compares addresses.
  # (Traces have a test of their own for it, over one mapping.)
  tests=(--package situ-memory --package situ-bus --package situ-trace --lib --test waiting --test rows --test topic --test repair --test pool
    --test wait_set --test executor --test service --test service_deaths --test service_sources)
  flags=-Zsanitizer=$sanitizer
  if [ "$sanitizer" = thread ]; then
    # System calls go through the C library, so that the sanitizer sees each unmapping. Otherwise it takes two
    # consecutive mappings at one address for one.
    flags+=" --cfg=rustix_use_libc"
    # ThreadSanitizer leaves a program fewer addresses than the 32 TiB that this test maps.
    skipped=(--skip patched_pools_take_a_limited_part_of_a_readers_addresses --skip kill --skip fork)
  else
    skipped=()
    tests+=(--test kill --test hostile --test trace --test life)
    tests+=(--package situ-layout --package situ-region --test region --test containers --test generated --test ros --test ros_release)
  fi
  echo "==> ${sanitizer^}Sanitizer"
  RUSTFLAGS=$flags SITU_CHAOS_KILLS=${SITU_CHAOS_KILLS:-40} \
    TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}" ASAN_OPTIONS="detect_leaks=0 ${ASAN_OPTIONS:-}" \
    cargo +nightly test -Zbuild-std --target "$target" --target-dir "build/sanitize/$sanitizer" "${tests[@]}" -- "${skipped[@]}"
done
