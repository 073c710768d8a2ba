#!/usr/bin/env bash
# Runs every fuzz target for a while: scripts/fuzz.sh [seconds for each] [target...]
#
# With 0 seconds each target runs its known inputs once. Findings stay under build/fuzz/<target>, as do the
# inputs that the target learned from. All targets run, even if one fails, and the script prints the failed
# ones at the end. SITU_FUZZ_SANITIZER=none: without the address sanitizer, which is faster.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
scripts/setup.sh fuzz clang
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"

# For libFuzzer, no time means unlimited time.
limit=-max_total_time=$seconds
[ "$seconds" != 0 ] || limit=-runs=0
sanitizer=${SITU_FUZZ_SANITIZER:-address}
built=$PWD/build/fuzz/target
build=(-s "$sanitizer")
if [ "$sanitizer" = none ]; then
  built+=-none
  # Recording compared values would take half of the time.
  build+=(--no-trace-compares)
fi
named=("$@")
if [ $# = 0 ]; then
  mapfile -t targets < <(cd fuzz && cargo +nightly fuzz list)
else
  targets=("$@")
fi
failed=()
for target in "${targets[@]}"; do
  found=$PWD/build/fuzz/$target
  mkdir -p "$found/corpus" "$found/artifacts"
  # The vectors are good first inputs.
  case $target in
    *idl*) seeds=(spec/vectors/*.idl schema/situ/*.idl tests/generated/schema/services/*.idl) ;;
    *ros*) seeds=(crates/situ-schema/built_in/*/msg/*.msg tests/generated/schema/services/srv/*.srv) ;;
    protobuf) seeds=(spec/vectors/protobuf/*.bin) ;;
    region_* | trace_* | record_* | bridge_* | foxglove_*) seeds=("fuzz/corpus/$target/"*) ;;
    *text*) seeds=(crates/situ-schema/tests/dynamic/*.yaml) ;;
    *) seeds=(spec/vectors/cdr/*.bin spec/vectors/flat/*.head.bin) ;;
  esac
  cp -n "${seeds[@]}" "$found/corpus/" 2>/dev/null || true
  # A program of a few hundred bytes reaches the same code as longer ones, and more of them run in the same
  # time.
  options=("$limit" -timeout=20 -rss_limit_mb=4096 -artifact_prefix="$found/artifacts/" -print_final_stats=1)
  [ "$target" != region_program ] || options+=(-max_len=256)
  echo "==> $target, $seconds s"
  CARGO_TARGET_DIR=$built cargo +nightly fuzz run --fuzz-dir fuzz "${build[@]}" "$target" "$found/corpus" -- "${options[@]}" ||
    failed+=("$target")
done
# The C++ targets, unless targets were named.
if [ ${#named[@]} = 0 ]; then cpp/fuzz/run.sh "$seconds" || failed+=("those of C++ that are named above"); fi
if [ ${#failed[@]} != 0 ]; then
  printf 'fuzz: FAILED: %s\n' "${failed[@]}" >&2
  echo "fuzz: inputs that fail are in build/fuzz/<target>/artifacts" >&2
  exit 1
fi
echo "fuzz: nothing found"
