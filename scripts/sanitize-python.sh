#!/usr/bin/env bash
# Runs the tests of the Python package with its library under AddressSanitizer. The interpreter is the usual
# one: GCC's runtime of the sanitizer is loaded before it, and `PYTHONMALLOC=malloc` shows the sanitizer each
# object.
#
# Usage: scripts/sanitize-python.sh [ARGUMENT OF pytest...]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh nightly
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
out=$PWD/build/python/address
skip() { echo "SKIPPED: $*; the Python package was not tested with AddressSanitizer" >&2; exit 0; }

runtime=$(realpath "$(cc -print-file-name=libasan.so)")
[ -f "$runtime" ] || skip "the C compiler has no libasan"
mkdir -p "$out"
[ -f "$out/environment/.ready" ] || { rm -rf "$out/environment" && python3 -m venv "$out/environment"; }
"$out/environment/bin/pip" install --quiet --disable-pip-version-check numpy pytest hypothesis anyio trio uvloop &&
  touch "$out/environment/.ready" || skip "numpy, pytest and the event loops cannot be installed"

echo "==> Python: AddressSanitizer"
target=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS=-Zsanitizer=address cargo +nightly build --package situ-python --target "$target" --target-dir "$out/target"
rm -rf "$out/package" && mkdir "$out/package"
cp -r python/situ "$out/package/" && rm -f "$out"/package/situ/*.so
cp "$out/target/$target/debug/libsitu_python.so" "$out/package/situ/_native.abi3.so"

# The tests of the memory that a process needs would measure the sanitizer's.
cd "$out"
LD_PRELOAD=$runtime PYTHONMALLOC=malloc PYTHONPATH=$out/package \
  ASAN_OPTIONS="detect_leaks=0:allow_user_segv_handler=1 ${ASAN_OPTIONS:-}" \
  environment/bin/python -m pytest -q -p no:cacheprovider -c ../../../python/pyproject.toml --rootdir ../../../python \
  -k "not leave_nothing_behind" "$@" ../../../python/tests
