#!/bin/sh
# Measures Situ on a GPU: one call that prints a table. The machine with the GPU needs its driver and libnvrtc, and nothing to build
# with: `bench/device.sh build`, where Rust is, leaves the programs in bench/device/bin; bring that folder along, and call this there.
# Usage: bench/device.sh [build] [DOMAIN] [--quick]     DOMAIN: cuda:0 (default); vulkan:0 and emulated:0 for what they can
set -eu
cd "$(dirname "$0")"
bin=device/bin

build() {
  mkdir -p $bin
  cargo build --release --quiet --manifest-path device/Cargo.toml --target-dir target >&2
  # The suite too: where it is measured, it has to hold.
  suite=$(cd .. && cargo test --quiet -p situ-memory --test conformance --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*conformance-[^"]*\)".*/\1/p' | tail -1)
  cp target/release/situ-device $bin/situ-device
  cp "$suite" $bin/conformance
  strip --strip-debug $bin/situ-device $bin/conformance 2>/dev/null || true
}

if [ "${1:-}" = build ]; then
  build
  echo "bench/device/bin is ready: $(du -sh $bin | cut -f1)"
  exit
fi
# Where there is Rust, what is measured is what lies here; elsewhere it is what was brought along.
if command -v cargo >/dev/null 2>&1; then
  build
elif [ ! -x $bin/situ-device ]; then
  echo "device.sh: there is no Rust here, and nothing in bench/$bin: run 'bench/device.sh build' where there is, and bring it" >&2
  exit 2
fi
# Kernels are loaded before anything waits, and streams have queues of their own: see crates/situ-memory/src/cuda/mod.rs.
export CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32
exec $bin/situ-device "$@"
