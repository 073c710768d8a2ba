#!/usr/bin/env bash
# Gets this machine ready: installs what is missing on Debian or Ubuntu and says what to do elsewhere.
# Usage: scripts/setup.sh [rust] [cpp] [lint] [python] [vulkan]   (nothing named: rust)
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Installs Debian packages, as root or through sudo; $1 says what they are for.
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
  # A machine that has just been started often installs updates by itself: wait for it.
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

# Formatters. (Where there is a clang, the tests also compile C++ regions with it; `make sanitize` runs their tests so.)
setup_lint() {
  local missing=()
  have clang-format || have clang-format-14 || missing+=(clang-format)
  [ ${#missing[@]} = 0 ] || packages "the formatting check" "${missing[@]}"
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

# A virtual environment with the independent implementations that the interoperability tests talk to. Leaves
# build/venv/.ready behind when it is complete; without a package index the tests that need it are skipped.
setup_python() {
  local venv=build/venv requirements=scripts/interop-requirements.txt
  if [ -f "$venv/.ready" ] && cmp -s "$requirements" "$venv/.ready"; then return; fi
  mkdir -p build
  # Nobody needs these tests to use Situ: whatever is missing for them is no reason to stop.
  if [ ! -x "$venv/bin/pip" ] && ! make_environment "$venv"; then
    say "SKIPPED: no Python environment here (see above); the tests against rclpy and cyclonedds will not run"
    return
  fi
  say "installing the peers of the interoperability tests into $venv"
  if "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" >&2; then
    cp "$requirements" "$venv/.ready"
  else
    say "SKIPPED: the packages of $requirements cannot be installed here (no package index, or no build for this Python);" \
      "the tests against rclpy and cyclonedds will not run"
  fi
}

# A Python environment in $1, with the packages of Debian that it takes if it does not work without.
make_environment() {
  rm -rf "$1"
  { have python3 && python3 -m venv "$1" 2>/dev/null; } ||
    { (packages "the interoperability tests" python3 python3-venv) && rm -rf "$1" && python3 -m venv "$1" >&2; }
}

for part in "${@:-rust}"; do
  case $part in
    rust | cpp | lint | python | vulkan) "setup_$part" ;;
    *) die "unknown part '$part'; there are: rust cpp lint python vulkan" ;;
  esac
done
