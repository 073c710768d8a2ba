#!/usr/bin/env bash
# Tests the camera and the viewer of examples/ros/rclcpp on rmw_situ and on rmw_fastrtps_cpp: all images
# arrive as they were published, and on rmw_situ those that the camera borrows are published without a copy.
#
# Usage: rclcpp_example.sh BUILD [LIBRARY [BYTES]]
#
#   BUILD    a folder with a built rclcpp: BUILD/cxx compiles and links a program with it, and BUILD/env sets
#            the variables that such a program needs
#   LIBRARY  rmw_situ (default: build/rmw/rmw_situ/librmw_situ.so)
#   BYTES    of an image (default: 1048576)
#
# Prints a line for each run: the median of the times from a complete image to the callback of the viewer.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '5,12p' "$0"; exit 2; }
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
out=$PWD/build/rmw/rclcpp_example source=examples/ros/rclcpp
library=$(realpath "${2:-build/rmw/rmw_situ/librmw_situ.so}") bytes=${3:-1048576} images=60
mkdir -p "$out"
. "$build/env"
export ROS_DOMAIN_ID=${ROS_DOMAIN_ID:-$((RANDOM % 100 + 1))} ROS_LOG_DIR=$out/log

for name in camera viewer; do
  [ "$out/$name" -nt $source/$name.cpp ] && [ "$out/$name" -nt ros/rmw_situ/include/rmw_situ/loan_allocator.hpp ] ||
    "$build/cxx" -I ros/rmw_situ/include $source/$name.cpp -o "$out/$name" -lsensor_msgs__rosidl_typesupport_cpp
done

root=$(mktemp -d /dev/shm/rclcpp-example.XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$root"' EXIT
failed=0
# run MIDDLEWARE borrow|copy LOANS IN_PLACE: with LOANS=0 the viewer takes loans. IN_PLACE: all or none.
run() {
  local loading=() arguments=("$bytes") seen code=0 published count place
  [ "$1" = rmw_fastrtps_cpp ] || loading=("LD_PRELOAD=$library" "RMW_IMPLEMENTATION=$1")
  [ "$2" = borrow ] || arguments+=(copy)
  env "${loading[@]}" SITU_ROOT="$root" timeout -k 5 120 "$out/camera" "${arguments[@]}" >"$out/camera.log" 2>&1 &
  seen=$(env "${loading[@]}" SITU_ROOT="$root" ROS_DISABLE_LOANED_MESSAGES="$3" timeout -k 5 60 "$out/viewer" \
    $images 2>"$out/viewer.log") || code=$?
  wait $! || code=$?
  published=$(grep '^published' "$out/camera.log" || true)
  printf '%-18s %-7s %-12s %s; %s\n' "$1" "$2" "$([ "$3" = 0 ] && echo 'takes loans' || echo 'takes copies')" \
    "$seen" "$published"
  read -r count place < <(sed -nE 's/^published ([0-9]+), in place ([0-9]+)$/\1 \2/p' <<<"$published") || true
  if [ $code != 0 ] || [ "${count:-0}" -lt $images ]; then
    echo "failed with $code: see $out/camera.log, $out/viewer.log"
    failed=1
  elif [ "$place" != "$([ "$4" = all ] && echo "$count" || echo 0)" ]; then
    echo "failed: $place of $count images were in place, expected $4"
    failed=1
  fi
}
run rmw_situ borrow 0 all
run rmw_situ borrow 1 all
run rmw_situ copy 0 none
run rmw_situ copy 1 none
run rmw_fastrtps_cpp borrow 0 none
run rmw_fastrtps_cpp copy 1 none
exit $failed
