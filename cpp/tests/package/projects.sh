#!/usr/bin/env bash
# Writes a project in each language with `situ new`, builds and runs it with an installed Situ by the commands of
# its README, and prints the time from the empty folder to the first message. Also builds and runs the program in
# the README of the crate situ.
#
#   projects.sh INSTALLED WORK LOCK TARGET     installation, scratch folder, Cargo.lock, cargo's target folder
set -euo pipefail
installed=$1 work=$2 lock=$3
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
PKG_CONFIG_PATH=$(dirname "$(find "$installed" -name situ.pc)")
LD_LIBRARY_PATH=$(dirname "$(find "$installed" -name libsitu.so)")
export PATH=$installed/bin:$PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
export SITU_ROOT=$work/topics CARGO_TARGET_DIR=$4 CARGO_PROFILE_DEV_DEBUG=0 CARGO_NET_OFFLINE=true
rm -rf "$work"
mkdir -p "$work"
cd "$work"

# block FILE N: the commands of the Nth block of a README. The first one builds, the second one runs.
block() { awk -v n="$2" '/^```sh$/ { at++; on = 1; next } /^```/ { on = 0 } on && at == n' "$1"; }

# start COMMAND LOG: starts a program in the background.
start() { bash -c "exec $1" >"$2" 2>&1 & }

# project LANGUAGE NAME: writes, builds and runs one.
project() {
  local begun=$SECONDS
  situ new "$2" --lang "$1" >"$2.log"
  case $1 in rust | mixed) cp "$lock" "$2/Cargo.lock" ;; esac
  cd "$2"
  block README.md 1 >build.sh
  if ! bash -e build.sh >../"$2.build" 2>&1; then
    cat ../"$2.build"
    echo "projects: $1 does not build" >&2
    return 1
  fi
  if grep -i 'warning' ../"$2.build"; then
    echo "projects: $1 builds with warnings" >&2
    return 1
  fi
  local subscriber publisher pids=()
  subscriber=$(block README.md 2 | sed -n 1p) publisher=$(block README.md 2 | sed -n 2p)
  start "$subscriber" ../"$2.subscriber"
  pids+=($!)
  start "$publisher" ../"$2.publisher"
  pids+=($!)
  local waited=0
  until grep -q '^pose ' ../"$2.subscriber"; do
    if ((++waited > 600)); then
      cat ../"$2.subscriber" ../"$2.publisher"
      echo "projects: no message in $1 after 60 s" >&2
      kill "${pids[@]}" || true
      return 1
    fi
    sleep 0.1
  done
  printf 'projects: %s: %d s from the empty folder to the first message\n' "$2" $((SECONDS - begun))
  situ topic list | grep -q "$2/pose"
  # `cargo run` becomes the program, so the number is that of the program.
  kill -INT "${pids[@]}"
  for pid in "${pids[@]}"; do wait "$pid"; done
  for log in subscriber publisher; do
    if [ "$(tail -n 1 ../"$2.$log")" != done ]; then
      cat ../"$2.$log"
      echo "projects: the $log of $1 does not end in order after Ctrl-C" >&2
      return 1
    fi
  done
  cd ..
}

# The first one compiles the dependencies. The second one is what its author waits for from then on.
project rust first_robot
project rust rust_robot
project cpp cpp_robot
project c c_robot
project mixed mixed_robot

# C without CMake, by the README's third block.
cd c_robot
rm -rf build
mkdir build
block README.md 3 >plain.sh
bash -e plain.sh
test -x build/publisher && test -x build/subscriber
cd ..

# The program in the README of the crate situ: each file is the block of code behind its name.
mkdir -p readme_robot/src
cd readme_robot
cp "$lock" Cargo.lock
readme=$installed/share/situ/crates/situ/README.md
for file in Cargo.toml robot.idl build.rs src/main.rs; do
  awk -v name="\`$file\`:" '$0 == name { found = 1 } /^```/ && found && ++fences == 2 { exit }
    fences == 1 && !/^```/' "$readme" >"$file"
  if [ ! -s "$file" ]; then
    echo "projects: $readme has no $file" >&2
    exit 1
  fi
done
# What cargo writes into a new package, and the crates from the installation, because the tests use no registry.
cat >>Cargo.toml <<END

[package]
name = "readme_robot"
edition = "2024"

[lints.rust]
warnings = "deny"

[patch.crates-io]
situ.path = "$installed/share/situ/crates/situ"
situ-schema.path = "$installed/share/situ/crates/situ-schema"

[workspace]
END
cargo run --quiet
echo 'projects: the program in the README of the crate situ runs'
