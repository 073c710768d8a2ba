#!/usr/bin/env bash
# Prepares this machine: installs missing packages on Debian or Ubuntu, and elsewhere prints what to do.
#
# Usage: scripts/setup.sh [PART...] (without a part: rust). The last lines of this file name the parts.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Installs Debian packages, as root or through sudo. $1 is their purpose.
packages() {
  local what=$1
  shift
  local run=()
  if ! have apt-get; then
    die "missing for $what: $* (Debian names); there is no apt-get here, please install them by hand"
  fi
  if [ "$(id -u)" != 0 ]; then
    have sudo || die "missing for $what: run 'apt-get install $*' as root (there is no sudo here)"
    run=(sudo)
  fi
  say "installing for $what: $*"
  # A freshly started machine often installs updates by itself: waits for that.
  local patient=(-qq -o DPkg::Lock::Timeout=300)
  if ! { "${run[@]}" apt-get update "${patient[@]}" &&
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y "${patient[@]}" --no-install-recommends "$@"; } >&2; then
    die "could not install $* for $what: run 'apt-get install $*' yourself and try again"
  fi
}

# Rust with the edition and version that Cargo.toml asks for.
setup_rust() {
  local wanted
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  local missing=()
  have cc || missing+=(build-essential)
  have cargo || have curl || missing+=(curl ca-certificates)
  [ ${#missing[@]} = 0 ] || packages "the linker and downloads" "${missing[@]}"
  if ! have cargo; then
    [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
  fi
  if ! have cargo; then
    say "installing Rust with rustup (into ~/.cargo and ~/.rustup)"
    curl --proto '=https' --tlsv1.2 -sSf https://static.rust-lang.org/rustup/rustup-init.sh | sh -s -- -y -q --profile minimal \
      -c clippy -c rustfmt >&2 || die "could not install Rust: see https://rustup.rs, then try again"
    . "$HOME/.cargo/env"
  fi
  local found
  found=$(rustc --version | awk '{print $2}')
  if [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -1)" != "$wanted" ]; then
    die "Rust $found is too old, $wanted is needed: rustup update stable"
  fi
}

# A C++20 compiler, CMake, Ninja and GoogleTest.
setup_cpp() {
  local missing=()
  have c++ || missing+=(build-essential)
  have cmake || missing+=(cmake)
  have ninja || missing+=(ninja-build)
  have pkg-config || missing+=(pkg-config)
  # An independent implementation, for the tests of protobuf.
  have protoc || missing+=(protobuf-compiler)
  [ -e /usr/include/gtest/gtest.h ] || [ -e /usr/local/include/gtest/gtest.h ] || missing+=(libgtest-dev)
  [ ${#missing[@]} = 0 ] || packages "C++" "${missing[@]}"
}

# The logging libraries whose adapters the book shows.
setup_logging() {
  local missing=()
  [ -e /usr/include/spdlog/spdlog.h ] || [ -e /usr/local/include/spdlog/spdlog.h ] || missing+=(libspdlog-dev)
  [ -e /usr/include/glog/logging.h ] || [ -e /usr/local/include/glog/logging.h ] || missing+=(libgoogle-glog-dev)
  [ ${#missing[@]} = 0 ] || packages "the tests of adapters for logs" "${missing[@]}"
}

# Formatters and linters. (With a clang, the tests also compile C++ regions with it.) Git lists the sources.
setup_lint() {
  setup_rust
  local missing=() component
  have clang-format || have clang-format-14 || missing+=(clang-format)
  have git || missing+=(git)
  have python3 || missing+=(python3)
  [ ${#missing[@]} = 0 ] || packages "the checks of the sources" "${missing[@]}"
  for component in clippy rustfmt; do
    cargo "${component/rust/}" --version >/dev/null 2>&1 || add_component "$component"
  done
}

# Adds a component of rustup to a toolchain: add_component NAME [TOOLCHAIN]. Does nothing if it is installed.
add_component() {
  have rustup || die "$1 comes with rustup; install rustup (https://rustup.rs) and try again"
  local toolchain=()
  [ -z "${2:-}" ] || toolchain=(--toolchain "$2")
  if rustup component list "${toolchain[@]}" --installed 2>/dev/null | grep -q "^$1\(-$(uname -m)\|$\)"; then return; fi
  say "installing $1${2:+ of $2} with rustup"
  rustup component add "$1" "${toolchain[@]}" >&2 || die "could not install $1: run 'rustup component add $1 ${toolchain[*]}' yourself and try again"
}

# Adds the standard library of a target to Rust: add_target TRIPLE.
add_target() {
  setup_rust
  [ ! -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] || return 0
  have rustup || die "the standard library of $1 comes with rustup; install rustup (https://rustup.rs) and try again"
  say "installing the target $1 with rustup"
  rustup target add "$1" >&2 || die "could not install the target $1: run 'rustup target add $1' yourself and try again"
}

# Compilers for arm64, and the emulator that runs what they build.
setup_arm64() {
  local missing=()
  have aarch64-linux-gnu-gcc || missing+=(gcc-aarch64-linux-gnu)
  have aarch64-linux-gnu-g++ || missing+=(g++-aarch64-linux-gnu)
  [ -e /usr/aarch64-linux-gnu/include/stdio.h ] || missing+=(libc6-dev-arm64-cross)
  have qemu-aarch64 || missing+=(qemu-user)
  # The sources of GoogleTest are in the same package as its library for this machine.
  [ -e /usr/src/googletest/CMakeLists.txt ] || missing+=(libgtest-dev)
  [ ${#missing[@]} = 0 ] || packages "arm64" "${missing[@]}"
  add_target aarch64-unknown-linux-gnu
}

# A nightly compiler with the sources of the standard library, for sanitizers, fuzzers and Miri.
setup_nightly() {
  setup_rust
  have rustup || die "sanitizers, fuzzers and Miri need a nightly compiler; install rustup (https://rustup.rs) and try again"
  if ! rustup run nightly rustc --version >/dev/null 2>&1; then
    say "installing the nightly compiler with rustup"
    # Named together, so that rustup takes a nightly version with all of them.
    rustup toolchain install nightly --no-self-update --profile minimal -c rust-src -c miri >&2 ||
      die "could not install the nightly compiler: run 'rustup toolchain install nightly' yourself and try again"
  fi
  add_component rust-src nightly
}

# Miri, the interpreter that detects undefined behaviour.
setup_miri() {
  setup_nightly
  add_component miri nightly
}

# cargo-fuzz, and a C++ linker for libFuzzer.
setup_fuzz() {
  setup_cpp
  setup_nightly
  if ! cargo fuzz --version >/dev/null 2>&1; then
    say "installing cargo-fuzz"
    cargo install --quiet --locked cargo-fuzz >&2 || die "could not install cargo-fuzz: run 'cargo install cargo-fuzz' yourself and try again"
  fi
}

# Clang with its sanitizers and libFuzzer, which are packages of their own.
setup_clang() {
  have clang++ || have clang++-14 || packages "a second compiler" clang
  if clang_sanitizes; then return; fi
  local clang version
  clang=$(command -v clang++ || command -v clang++-14)
  version=$("$clang" -dumpversion | cut -d. -f1)
  # Debian and newer Ubuntus have a package of them. Before, they were with the compiler's headers.
  (packages "the sanitizers of Clang" "libclang-rt-$version-dev") || packages "the sanitizers of Clang" "libclang-common-$version-dev"
  clang_sanitizes || die "$clang builds nothing with -fsanitize=address,undefined,fuzzer; install the compiler-rt of your Clang"
}

clang_sanitizes() {
  local clang
  clang=$(command -v clang++ || command -v clang++-14) || return 1
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    "$clang" -fsanitize=address,undefined,fuzzer -x c++ - -o /dev/null 2>/dev/null
}

# The tools for downloading and unpacking the runner of protobuf's conformance tests.
setup_conformance() {
  local missing=()
  have curl || missing+=(curl ca-certificates)
  have ar || missing+=(binutils)
  have xz || missing+=(xz-utils)
  [ ${#missing[@]} = 0 ] || packages "the conformance tests" "${missing[@]}"
}

# The tools that build Debian packages.
setup_deb() {
  have dpkg || die "Debian packages are built on Debian and its relatives; elsewhere use 'make install'"
  have dpkg-shlibdeps || packages "Debian packages" dpkg-dev
}

# debootstrap, which makes a clean Debian.
setup_debootstrap() {
  have debootstrap || packages "a clean Debian" debootstrap
}

# mdBook, which makes pages of the book. If it cannot be installed, the book stays plain Markdown. Its server
# and its watcher are left out: they are most of its dependencies. Git lists the files that the pages link to.
setup_book() {
  setup_rust
  local missing=()
  have git || missing+=(git)
  have python3 || missing+=(python3)
  [ ${#missing[@]} = 0 ] || packages "the book" "${missing[@]}"
  if have mdbook || [ -x build/tools/bin/mdbook ]; then return; fi
  say "installing mdbook into build/tools (some minutes)"
  cargo install --quiet --locked --root build/tools mdbook --version "^0.4" --no-default-features --features search >&2 ||
    say "SKIPPED: mdbook cannot be installed here"
}

# Doxygen, which makes the reference of C++ and C.
setup_reference() {
  setup_rust
  have doxygen || packages "the reference of C++" doxygen
}

# A Vulkan loader and a device that every machine has: Mesa's lavapipe, which computes on the CPU.
setup_vulkan() {
  local missing=()
  ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' || missing+=(libvulkan1)
  compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null || missing+=(mesa-vulkan-drivers)
  if [ ${#missing[@]} != 0 ] && ! (packages "the tests of the vulkan domain" "${missing[@]}"); then
    say "SKIPPED: no Vulkan here (see above); the tests of the vulkan domain will say so and pass"
  fi
}

# A virtual environment with the independent implementations for the interoperability tests. A complete one
# has build/venv/.ready. Without a package index the tests that need it are skipped.
setup_python() {
  local venv=build/venv requirements=scripts/interop-requirements.txt
  if [ -f "$venv/.ready" ] && cmp -s "$requirements" "$venv/.ready"; then return; fi
  mkdir -p build
  # Using Situ does not need these tests, so a missing part of them is no reason to stop.
  if [ ! -x "$venv/bin/pip" ] && ! make_environment "$venv"; then
    say "SKIPPED: no Python environment here (see above); the tests against rclpy and cyclonedds will not run"
    return
  fi
  say "installing the peers of the interoperability tests into $venv"
  # The packages are 200 MB: a person sees how far they are.
  local quiet=(--quiet)
  [ ! -t 2 ] || quiet=()
  if "$venv/bin/pip" install "${quiet[@]}" --disable-pip-version-check --requirement "$requirements" >&2; then
    cp "$requirements" "$venv/.ready"
  else
    say "SKIPPED: the packages of $requirements cannot be installed here (no package index, or no build for this Python);" \
      "the tests against rclpy and cyclonedds will not run"
  fi
}

# A Python environment in $1, with Debian's packages if it does not work without them.
make_environment() {
  rm -rf "$1"
  { have python3 && python3 -m venv "$1" 2>/dev/null; } ||
    { (packages "the interoperability tests" python3 python3-venv) && rm -rf "$1" && python3 -m venv "$1" >&2; }
}

for part in "${@:-rust}"; do
  case $part in
    rust | cpp | logging | lint | arm64 | python | vulkan | nightly | miri | fuzz | clang | conformance | deb | debootstrap | reference | book) "setup_$part" ;;
    target:*) add_target "${part#target:}" ;;
    *) die "unknown part '$part'; there are: rust cpp logging lint arm64 python vulkan nightly miri fuzz clang conformance deb debootstrap reference book target:TRIPLE" ;;
  esac
done
