#!/bin/sh
# Installs and builds the peers that are not Rust, from Debian's packages: Cyclone DDS, Fast DDS and classic
# iceoryx (`middleware`), and the peers of table `region`. Arguments: `middleware` or `region`; both without
# an argument. It can run again at any time. A peer that cannot be built is left out, and the table gives the
# reason.
set -u
cd "$(dirname "$0")" || exit 1

groups=${*:-middleware region}
packages="cmake g++"
for group in $groups; do
  case $group in
    middleware)
      packages="$packages iceoryx libiceoryx-posh-dev libiceoryx-hoofs-dev libiceoryx-binding-c-dev
cyclonedds-dev cyclonedds-tools libssl-dev libfastrtps-dev libfastcdr-dev" ;;
    region)
      packages="$packages zlib1g-dev pkg-config libboost-dev flatbuffers-compiler libflatbuffers-dev capnproto libcapnp-dev
libmsgpack-cxx-dev protobuf-compiler libprotobuf-dev clang" ;;
    *) echo "setup: no such group of peers: $group" >&2; exit 2 ;;
  esac
done

missing=
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
  echo "setup: missing packages:$missing"
  if [ "${BENCH_NO_INSTALL:-0}" = 1 ]; then
    echo "setup: BENCH_NO_INSTALL=1, so they are not installed"
  elif ! command -v apt-get >/dev/null; then
    echo "setup: no apt-get here; install the same libraries by hand"
  else
    sudo=
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    { $sudo apt-get update -qq || true; } >/dev/null 2>&1
    # Builds one by one, so that a failure affects one peer only.
    for package in $missing; do
      $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends "$package" \
        >/dev/null 2>&1 || echo "setup: cannot install $package (try: sudo apt-get install $package)"
    done
  fi
fi

mkdir -p build/bin

# cista is in no Debian release. BENCH_CISTA names a directory with its headers. Without it, the script tries
# to fetch cista's one header.
fetch_cista() {
  if [ -n "${BENCH_CISTA:-}" ]; then
    [ -f "$BENCH_CISTA/cista/serialization.h" ] || [ -f "$BENCH_CISTA/cista.h" ] || echo "setup: no cista in BENCH_CISTA=$BENCH_CISTA"
    return
  fi
  BENCH_CISTA=$PWD/build/cista
  [ ! -f "$BENCH_CISTA/cista.h" ] && [ "${BENCH_NO_INSTALL:-0}" != 1 ] || return
  mkdir -p "$BENCH_CISTA"
  url=https://github.com/felixguendling/cista/releases/download/v0.16/cista.h
  if command -v curl >/dev/null && curl -fsL --max-time 20 -o "$BENCH_CISTA/cista.h.part" "$url"; then
    mv "$BENCH_CISTA/cista.h.part" "$BENCH_CISTA/cista.h"
  else
    rm -f "$BENCH_CISTA/cista.h.part"
    echo "setup: cannot fetch cista ($url); clone it and set BENCH_CISTA=.../include"
  fi
}

build_region() {
  log=build/region.log
  fetch_cista
  { cmake -S peers/region -B build/region -DCMAKE_BUILD_TYPE=Release -DBENCH_BIN="$PWD/build/bin" -DBENCH_CISTA="$BENCH_CISTA" \
      -UCISTA_INCLUDE && cmake --build build/region --parallel -- -k; } >"$log" 2>&1
  for source in situ situ-canonical situ-clang std boost xoffset cista flatbuffers capnp msgpack protobuf; do
    program=peer-region-$source
    if [ -x "build/bin/$program" ] && [ ! -f "build/bin/$program.absent" ]; then continue; fi
    if [ ! -f "build/bin/$program.absent" ]; then
      reason=$(grep -m1 -E 'error|Error' "$log" || tail -n1 "$log")
      echo "not built: ${reason:-see bench/$log} (log: bench/$log)" >"build/bin/$program.absent"
    fi
    echo "setup: $program is absent: $(cat "build/bin/$program.absent")"
  done
  echo "setup: region is ready"
}

for group in $groups; do
  if [ "$group" = region ]; then build_region; fi
done
case " $groups " in *" middleware "*) ;; *) exit 0 ;; esac
for peer in iceoryx cyclonedds fastdds; do
  log=build/$peer.log
  case $peer in
    iceoryx) programs=peer-iceoryx ;;
    *) programs="peer-$peer peer-$peer-loan" ;;
  esac
  if cmake -S "peers/$peer" -B "build/$peer" -DCMAKE_BUILD_TYPE=Release -DBENCH_BIN="$PWD/build/bin" >"$log" 2>&1 &&
    cmake --build "build/$peer" >>"$log" 2>&1; then
    for program in $programs; do rm -f "build/bin/$program.absent"; done
    echo "setup: $peer is ready"
  else
    reason=$(grep -m1 -E 'error|Error|not found|Could not find' "$log" || tail -n1 "$log")
    for program in $programs; do
      rm -f "build/bin/$program"
      echo "not built: ${reason:-see bench/$log} (bench/setup.sh builds it; log: bench/$log)" >"build/bin/$program.absent"
    done
    echo "setup: $peer is absent: ${reason:-see bench/$log}"
  fi
done
