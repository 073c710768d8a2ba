#!/usr/bin/env bash
# Builds the C++ fuzz targets and runs each for a while: cpp/fuzz/run.sh [seconds for each]. With 0 seconds
# each runs its known inputs once. Failing inputs, and those learned from, stay under build/fuzz/cpp. All
# targets run, also after a failure; the failed ones are listed at the end.
# SITU_FUZZ_SANITIZER=none: without sanitizers, which is faster.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-60}
clang=$(command -v clang++ || command -v clang++-14) || {
  echo "fuzz: libFuzzer comes with Clang; install clang and try again" >&2
  exit 1
}
targets=(fuzz_cdr fuzz_validate fuzz_protobuf fuzz_region_image fuzz_region_packed fuzz_region_program)
sanitizers=address,undefined
built=build/fuzz/cpp/built
entropic=1
if [ "${SITU_FUZZ_SANITIZER-}" = none ]; then
  sanitizers=
  built+=-none
  # Half the time would go into choosing the next input.
  entropic=0
fi
cmake -S cpp -B "$built" -G Ninja -DSITU_FUZZ=ON -DSITU_TESTS=OFF -DSITU_BUS=OFF -DCMAKE_CXX_COMPILER="$clang" \
  -DSITU_FUZZ_SANITIZERS=$sanitizers >/dev/null
cmake --build "$built" --target "${targets[@]}"

# The vectors are good seeds. The first byte chooses the type, see the targets.
seed() { # <target> <choice> <file>...
  mkdir -p "build/fuzz/cpp/$1/corpus"
  { printf "\\x0$2"; cat "${@:3}"; } >"build/fuzz/cpp/$1/corpus/$2-$(basename "$3")"
}
cases=(primitives containers containers optionals unions derived derived changing heaped)
for choice in "${!cases[@]}"; do
  for file in spec/vectors/cdr/"${cases[choice]}".*.bin; do seed fuzz_cdr "$choice" "$file"; done
done
cases=(primitives containers optionals unions derived)
for choice in "${!cases[@]}"; do
  seed fuzz_validate "$choice" spec/vectors/flat/"${cases[choice]}".{head,body}.bin 2>/dev/null || true
done

mkdir -p build/fuzz/cpp/fuzz_protobuf/corpus
cp spec/vectors/protobuf/*.bin build/fuzz/cpp/fuzz_protobuf/corpus
for file in spec/vectors/region/kitchen.*.bin; do seed fuzz_region_image 0 "$file"; done
for file in spec/vectors/region/market.*.bin; do seed fuzz_region_image 1 "$file"; done
for file in spec/vectors/region/profile.*.bin; do
  seed fuzz_region_image 2 "$file"
  seed fuzz_region_image 3 "$file"
done
for file in spec/vectors/region/family.*.bin; do seed fuzz_region_image 4 "$file"; done

# Without the header, which the target adds.
mkdir -p build/fuzz/cpp/fuzz_region_packed/corpus
cases=(kitchen market character)
for choice in "${!cases[@]}"; do
  { printf "\\x0$choice"; tail -c +33 "spec/vectors/region/${cases[choice]}.packed.bin"; } \
    >"build/fuzz/cpp/fuzz_region_packed/corpus/$choice-${cases[choice]}"
done

{ printf '\x07'; tail -c +33 spec/vectors/region/family.packed.bin; } >build/fuzz/cpp/fuzz_region_packed/corpus/7-family

# For libFuzzer, 0 means no limit.
limit=-max_total_time=$seconds
[ "$seconds" != 0 ] || limit=-runs=0
failed=()
for target in "${targets[@]}"; do
  echo "==> $target, $seconds s"
  found=build/fuzz/cpp/$target
  mkdir -p "$found/artifacts" "$found/corpus"
  # Inputs learned by earlier runs, if they are kept.
  cp -n "fuzz/corpus/$target/"* "$found/corpus/" 2>/dev/null || true
  # A program of a few hundred bytes reaches the same code as longer ones, and runs faster.
  longest=4096
  [ "$target" != fuzz_region_program ] || longest=256
  "$built/fuzz/$target" "$limit" -entropic=$entropic -max_len=$longest -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="$found/artifacts/" -print_final_stats=1 "$found/corpus" || failed+=("$target")
done
if [ ${#failed[@]} != 0 ]; then
  printf 'fuzz: FAILED: %s\n' "${failed[@]}" >&2
  echo "fuzz: inputs that fail are in build/fuzz/cpp/<target>/artifacts" >&2
  exit 1
fi
