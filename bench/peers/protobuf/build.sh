#!/bin/sh
# Builds the C++ programs of table `protobuf`, with GCC and with Clang, after cargo has generated
# message.situ.hpp. It can run again at any time. A program that cannot be built is left out, and the table
# gives the reason.
set -u
cd "$(dirname "$0")/../.." || exit 1

packages="cmake g++ clang libprotobuf-dev protobuf-compiler libprotozero-dev"
missing=
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
if [ -n "$missing" ] && [ "${BENCH_NO_INSTALL:-0}" != 1 ] && command -v apt-get >/dev/null; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo="sudo -n"
  $sudo apt-get update -qq >/dev/null 2>&1
  # shellcheck disable=SC2086
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends $missing >/dev/null 2>&1 ||
    echo "protobuf: cannot install$missing"
fi

# ProtoZero is in no Debian release. BENCH_PROTOZERO names a checkout of Perfetto.
protozero=${BENCH_PROTOZERO:-}
if [ -z "$protozero" ]; then
  echo "protobuf: without protozero; clone https://github.com/google/perfetto and set BENCH_PROTOZERO to its folder"
elif [ ! -f "$protozero/src/protozero/message.cc" ]; then
  echo "protobuf: without protozero; there is no checkout of Perfetto in BENCH_PROTOZERO=$protozero"
  protozero=
fi

mkdir -p build/bin
for compiler in gcc clang; do
  program=build/bin/peer-protobuf-$compiler
  log=build/protobuf-$compiler.log
  case $compiler in
    gcc) cxx=$(command -v g++) ;;
    clang) cxx=$(command -v clang++-14 || command -v clang++) ;;
  esac
  if [ -z "$cxx" ]; then
    rm -f "$program"
    echo "protobuf: $compiler is not installed"
  elif rm -f "build/protobuf-$compiler/CMakeCache.txt" && cmake -S peers/protobuf -B "build/protobuf-$compiler" -DCMAKE_BUILD_TYPE=Release -DBENCH_BIN="$PWD/build/bin" \
    -DBENCH_PROTOZERO="$protozero" -DBENCH_COMPILER=$compiler -DSITU_GENERATED="$PWD/build/generated" -DCMAKE_CXX_COMPILER="$cxx" >"$log" 2>&1 &&
    cmake --build "build/protobuf-$compiler" >>"$log" 2>&1; then
    echo "protobuf: $compiler is ready"
  else
    rm -f "$program"
    echo "protobuf: cannot be built with $compiler, see bench/$log"
  fi
done
