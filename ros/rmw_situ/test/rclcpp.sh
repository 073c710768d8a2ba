#!/usr/bin/env bash
# Runs rclcpp's own tests on a middleware, each file as a program of its own. Compares with rmw_fastrtps_cpp.
#
# Usage: rclcpp.sh BUILD [LIBRARY [PATTERN]]
#
#   BUILD    a folder with rclcpp: its sources in BUILD/rclcpp, BUILD/cxx that compiles a program with rclcpp,
#            the packages of build/venv, and BUILD/env that sets the variables which such a program needs
#   LIBRARY  the middleware: its path, or `fastrtps` (default: build/rmw/rmw_situ/librmw_situ.so)
#   PATTERN  only files whose path matches, such as test_node
#
# FLAGS=... adds arguments to the compiler, such as those that find GoogleMock and Mimick. A file that does
# not compile is reported and left out.
#
# Prints one line for each file, the totals, and the tests whose result differs from that on rmw_fastrtps_cpp,
# which runs first where its results are not there yet. Everything goes to build/rmw/rclcpp. The exit status
# is 0 if no test that passes on rmw_fastrtps_cpp fails. Without PATTERN, rclcpp_example.sh runs as well.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '4,17p' "$0"; exit 2; }
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
venv=${ROS_ENVIRONMENT:-$PWD/build/venv} out=$PWD/build/rmw/rclcpp tests=$build/rclcpp/test
library=${2:-$PWD/build/rmw/rmw_situ/librmw_situ.so} pattern=${3:-.}
[ "$library" = fastrtps ] || library=$(realpath "$library")
mkdir -p "$out/bin" "$out/log"
. "$build/env"
export ROS_DOMAIN_ID=${ROS_DOMAIN_ID:-$((RANDOM % 100 + 1))}

# The messages of the tests. Their package has rclcpp's name.
if [ ! -f "$out/messages/build/librclcpp__rosidl_typesupport_cpp.so" ]; then
  mkdir -p "$out/messages"
  cp -r "$tests/msg" "$out/messages/"
  cp "$build/rclcpp/package.xml" "$out/messages/"
  {
    echo 'cmake_minimum_required(VERSION 3.20)'
    echo 'project(rclcpp)'
    for package in ament_cmake rosidl_cmake rosidl_adapter rosidl_generator_{c,cpp} \
      rosidl_typesupport_introspection_{c,cpp} rosidl_typesupport_fastrtps_{c,cpp} rosidl_typesupport_{c,cpp} \
      builtin_interfaces; do echo "find_package($package REQUIRED)"; done
    echo "rosidl_generate_interfaces(messages $(cd "$tests" && ls msg/*.msg | tr '\n' ' ')"
    echo '  DEPENDENCIES builtin_interfaces LIBRARY_NAME rclcpp SKIP_INSTALL)'
  } >"$out/messages/CMakeLists.txt"
  export PATH=$venv/bin:$PATH
  if ! { cmake -S "$out/messages" -B "$out/messages/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_PREFIX_PATH=$venv" -DPython3_EXECUTABLE="$venv/bin/python" && cmake --build "$out/messages/build"; } \
    >"$out/messages/log" 2>&1; then
    tail -n 20 "$out/messages/log"
    exit 1
  fi
fi
export LD_LIBRARY_PATH=$out/messages/build:$LD_LIBRARY_PATH

# What all tests include, compiled once.
mkdir -p "$out/pch"
if [ ! -f "$out/pch/all.hpp.gch" ]; then
  printf '#include <gtest/gtest.h>\n#include "rclcpp/rclcpp.hpp"\n' >"$out/pch/all.hpp"
  "$build/cxx" -O0 -c -x c++-header "$out/pch/all.hpp" -o "$out/pch/all.hpp.gch"
fi

# name FILE: wait_set_policies/test_x.cpp is wait_set_policies_test_x.
name() { local path=${1#"$tests/rclcpp/"}; path=${path%.cpp}; echo "${path//\//_}"; }
mapfile -t files < <(find "$tests/rclcpp" -name 'test_*.cpp' -exec grep -lE '^(TYPED_)?TEST' {} + | sort | grep -E "$pattern")
# compile FILE OUT NAME BUILD: with the parts that several tests share.
compile() {
  local target=$2/bin/$3 part parts=()
  [ ! -f "$target" ] || return 0
  for part in $(sed -nE 's/^#include "(\.\/)?(test_\w+)\.hpp"$/\2.cpp/p' "$1"); do
    part=$(dirname "$1")/$part
    [ ! -f "$part" ] || parts+=("$part")
  done
  "$4/cxx" -O0 -include "$2/pch/all.hpp" "$1" "${parts[@]}" -o "$target" -I "$4/rclcpp/test/rclcpp" -I "$4/rclcpp/test" \
    -isystem "$2/messages/build/rosidl_generator_cpp" -DTEST_RESOURCES_DIRECTORY="\"$4/rclcpp/test/resources\"" \
    -L "$2/messages/build" -L "${ROS_ENVIRONMENT:-build/venv}/lib" -lrclcpp__rosidl_typesupport_cpp \
    -ltest_msgs__rosidl_typesupport_{c,cpp} -ltest_msgs__rosidl_generator_c -lsensor_msgs__rosidl_typesupport_cpp \
    -lgtest -lgtest_main ${FLAGS:-} >"$2/log/$3" 2>&1 || echo "does not compile: $3 (see $2/log/$3)"
}
export -f compile
for file in "${files[@]}"; do printf '%s\0%s\0%s\0%s\0' "$file" "$out" "$(name "$file")" "$build"; done |
  xargs -0 -n 4 -P "$(nproc)" bash -c 'compile "$@"' compile

# run NAME LIBRARY: runs the programs; what they print goes to $out/NAME.
run() {
  local results=$out/$1 file test code root
  mkdir -p "$results"
  for file in "${files[@]}"; do
    test=$(name "$file")
    [ -f "$out/bin/$test" ] || continue
    # What rmw_fastrtps_cpp gives does not change.
    [ "$1" != rmw_fastrtps_cpp ] || [ "$library" = fastrtps ] || [ ! -f "$results/$test.log" ] || continue
    local loading=()
    [ "$2" = fastrtps ] || loading=("LD_PRELOAD=$2" "RMW_IMPLEMENTATION=$1")
    root=$(mktemp -d /dev/shm/rclcpp-tests.XXXXXX)
    code=0
    (cd "$out" && env "${loading[@]}" SITU_ROOT="$root" ROS_LOG_DIR="$results/log" timeout -k 5 300 "bin/$test" \
      --gtest_color=no) >"$results/$test.tmp" 2>&1 || code=$?
    rm -rf "$root"
    echo "exit status $code" >>"$results/$test.tmp"
    mv "$results/$test.tmp" "$results/$test.log"
    printf '%-18s %-52s %s\n' "$1" "$test" "$(grep -aE '^\[  (PASSED|FAILED)  \] [0-9]+ test|^exit' "$results/$test.log" |
      sed 's/\[  //; s/  \]//' | tr '\n' ' ')"
  done
}

run rmw_fastrtps_cpp fastrtps
tested=rmw_fastrtps_cpp
if [ "$library" != fastrtps ]; then
  tested=$(basename "$library" .so)
  tested=${tested#lib}
  run "$tested" "$library"
fi

failed=0
if [ "$pattern" = . ] && [ "$library" != fastrtps ]; then
  ros/rmw_situ/test/rclcpp_example.sh "$build" "$library" || failed=1
fi
"$venv/bin/python" - "$out" "$tested" "${files[@]/#"$tests/rclcpp/"/}" <<'P' || failed=1
import pathlib
import re
import sys

out, name, files = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
kinds = {'OK': 'passed', 'FAILED': 'failed', 'SKIPPED': 'skipped'}


def results(middleware):
    found = {}
    for file in files:
        program = file.removesuffix('.cpp').replace('/', '_')
        path = out / middleware / (program + '.log')
        if not path.exists():
            continue
        running = None
        # What a test prints may stand before its result in the same line.
        for line in path.read_text(errors='replace').splitlines():
            begins = re.match(r'\[ RUN +\] (\S+)', line)
            ends = re.search(r'\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+).* \(\d+ ms\)$', line)
            if begins:
                running = f'{program}: {begins[1]}'
                found[running] = 'died'
            elif ends and running == f'{program}: {ends[2]}':
                found[running] = kinds[ends[1]]
    return found


reference, tested = results('rmw_fastrtps_cpp'), results(name)
for middleware, found in {'rmw_fastrtps_cpp': reference, name: tested}.items():
    counts = {kind: list(found.values()).count(kind) for kind in (*kinds.values(), 'died')}
    print(middleware + ': ' + ', '.join(f'{count} {kind}' for kind, count in counts.items()))
worse = 0
for test in sorted(reference.keys() | tested.keys()):
    before, now = reference.get(test, 'not run'), tested.get(test, 'not run')
    if before == now:
        continue
    print(f'{test}: {before} on rmw_fastrtps_cpp, {now} on {name}')
    worse += before == 'passed' or now == 'died'
sys.exit(1 if worse else 0)
P
exit $failed
