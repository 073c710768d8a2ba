#!/usr/bin/env bash
# Builds the programs of table `rmw` against ROS from PyPI (build/venv): a package of messages, peer.cpp and
# floor.cpp. Gives the reason if it cannot. Everything goes to build/rmw-bench.
#
# BENCH_RCLCPP names a built rclcpp, with which rclcpp_peer.cpp is built: a folder with the program `cxx`,
# which compiles and links with rclcpp, the library librclcpp.so, and others that it needs in install/lib.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ -f build/venv/.ready ] || scripts/setup.sh python
venv=$PWD/build/venv out=$PWD/build/rmw-bench
absent() { echo "rmw: $*" >&2; rm -f "$out/peer"; exit 0; }
[ -f "$venv/.ready" ] || absent "no ROS packages in build/venv (see above)"
export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv PATH=$venv/bin:$PATH
mkdir -p "$out"
{ cmake -S bench/rmw/messages -B "$out/messages" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$out/install" \
  -DCMAKE_PREFIX_PATH="$venv" -DPython3_EXECUTABLE="$venv/bin/python" &&
  cmake --build "$out/messages" --target install; } >"$out/messages.log" 2>&1 ||
  { tail -n 20 "$out/messages.log" >&2; absent "the messages cannot be built"; }

flags=(-isystem "$out/install/include/situ_bench_msgs")
for folder in "$venv"/include/*/; do flags+=(-isystem "${folder%/}"); done
# Libraries of the packages look for Python's symbols when they are loaded, though nothing here uses them.
nm -D --undefined-only "$venv"/lib/*__rosidl_generator_py.so | awk '$1 == "U" && $2 ~ /^_?Py/ { print "char " $2 "[64];" }' |
  sort -u >"$out/no_python.c"
cc -shared -fPIC -o "$out/install/lib/libno_python.so" "$out/no_python.c"
libraries=("$out/install/lib/libno_python.so")
for package in situ_bench_msgs:"$out/install/lib" sensor_msgs:"$venv/lib" std_msgs:"$venv/lib"; do
  libraries+=("${package#*:}/lib${package%%:*}__rosidl_typesupport_cpp.so")
done
{ [ "$out/peer" -nt bench/rmw/peer.cpp ] && [ "$out/peer" -nt bench/rmw/build.sh ]; } ||
  g++ -std=c++20 -O2 -Wall -Wextra "${flags[@]}" bench/rmw/peer.cpp -o "$out/peer" -Wl,--no-as-needed "${libraries[@]}" \
    "$venv/lib/librcl.so" "$venv/lib/librmw.so" "$venv/lib/librcutils.so" "$venv/lib/librosidl_runtime_c.so" \
    "$venv/lib/librosidl_typesupport_cpp.so" -Wl,--allow-shlib-undefined -lpthread ||
  absent "the program cannot be built (see above)"
[ "$out/floor" -nt bench/rmw/floor.cpp ] || g++ -std=c++20 -O2 -Wall -Wextra bench/rmw/floor.cpp -o "$out/floor"

if [ -n "${BENCH_RCLCPP:-}" ]; then
  peer=$out/rclcpp_peer
  { [ "$peer" -nt bench/rmw/rclcpp_peer.cpp ] && [ "$peer" -nt bench/rmw/build.sh ]; } ||
    "$BENCH_RCLCPP/cxx" -Wall -Wextra "${flags[@]}" -I ros/rmw_situ/include bench/rmw/rclcpp_peer.cpp -o "$peer" \
      -Wl,--no-as-needed "${libraries[@]}" -Wl,--as-needed ||
    { echo "rmw: the rows of rclcpp are absent: its program cannot be built (see above)" >&2; rm -f "$peer"; }
  # The same through Situ's own executor, on the library of the release profile.
  situ=$PWD/build/demo-ros/install
  if [ -d "$situ" ]; then
    { cmake -S bench/rmw/situ_peer -B "$out/situ_peer" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$situ" \
      -DSITU_COMMAND="$PWD/target/release/situ" && cmake --build "$out/situ_peer"; } >"$out/situ_peer.log" 2>&1 ||
      { tail -n 20 "$out/situ_peer.log" >&2; echo "rmw: the rows of Situ's own executor are absent: see above" >&2; }
  else
    echo "rmw: the rows of Situ's own executor are absent: there is no $situ (make demo -- --ros installs it)" >&2
  fi
fi
