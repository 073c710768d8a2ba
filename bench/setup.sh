#!/bin/sh
# Installs and builds the peers that are not Rust: Cyclone DDS, Fast DDS and classic iceoryx, from Debian's packages.
# May be run again at any time. A peer that cannot be built is left out, and the table says why.
set -u
cd "$(dirname "$0")" || exit 1

packages="cmake g++ iceoryx libiceoryx-posh-dev libiceoryx-hoofs-dev libiceoryx-binding-c-dev
cyclonedds-dev cyclonedds-tools libssl-dev libfastrtps-dev libfastcdr-dev"

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
    # One by one, so that one peer's trouble is not another's.
    for package in $missing; do
      DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "$package" \
        >/dev/null 2>&1 || echo "setup: cannot install $package (try: sudo apt-get install $package)"
    done
  fi
fi

mkdir -p build/bin
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
