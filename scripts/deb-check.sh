#!/usr/bin/env bash
# Checks the Debian packages in a clean Debian: installs them with apt, runs the command, builds and runs
# programs in C and C++ with them, and removes them again.
#
#   scripts/deb-check.sh [--unpack] [FOLDER]     FOLDER has the packages; without it, build/deb is made
#
# debootstrap makes the clean Debian, of this machine's release and from this machine's mirror. It stays in
# build/deb-root, once as made and once with compilers; each run works on copies. This needs root and the
# right to mount. Without them, or with --unpack, the packages are unpacked into an empty folder, and this
# machine's compilers build the programs. The dependencies that the packages name are then not checked.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'deb-check: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

reason=
if [ "${1:-}" = --unpack ]; then
  reason='as asked with --unpack'
  shift
fi
folder=${1:-build/deb}
[ $# != 0 ] || scripts/deb.sh "$folder"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
series=${version%.*}
programs=$PWD/cpp/tests/package
state=$PWD/build/deb-root
mkdir -p "$state"

# The files of the packages, in the order in which they depend on each other.
files=()
for name in "libsitu$series" libsitu-dev situ; do
  found=("$folder/${name}_${version}"_*.deb)
  if ! [ -f "${found[0]}" ] || [ ${#found[@]} != 1 ]; then
    die "expected one package $name of version $version in $folder: run 'make deb'"
  fi
  files+=("${found[0]}")
done

# quietly COMMAND...: prints what the command says only if it fails.
quietly() {
  if ! "$@" >"$state/log" 2>&1; then
    cat "$state/log" >&2
    die "failed: $*"
  fi
}

# ---- The packages, unpacked

check_unpacked() {
  local root=$state/unpacked file pc program
  say "unpacks the packages, $1"
  rm -rf "$root"
  mkdir -p "$root"
  for file in "${files[@]}"; do dpkg-deb --extract "$file" "$root"; done
  [ "$("$root/usr/bin/situ" --version)" = "situ $version" ] || die "situ --version does not print 'situ $version'"
  gzip -dc "$root/usr/share/man/man1/situ.1.gz" | grep '^\.SH NAME' >/dev/null || die "situ.1.gz is not a manual page"
  pc=$(find "$root" -name situ.pc)
  export SITU_ROOT=$root/topics PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH=${pc%/pkgconfig/*}
  quietly "${CC:-cc}" -std=c11 "$programs/bus.c" -o "$root/c" $(pkg-config --cflags --libs situ)
  quietly "$root/c"
  quietly cmake -S "$programs" -B "$root/build" -DCMAKE_PREFIX_PATH="$root/usr" \
    ${CC:+-DCMAKE_C_COMPILER="$CC"} ${CXX:+-DCMAKE_CXX_COMPILER="$CXX"}
  quietly cmake --build "$root/build"
  for program in types bus c c_static; do quietly "$root/build/$program"; done
  say "ok: the command runs, and programs in C and C++ build and run; the dependencies were not checked"
}

# ---- The packages, installed in a clean Debian

# The release of this machine, and its mirror of that release.
release() { (. /etc/os-release && echo "${VERSION_CODENAME:-}"); }
mirror() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -v release="$1" '($2 == release || $3 == release) && $4 == "main" { print $1; exit }'
}

# Prints why there can be no clean Debian here, or nothing.
obstacle() {
  [ "$(id -u)" = 0 ] || { echo 'because only root can install packages'; return; }
  unshare --mount true 2>/dev/null || { echo 'because nothing can be mounted here'; return; }
  scripts/setup.sh debootstrap >&2 || { echo 'because there is no debootstrap'; return; }
  case $(mirror "$(release)") in
    http:* | https:* | file:*) ;;
    *) echo "because apt names no mirror of the release '$(release)' that debootstrap can read" ;;
  esac
}

# inside ROOT COMMAND...: runs a command in a Debian. Mounts end with the command.
inside() {
  unshare --mount --pid --fork sh -euc '
    root=$1
    shift
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/dev/shm"
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive "$@"' sh "$@"
}

# What a Debian has, without the caches, logs and lists of apt and dpkg.
contents() {
  (cd "$1" && find . -xdev \( -path ./var/cache -o -path ./var/log -o -path ./var/lib/dpkg -o -path ./var/lib/apt \
    -o -path ./tmp \) -prune -o -print | sort)
}

# make_clean: the Debian as debootstrap makes it. make_tools: the same with compilers.
make_clean() {
  local release mirror include=() proxy=
  release=$(release) mirror=$(mirror "$release")
  # debootstrap reads no configuration of apt.
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  [ -z "$proxy" ] || export http_proxy=$proxy
  case $mirror in https:*) include=(--include=ca-certificates) ;; esac
  say "makes a clean Debian ($release), some minutes"
  rm -rf "$state/clean.part"
  quietly debootstrap --variant=minbase "${include[@]}" "$release" "$state/clean.part" "$mirror"
  apt-config dump --no-empty --format '%F "%v";%n' Acquire::http Acquire::https Acquire::Check-Valid-Until Acquire::Check-Date \
    >"$state/clean.part/etc/apt/apt.conf.d/90machine"
  quietly inside "$state/clean.part" apt-get clean
  mv "$state/clean.part" "$state/clean"
}
make_tools() {
  say "adds compilers, CMake and pkg-config"
  rm -rf "$state/tools.part"
  cp -a --reflink=auto "$state/clean" "$state/tools.part"
  quietly inside "$state/tools.part" apt-get update
  quietly inside "$state/tools.part" apt-get install -y --no-install-recommends gcc g++ libc6-dev make cmake pkg-config
  quietly inside "$state/tools.part" apt-get clean
  mv "$state/tools.part" "$state/tools"
}

# room BASE: a copy of a Debian, with the packages in /packages and the sources of programs in /programs.
room() {
  rm -rf "$state/room"
  cp -a --reflink=auto "$state/$1" "$state/room"
  mkdir "$state/room/packages"
  cp "${files[@]}" "$state/room/packages"
  cp -r "$programs" "$state/room/programs"
}
in_room() { inside "$state/room" "$@"; }

check_installed() {
  local program printed before
  [ -d "$state/clean" ] || make_clean
  [ -d "$state/tools" ] || make_tools

  say "installs the command and the library in the clean Debian"
  room clean
  before=$(contents "$state/room")
  quietly in_room sh -c "apt-get install -y --no-install-recommends /packages/situ_*.deb /packages/libsitu${series}_*.deb"
  printed=$(in_room situ --version)
  [ "$printed" = "situ $version" ] || die "situ --version prints '$printed', expected 'situ $version'"
  in_room dpkg -L situ | grep -x /usr/share/man/man1/situ.1.gz >/dev/null || die "the package situ has no manual page situ(1)"
  in_room gzip -dc /usr/share/man/man1/situ.1.gz | grep '^\.SH NAME' >/dev/null || die "situ.1.gz is not a manual page"
  quietly in_room situ topic list
  in_room ldconfig -p | grep "libsitu\.so\.$series " >/dev/null || die "the loader does not know libsitu.so.$series"
  quietly in_room dpkg --audit
  quietly in_room apt-get purge -y situ "libsitu$series"
  diff <(echo "$before") <(contents "$state/room") >&2 || die "removing the packages leaves the files above, marked '>'"

  say "installs all packages beside compilers, and builds programs"
  room tools
  quietly in_room sh -c 'apt-get install -y --no-install-recommends /packages/*.deb'
  quietly in_room sh -euc 'cc -std=c11 /programs/bus.c -o /tmp/c $(pkg-config --cflags --libs situ)'
  quietly in_room /tmp/c
  quietly in_room cmake -S /programs -B /tmp/build
  quietly in_room cmake --build /tmp/build
  for program in types bus c c_static; do quietly in_room "/tmp/build/$program"; done
  rm -rf "$state/room"
  say "ok in a clean Debian ($(release)): installed, ran, built and ran programs in C and C++, removed"
}

[ -n "$reason" ] || reason=$(obstacle)
if [ -n "$reason" ]; then check_unpacked "$reason"; else check_installed; fi
