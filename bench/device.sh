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
  cp target/release/situ-device $bin/situ-device
  # The tests too: where it is measured, it has to hold.
  for of in situ-memory:conformance situ-memory:cuda situ-bus:devices; do
    test=${of#*:}
    built=$(cd .. && cargo test --quiet -p "${of%:*}" --test "$test" --no-run --message-format=json |
      sed -n 's/.*"executable":"\([^"]*\/'"$test"'-[^"]*\)".*/\1/p' | tail -1)
    cp "$built" "$bin/$test"
  done
  strip --strip-debug $bin/* 2>/dev/null || true
}

# The folders that have libnvrtc: toolkits, and Python packages (nvidia-cuda-nvrtc), which no loader looks into by itself.
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
# Where there is Rust, what is measured is what lies here; elsewhere it is what was brought along.
if command -v cargo >/dev/null 2>&1; then
  build
elif [ ! -x $bin/situ-device ]; then
  echo "device.sh: there is no Rust here, and nothing in bench/$bin: run 'bench/device.sh build' where there is, and bring it" >&2
  exit 2
fi
found=$(nvrtc || true)
[ -z "$found" ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${found%:}"
# Kernels are loaded before anything waits, and streams have queues of their own: see crates/situ-memory/src/cuda/mod.rs.
export CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32
exec $bin/situ-device "$@"
