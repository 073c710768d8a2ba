#!/bin/sh
# Measures Situ on a GPU, and prints one table. The machine with the GPU needs its driver and libnvrtc, but no
# build tools. On a machine with Rust, `bench/device.sh build` leaves the programs in bench/device/bin. Copy
# that folder to the machine with the GPU, and call this script there.
# Usage: bench/device.sh [build] [DOMAIN] [--quick]
# DOMAIN: cuda:0 (default); vulkan:0 and emulated:0 run the part that they support.
set -eu
cd "$(dirname "$0")"
bin=device/bin

build() {
  mkdir -p $bin
  cargo build --release --quiet --manifest-path device/Cargo.toml --target-dir target >&2
  cp target/release/situ-device $bin/situ-device
  # The tests must pass on the machine that is measured.
  for of in situ-memory:conformance situ-memory:cuda situ-bus:devices; do
    test=${of#*:}
    built=$(cd .. && cargo test --quiet -p "${of%:*}" --test "$test" --no-run --message-format=json |
      sed -n 's/.*"executable":"\([^"]*\/'"$test"'-[^"]*\)".*/\1/p' | tail -1)
    cp "$built" "$bin/$test"
  done
  strip --strip-debug $bin/* 2>/dev/null || true
}

# The folders with libnvrtc: toolkits, and Python packages (nvidia-cuda-nvrtc). No loader searches the latter.
nvrtc() {
  for folder in ${CUDA_HOME:+"$CUDA_HOME/lib64"} ${CONDA_PREFIX:+"$CONDA_PREFIX/lib"} \
    /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib /opt/cuda*/lib64 \
    $(python3 -c 'import sys; print(*(path + "/nvidia/*/lib" for path in sys.path if path.endswith("-packages")))' 2>/dev/null) \
    ${VIRTUAL_ENV:+"$VIRTUAL_ENV"/lib/python3*/site-packages/nvidia/*/lib} \
    /usr/lib/python3*/*-packages/nvidia/*/lib /usr/local/lib/python3*/*-packages/nvidia/*/lib \
    "${HOME:-/root}"/.local/lib/python3*/site-packages/nvidia/*/lib \
    /opt/*/lib/python3*/site-packages/nvidia/*/lib /opt/*/*/lib/python3*/site-packages/nvidia/*/lib; do
    for library in "$folder"/libnvrtc.so*; do
      [ -e "$library" ] && printf '%s:' "$folder" && break
    done
  done
}

if [ "${1:-}" = build ]; then
  build
  echo "bench/device/bin is ready: $(du -sh $bin | cut -f1)"
  exit
fi
# With Rust, measures what is built here. Without it, measures the programs that were copied here.
if command -v cargo >/dev/null 2>&1; then
  build
elif [ ! -x $bin/situ-device ]; then
  echo "device.sh: no Rust, and no programs in bench/$bin: run 'bench/device.sh build' on a machine with Rust, and copy them" >&2
  exit 2
fi
found=$(nvrtc || true)
[ -z "$found" ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${found%:}"
# Loads kernels before anything waits, and gives streams their own queues: see
# crates/situ-memory/src/domain/cuda/mod.rs.
export CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32
exec $bin/situ-device "$@"
