#!/usr/bin/env bash
# Runs the tests of memory, bus and traces under AddressSanitizer and ThreadSanitizer, and those of containers and regions, which have
# no threads, under the first, in C++ too: scripts/sanitize.sh [address] [thread] [cpp]
# The standard library is built along, so that what happens in it is seen too.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh nightly vulkan
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"

target=$(rustc -vV | sed -n 's/^host: //p')
[ $# != 0 ] || set -- address thread cpp
for sanitizer; do
  if [ "$sanitizer" = cpp ]; then
    scripts/sanitize-cpp.sh
    continue
  fi
  # Processes that are killed on purpose cannot be told from leaks or races by a sanitizer that dies with them: their
  # tests run under AddressSanitizer only, which looks at each access by itself. So do those in which one process maps the same memory
  # twice: ThreadSanitizer goes by addresses. (Traces have a test of their own for it, over one mapping.)
  tests=(--package situ-memory --package situ-bus --package situ-trace --lib --test waiting --test topic --test repair --test pool)
  flags=-Zsanitizer=$sanitizer
  if [ "$sanitizer" = thread ]; then
    # System calls go through the C library, where it sees what is unmapped: else two mappings that one address has had one after the other are one to it.
    flags+=" --cfg=rustix_use_libc"
  else
    tests+=(--test kill --test hostile --test trace --test life)
    tests+=(--package situ-layout --test region --test containers --test by_hand --test ros --test ros_release)
  fi
  echo "==> ${sanitizer^}Sanitizer"
  RUSTFLAGS=$flags SITU_CHAOS_KILLS=${SITU_CHAOS_KILLS:-40} \
    TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}" ASAN_OPTIONS="detect_leaks=0 ${ASAN_OPTIONS:-}" \
    cargo +nightly test -Zbuild-std --target "$target" --target-dir "build/sanitize/$sanitizer" "${tests[@]}"
done
